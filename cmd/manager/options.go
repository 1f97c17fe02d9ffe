package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation"
)

// options are those that every part has.
type options struct {
	kubeconfig       string
	releaseNamespace string
	metricsAddress   string
	probeAddress     string
	logFormat        string
	logLevel         string
}

const (
	formatJSON    = "json"
	formatConsole = "console"
)

func defaultOptions() options {
	return options{
		releaseNamespace: os.Getenv("POD_NAMESPACE"),
		metricsAddress:   ":8080",
		probeAddress:     ":8081",
		logFormat:        formatJSON,
		logLevel:         zapcore.InfoLevel.String(),
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig file of the cluster; empty: the usual one ($KUBECONFIG, then the home directory), or else the credentials of the pod")
	flags.StringVar(&o.releaseNamespace, "release-namespace", o.releaseNamespace, "namespace of the release, which holds lease and certificate and is never given to a team (default $POD_NAMESPACE)")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "address of /metrics; 0 turns it off")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", o.probeAddress, "address of /healthz and /readyz; 0 turns them off")
	flags.StringVar(&o.logFormat, "log-format", o.logFormat, "json, or console for people")
	flags.StringVar(&o.logLevel, "log-level", o.logLevel, "debug, info, warn or error")
}

func (o *options) validate() error {
	if o.releaseNamespace == "" {
		return errors.New("no release namespace: set --release-namespace or the environment variable POD_NAMESPACE")
	}
	if len(validation.IsDNS1123Label(o.releaseNamespace)) > 0 {
		return fmt.Errorf("--release-namespace %q: want the name of a namespace, lower-case letters, digits and '-'", o.releaseNamespace)
	}
	if o.logFormat != formatJSON && o.logFormat != formatConsole {
		return fmt.Errorf("--log-format %q: want %s or %s", o.logFormat, formatJSON, formatConsole)
	}
	if _, err := zapcore.ParseLevel(o.logLevel); err != nil {
		return fmt.Errorf("--log-level %q: want debug, info, warn or error", o.logLevel)
	}
	return nil
}
