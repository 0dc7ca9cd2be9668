package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) pluginRemoveCommand() *cobra.Command {
	f := &storeFlags{}
	cmd := &cobra.Command{
		Use:     "remove NAME[@VERSION]...",
		Short:   "Remove installed plugins",
		Example: "  burn plugin remove cpu\n  burn plugin remove 'cuda@<1.0'",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.store(f)
			if err != nil {
				return err
			}
			for _, name := range args {
				found, err := s.Select(name)
				if err != nil {
					return refused(err)
				}
				if err := s.Remove(cmd.Context(), found); err != nil {
					return err
				}
				for _, i := range found {
					fmt.Fprintf(a.out, "removed %s\n", i.ID)
				}
			}
			return nil
		},
	}
	f.register(cmd, false)
	return cmd
}
