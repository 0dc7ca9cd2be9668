package cli

import (
	"fmt"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) pluginVerifyCommand() *cobra.Command {
	f := &storeFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check every installed file against receipts, signatures, trust and burn.lock",
		Long: `Hash every file of the store again and compare it with the receipt of its installation, the manifest, the signature of its maker,
the trust file and burn.lock. The exit code is 1 if they differ.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.store(f)
			if err != nil {
				return err
			}
			r, err := s.Verify(cmd.Context())
			if err != nil {
				return remedyBelow(err)
			}
			if asJSON {
				err = a.json(r)
			} else {
				a.printReport(s, r)
			}
			if err == nil && len(r.Problems) > 0 {
				err = fmt.Errorf("%s with the plugins in %s", count(len(r.Problems), "problem"), s.Dir)
			}
			return err
		},
	}
	f.register(cmd, false)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printReport(s *store.Store, r *store.Report) {
	for _, p := range r.Problems {
		plain.Fprintf(a.out, "%s\n  wrong   %s\n  remedy  %s\n", p.Plugin, oneLine(p.What), oneLine(p.Remedy))
	}
	for _, n := range r.Notes {
		plain.Fprintf(a.out, "note: %s\n", n)
	}
	if len(r.Problems) == 0 {
		plain.Fprintf(a.out, "%s in %s: all files are as signed, installed and locked\n", count(len(r.Checked), "plugin"), s.Dir)
	}
}
