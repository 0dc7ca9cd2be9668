package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

func (a *app) pluginListCommand() *cobra.Command {
	f := &storeFlags{}
	var asJSON, available bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List installed plugins, or those of a mirror",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if available {
				return remedyBelow(a.listMirror(cmd.Context(), f, asJSON))
			}
			return a.listInstalled(f, asJSON)
		},
	}
	f.register(cmd, true)
	cmd.Flags().BoolVar(&available, "available", false, "list the plugins of the mirror")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) listInstalled(f *storeFlags, asJSON bool) error {
	s, err := a.store(f)
	if err != nil {
		return err
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	if asJSON {
		if all == nil {
			all = []store.Installed{}
		}
		return a.json(map[string]any{"store": s.Dir, "lock": s.LockFile, "plugins": all})
	}
	if len(all) == 0 {
		plain.Fprintf(a.out, "no plugin is installed in %s\n", s.Dir)
		return nil
	}
	t := a.table()
	fmt.Fprintln(t, "PLUGIN\tVERSION\tPLATFORM\tUSED\tSIGNED BY\tSOURCE")
	for _, i := range all {
		used := "no"
		if i.Active {
			used = "yes"
		}
		signer, source := "?", "?"
		if i.Receipt != nil {
			source = i.Receipt.Source
			signer = a.signerText(s.Trust, i.Receipt.Signature)
		}
		if i.Err != nil {
			signer = "damaged: see burn plugin verify"
		}
		plain.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", i.Plugin, i.Version, i.Platform, used, signer, source)
	}
	return t.Flush()
}

// signerText returns the signer of a signature, with a remark if the key is not trusted.
func (a *app) signerText(t *store.Trust, s *store.Signature) string {
	if s == nil {
		return "nobody"
	}
	text := s.Key
	if k := t.Find(s.Key); k != nil && k.Owner != "" {
		text = k.Owner + " (" + k.ID + ")"
	}
	if err := t.Check(s, time.Now()); err != nil {
		text += ", not trusted"
	}
	return text
}

func (a *app) listMirror(ctx context.Context, f *storeFlags, asJSON bool) error {
	fetch, clear := a.fetcher()
	m, err := a.mirror(ctx, f, fetch)
	clear()
	if err != nil {
		return err
	}
	if m == nil {
		return usage("no mirror is configured: name one with --mirror, BURN_MIRROR or mirror in the configuration")
	}
	if asJSON {
		return a.json(m.Index)
	}
	t := a.table()
	fmt.Fprintln(t, "PLUGIN\tVERSION\tPLATFORMS")
	for _, p := range m.Index.Plugins {
		for _, v := range p.Versions {
			plain.Fprintf(t, "%s\t%s\t%s\n", p.Plugin, v.Version, strings.Join(sortedKeys(v.Platforms), " "))
		}
	}
	return t.Flush()
}
