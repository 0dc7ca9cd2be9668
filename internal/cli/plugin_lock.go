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

func (a *app) pluginLockCommand() *cobra.Command {
	f := &storeFlags{}
	cmd := &cobra.Command{
		Use:   "lock",
		Short: "Write burn.lock with the hashes of the installed plugins, for all platforms",
		Long: `Write ./burn.lock (or --lock-file) with the installed plugins: versions, sources, signers and hashes. The hashes of other platforms
come from the signatures in the mirror. Keep the file with your project: in its folder, burn plugin install installs these versions and
refuses others.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return remedyBelow(a.writeLock(cmd.Context(), f)) },
	}
	f.register(cmd, true)
	return cmd
}

func (a *app) writeLock(ctx context.Context, f *storeFlags) error {
	to := f.lockFile
	if to == "" {
		to = store.LockName
	}
	s, err := a.store(f)
	if err != nil {
		return err
	}
	report, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	if len(report.Problems) > 0 {
		a.printReport(s, report)
		return fmt.Errorf("nothing is locked: %s with the plugins in %s", count(len(report.Problems), "problem"), s.Dir)
	}
	fetch, clear := a.fetcher()
	defer clear()
	m, err := a.mirror(ctx, f, fetch)
	if err != nil {
		return err
	}
	lock := &store.Lock{File: to, Format: 1}
	for _, i := range report.Checked {
		if !i.Active {
			continue
		}
		signer := i.Receipt.Signer()
		lock.Put(i.ID, i.Receipt.Source, signer, store.Hashes{Archive: i.Receipt.Archive, Tree: i.Receipt.Tree})
		if m == nil {
			continue
		}
		if err := lockOthers(ctx, lock, m, s.Trust, i, signer); err != nil {
			return err
		}
	}
	if err := lock.Write(); err != nil {
		return err
	}
	if err := store.KnowLock(ctx, s.Dir, to, true); err != nil {
		return err
	}
	plain.Fprintf(a.out, "%s in %s\n", count(len(lock.Plugins), "plugin"), to)
	for _, p := range lock.Plugins {
		plain.Fprintf(a.out, "  %s %s  %s\n", p.Plugin, p.Version, strings.Join(sortedKeys(p.Platforms), " "))
	}
	if m == nil {
		fmt.Fprintln(a.out, "only for this platform: name a mirror with --mirror for the others")
	}
	return nil
}

// lockOthers adds the hashes of the other platforms to the lock.
func lockOthers(ctx context.Context, lock *store.Lock, m *store.Mirror, t *store.Trust, i store.Installed, signer string) error {
	p, err := m.Index.Find(i.Plugin)
	if err != nil {
		return nil // the mirror does not have it
	}
	for k := range p.Versions {
		v := &p.Versions[k]
		if v.Version != i.Version {
			continue
		}
		all, err := m.Hashes(ctx, t, i.ID, v, signer, time.Now())
		if err != nil {
			return err
		}
		for platform, h := range all {
			id := i.ID
			if id.Platform = platform; platform != i.Platform {
				lock.Put(id, i.Receipt.Source, signer, h)
			}
		}
	}
	return nil
}
