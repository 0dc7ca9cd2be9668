package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/goburn/burn/host/shared"
)

// pluginCarryCommand is what this program starts itself as to give a shared object a process: host.Options.Carrier.
func (a *app) pluginCarryCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "carry FILE",
		Short:  "Run a shared object as a plugin process; burn starts this itself",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := shared.Serve(args[0]); err != nil {
				return fmt.Errorf("plugin carry: %w", err)
			}
			return nil
		},
	}
}

// carrier returns the command line that runs this program as a carrier, nil when the program's own file is not known.
func carrier() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "plugin", "carry"}
}
