package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"labhub.io/teamspace/webhooks/ownerreferences"
	"labhub.io/teamspace/webhooks/selftest"
)

func newSelftestCommand() *cobra.Command {
	kubeconfig, mode, timeout := "", string(ownerreferences.Enforce), time.Minute
	command := &cobra.Command{
		Use:   "selftest",
		Short: "Ask the webhooks whether they answer",
		Long: `selftest sends two requests by dry-run: a TeamSpace that is right has to be let in, and one with
an owner that is not there has to be denied by the guard. "helm test" runs it.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			guard, err := ownerreferences.ParseMode(mode)
			if err != nil {
				return fmt.Errorf("--guard-mode: %w", err)
			}
			ctx, cancel := context.WithTimeout(command.Context(), timeout)
			defer cancel()
			answers, err := runSelftest(ctx, kubeconfig, guard)
			for _, answer := range answers {
				fmt.Fprintln(command.OutOrStdout(), answer)
			}
			return err
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", kubeconfig, "kubeconfig file of the cluster; empty: as for run")
	flags.StringVar(&mode, "guard-mode", mode, "the mode in which the guard was started: enforce, warn, audit or off")
	flags.DurationVar(&timeout, "timeout", timeout, "how long to go on asking")
	return command
}

func runSelftest(ctx context.Context, kubeconfig string, mode ownerreferences.Mode) ([]string, error) {
	log, err := newLogger(defaultOptions())
	if err != nil {
		return nil, err
	}
	ctrl.SetLogger(log)
	config, err := loadConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	live, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("setting up the client: %w", err)
	}
	return selftest.Run(ctx, live, mode)
}
