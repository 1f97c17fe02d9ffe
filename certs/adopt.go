package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
)

// longestSettling is how long all API servers of a cluster may take to learn of a
// caBundle, since each watches the configurations by itself.
const longestSettling = 5 * time.Second

var errNoCertificate = errors.New("there is no certificate yet")

// state is what a Keeper holds in memory. Only Reconcile changes it, in one pass at a
// time.
type state struct {
	served atomic.Pointer[served]

	// problem is why the last pass got nowhere.
	problem atomic.Pointer[error]

	// unready is what the last probe was told, empty if all was well.
	unready atomic.Pointer[string]

	// candidate is the leaf that will be served next, since which is when every
	// configuration was first seen to trust it.
	candidate []byte
	since     time.Time
}

// served is what a server presents, and the pair that it comes from.
type served struct {
	pair        Pair
	certificate *tls.Certificate
}

// note keeps and logs why a pass got nowhere, and tells once when that is over.
func (k *Keeper) note(log logr.Logger, err error) {
	before := k.problem.Load()
	switch {
	case err != nil && (before == nil || (*before).Error() != err.Error()):
		k.problem.Store(&err)
		log.Info("The certificate cannot be renewed; what is served stays", "reason", err.Error())
	case err == nil && before != nil:
		k.problem.Store(nil)
		log.Info("The certificate can be renewed again")
	}
}

// settling is shorter where certificates end sooner, so that the old leaf is still good
// when the new one takes its place.
func (k *Keeper) settling() time.Duration {
	if k.options.Provider == CertManager {
		return longestSettling
	}
	return min(longestSettling, k.options.Lifetimes.Leaf/12)
}

// adopt serves a pair as soon as every API server accepts it, and returns how long that
// has to wait. If what is served is not accepted either, there is nothing to lose. A leaf
// of the same authority is served at once.
func (k *Keeper) adopt(ctx context.Context, pair Pair) (time.Duration, error) {
	certificate, err := tls.X509KeyPair(pair.Leaf, pair.LeafKey)
	if err != nil {
		return 0, fmt.Errorf("reading the leaf and its key: %w", err)
	}
	next := &served{pair: pair, certificate: &certificate}
	present := k.served.Load()
	if present == nil || bytes.Equal(present.pair.Leaf, pair.Leaf) {
		k.served.Store(next)
		return 0, nil
	}
	found, err := k.configurations(ctx)
	if err != nil {
		return 0, err
	}
	now := k.clock.Now()
	trusts := func(s *served) bool { return untrusting(found, s.certificate.Leaf, k.options.name(), now) == nil }
	signer := certificate.Leaf.AuthorityKeyId
	switch {
	case !trusts(present):
	case !trusts(next):
		k.candidate = nil
		return time.Second, nil // the event of a caBundle comes before that
	case len(signer) > 0 && bytes.Equal(signer, present.certificate.Leaf.AuthorityKeyId):
	case !bytes.Equal(k.candidate, pair.Leaf):
		k.candidate, k.since = pair.Leaf, now
		return k.settling(), nil
	case now.Sub(k.since) < k.settling():
		return k.settling() - now.Sub(k.since), nil
	}
	k.candidate = nil
	k.served.Store(next)
	logr.FromContextOrDiscard(ctx).Info("Serving another certificate", "until", certificate.Leaf.NotAfter)
	return 0, nil
}

// Check is a probe: it fails unless every webhook configuration that is there trusts
// what is served. Since the server of the probes withholds the reason, it is logged when
// it changes.
func (k *Keeper) Check(request *http.Request) error {
	err := k.Trusted(request.Context())
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	if before := k.unready.Swap(&reason); before == nil || *before != reason {
		k.log.Info("Whether the API server trusts the certificate has changed", "trusted", err == nil, "reason", reason)
	}
	return err
}

// Trusted returns an error unless every webhook configuration that is there trusts what
// is served.
func (k *Keeper) Trusted(ctx context.Context) error {
	served := k.served.Load()
	if served == nil {
		if problem := k.problem.Load(); problem != nil {
			return fmt.Errorf("%w: %w", errNoCertificate, *problem)
		}
		return errNoCertificate
	}
	found, err := k.configurations(ctx)
	if err != nil {
		return err
	}
	return untrusting(found, served.certificate.Leaf, k.options.name(), k.clock.Now())
}
