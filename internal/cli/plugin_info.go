package cli

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/sdk/wire"
	"github.com/spf13/cobra"
)

func (a *app) pluginInfoCommand() *cobra.Command {
	f := &storeFlags{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info NAME|ARCHIVE",
		Short: "Describe an installed plugin or an archive",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return remedyBelow(a.pluginInfo(cmd.Context(), f, args[0], asJSON))
		},
	}
	f.register(cmd, true)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) pluginInfo(ctx context.Context, f *storeFlags, name string, asJSON bool) error {
	s, err := a.store(f)
	if err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return a.archiveInfo(s, name, asJSON)
	}
	found, err := s.Select(name)
	if err != nil {
		return err
	}
	if asJSON {
		return a.json(map[string]any{"installed": found})
	}
	for _, i := range found {
		t := a.table()
		plain.Fprintf(t, "plugin\t%s\nversion\t%s\nplatform\t%s\nused\t%t\nfolder\t%s\n", i.Plugin, i.Version, i.Platform, i.Active, i.Dir)
		if i.Err != nil {
			plain.Fprintf(t, "damaged\t%s\n\n", oneLine(i.Err.Error()))
		} else {
			plain.Fprintf(t, "kind\t%s\nprotocol\t%v\n", i.Manifest.Kind, wire.Range(i.Manifest.Protocol))
			plain.Fprintf(t, "source\t%s\ninstalled\t%s\n", i.Receipt.Source, i.Receipt.Installed.Format("2006-01-02 15:04:05 MST"))
			plain.Fprintf(t, "signed by\t%s\narchive\t%s\ntree\t%s\n", a.signerText(s.Trust, i.Receipt.Signature), i.Receipt.Archive, i.Receipt.Tree)
			a.printNeedsRow(t, i.Manifest.Needs)
			a.printFiles(t, i.Receipt.Files)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	fetch, clear := a.fetcher()
	m, err := a.mirror(ctx, f, fetch)
	clear()
	if err != nil || m == nil {
		return err
	}
	if p, err := m.Index.Find(found[0].Plugin); err == nil {
		var versions []string
		for _, v := range p.Versions {
			versions = append(versions, v.Version)
		}
		plain.Fprintf(a.out, "mirror %s has %s\n", m, strings.Join(versions, ", "))
	}
	return nil
}

func (a *app) archiveInfo(s *store.Store, path string, asJSON bool) error {
	p, err := store.Inspect(path, store.Limits{})
	if err != nil {
		return err
	}
	sig, err := store.ReadSignature(path)
	if err != nil {
		return err
	}
	if asJSON {
		return a.json(map[string]any{"plugin": p.ID.Address.String(), "version": p.ID.Version, "platform": p.ID.Platform, "manifest": p.Manifest,
			"archive": p.Archive, "tree": p.Tree, "files": p.Files, "signature": sig})
	}
	t := a.table()
	plain.Fprintf(t, "plugin\t%s\nversion\t%s\nplatform\t%s\nkind\t%s\nprotocol\t%v\n", p.ID.Address, p.ID.Version, p.ID.Platform, p.Manifest.Kind, wire.Range(p.Manifest.Protocol))
	plain.Fprintf(t, "signed by\t%s\narchive\t%s\ntree\t%s\n", a.signerText(s.Trust, sig), p.Archive, p.Tree)
	a.printNeedsRow(t, p.Manifest.Needs)
	a.printFiles(t, p.Files)
	return t.Flush()
}

func (a *app) printFiles(t interface{ Write([]byte) (int, error) }, files []store.File) {
	what := "files"
	for _, f := range files {
		plain.Fprintf(t, "%s\t%s, %s, %s\n", what, f.Path, bytesText(f.Size), f.Digest)
		what = ""
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
