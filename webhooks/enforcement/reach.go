package enforcement

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reachTimeout bounds one try. A webhook that takes longer to shake hands is no help.
const reachTimeout = 2 * time.Second

// services finds webhooks by their Services.
type services struct {
	live client.Reader
}

// reach returns an error unless a server answers at the address of the Service with a
// certificate that the configuration trusts, as the API server would go about it.
func (s services) reach(ctx context.Context, config admissionregistrationv1.WebhookClientConfig) error {
	if config.Service == nil {
		return nil // by URL: not the chart's, and nobody's business here
	}
	service := &corev1.Service{}
	if err := s.live.Get(ctx, client.ObjectKey{Namespace: config.Service.Namespace, Name: config.Service.Name}, service); err != nil {
		return fmt.Errorf("reading Service %q: %w", config.Service.Name, err)
	}
	port := int32(443)
	if config.Service.Port != nil {
		port = *config.Service.Port
	}
	name := config.Service.Name + "." + config.Service.Namespace + ".svc"
	return handshake(ctx, net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(port))), name, config.CABundle)
}

func handshake(ctx context.Context, address, name string, bundle []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return errors.New("there is no authority in its caBundle")
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	return connection.Close()
}
