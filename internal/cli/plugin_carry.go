package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/goburn/burn/host/shared"
)

// pluginCarryCommand returns the hidden command with which this program starts itself as the process of a shared object: see
// host.Options.Carrier.
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

// carrier returns the command line that runs this program as a carrier, or nil if the path of the program is unknown.
func carrier() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "plugin", "carry"}
}
