package certs

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"slices"
	"time"
)

// Lifetimes are how long what the built-in provider makes is good for.
type Lifetimes struct {
	// Leaf is that of what is served. It is renewed when a third of it is left.
	Leaf time.Duration

	// Authority is that of what signs. A new one is made when a third of it is left, or
	// the lifetime of a leaf, if that is longer.
	Authority time.Duration
}

// DefaultLifetimes are those of cert-manager, and of most authorities.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{Leaf: 90 * 24 * time.Hour, Authority: 10 * 365 * 24 * time.Hour}
}

// Validate returns an error unless an authority outlives the leaves that it signs by so
// much that a leaf never ends early.
func (l Lifetimes) Validate() error {
	if l.Leaf < 3*time.Second {
		return fmt.Errorf("the lifetime %s of a certificate: want at least 3s", l.Leaf)
	}
	if l.Authority < 3*l.Leaf {
		return fmt.Errorf("the lifetime %s of an authority: want at least three times the %s of a certificate", l.Authority, l.Leaf)
	}
	return nil
}

func (l Lifetimes) leafDue(leaf *x509.Certificate) time.Time {
	return leaf.NotAfter.Add(-l.Leaf / 3)
}

// leafGood says whether a leaf is not due, nor of a time when a leaf lived longer.
func (l Lifetimes) leafGood(leaf *x509.Certificate, now time.Time) bool {
	return now.Before(l.leafDue(leaf)) && leaf.NotAfter.Before(now.Add(l.Leaf+l.Leaf/10))
}

func (l Lifetimes) authorityDue(authority *x509.Certificate) time.Time {
	return authority.NotAfter.Add(-max(l.Authority/3, l.Leaf))
}

// rotation decides by the clock alone what becomes of a pair. Who trusts it by now is
// not asked here: a Keeper waits for that before it serves a new leaf.
type rotation struct {
	name      string
	lifetimes Lifetimes
}

// advance returns the pair with all that is due or cannot be used replaced, and all that
// can be kept as it is. An authority stays in the bundle until it has expired, and with
// it every leaf that it signed.
func (r rotation) advance(p Pair, now time.Time) (Pair, error) {
	all := unexpired(authorities(p.CA), now)
	var key crypto.Signer
	if len(all) > 0 && !now.Before(all[0].NotBefore) && now.Before(r.lifetimes.authorityDue(all[0])) {
		key = p.authorityKey(all[0])
	}
	if key == nil {
		authority, newKey, err := newAuthority(now, r.lifetimes.Authority)
		if err != nil {
			return Pair{}, err
		}
		all, key = slices.Insert(all, 0, authority), newKey
		if p.CAKey, err = encodeKey(key); err != nil {
			return Pair{}, err
		}
	}
	p.CA = encodeAuthorities(all)
	if certificate, err := p.Certificate(r.name, now); err == nil &&
		r.lifetimes.leafGood(certificate.Leaf, now) && certificate.Leaf.CheckSignatureFrom(all[0]) == nil {
		return p, nil
	}
	leaf, leafKey, err := newLeaf(r.name, now, r.lifetimes.Leaf, all[0], key)
	if err != nil {
		return Pair{}, err
	}
	p.Leaf = encodePEM("CERTIFICATE", leaf.Raw)
	p.LeafKey, err = encodeKey(leafKey)
	return p, err
}

// due is when advance has to be called again for a pair that it returned.
func (r rotation) due(p Pair) time.Time {
	var due []time.Time
	for i, authority := range authorities(p.CA) {
		if i == 0 {
			due = append(due, r.lifetimes.authorityDue(authority))
		} else {
			due = append(due, authority.NotAfter.Add(time.Second)) // good to the last moment
		}
	}
	if leaves := authorities(p.Leaf); len(leaves) > 0 {
		due = append(due, r.lifetimes.leafDue(leaves[0]))
	}
	return slices.MinFunc(due, time.Time.Compare)
}

// Issue makes an authority and a leaf for a DNS name.
func Issue(name string, lifetimes Lifetimes, now time.Time) (Pair, error) {
	return rotation{name: name, lifetimes: lifetimes}.advance(Pair{}, now)
}
