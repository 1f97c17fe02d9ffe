package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/controllers/drain"
)

// drainOptions are what the command drain is told; those that run has too are called the
// same and mean the same.
type drainOptions struct {
	*options

	policy     string
	deployment string
	timeout    time.Duration
}

func newDrainCommand() *cobra.Command {
	o := &drainOptions{options: defaultOptions(), policy: string(drain.Orphan), deployment: "teamspace-controller", timeout: 5 * time.Minute}
	o.logFormat = formatConsole
	command := &cobra.Command{
		Use:   "drain",
		Short: "Take TeamSpace off a cluster without harm",
		Long: `drain prepares a cluster for the removal of TeamSpace, so that nothing is left that cannot be
deleted and no team loses its namespace that was not meant to. "helm uninstall" runs it before
anything else; by hand it does the same with the access of an administrator, also when nothing
of the release is there any more.

It stops the controller, deletes the webhook configurations and the policies, and then does
with the TeamSpaces what --policy says:

  Fail    refuses if there are any, before anything is changed
  Orphan  leaves them and their namespaces, which belong to nobody until a later installation
          adopts them again; the CustomResourceDefinition may be deleted without harm
  Delete  archives and deletes them, with their namespaces and all that is in them

TeamSpaces that somebody has deleted before are archived and let go. Finalizers of others are
left alone. It can be cut short and run again at any time.`,
		Example: `  manager drain --policy=Orphan --release-namespace=teamspace-system --archive=configmap://teamspace-archive`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return err
			}
			return runDrain(command.Context(), o)
		},
	}
	o.addFlags(command.Flags())
	return command
}

func (o *drainOptions) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.policy, "policy", o.policy, "what becomes of TeamSpaces: Fail, Orphan or Delete")
	flags.StringVar(&o.deployment, "deployment", o.deployment, "name of the controller's Deployment in the release namespace; it need not be there")
	flags.DurationVar(&o.timeout, "timeout", o.timeout, "how long to go on trying")
	flags.StringVar(&o.webhookService, "webhook-service", o.webhookService, "name of the webhook configurations, which is that of the webhooks' Service")
	o.addCommonFlags(flags)
}

func (o *drainOptions) validate() error {
	if _, err := drain.ParsePolicy(o.policy); err != nil {
		return fmt.Errorf("--policy: %w", err)
	}
	if len(validation.IsDNS1123Subdomain(o.deployment)) > 0 {
		return fmt.Errorf("--deployment %q: want the name of a Deployment", o.deployment)
	}
	if o.timeout <= 0 {
		return errors.New("--timeout: want more than nothing")
	}
	return o.options.validate()
}

func runDrain(ctx context.Context, o *drainOptions) error {
	log, err := newLogger(o.options)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	config, err := loadConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	live, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return fmt.Errorf("setting up the client: %w", err)
	}
	store, err := openArchive(log, live, o.archive)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	return drain.New(live, store, log, drain.Options{
		Policy: drain.Policy(o.policy), Namespace: o.releaseNamespace,
		Deployment: o.deployment, Lease: leaseName, Webhook: o.webhookService,
	}).Run(ctx)
}
