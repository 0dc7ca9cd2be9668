package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

// pluginCommand returns the command plugin. Each subcommand has a file: plugin_NAME.go.
func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install, check and make plugins",
		Long: `Plugins are installed into a store, from archives signed by their makers. burn.lock fixes their versions and hashes.
docs/PLUGINS.md shows the whole process, from an archive to a running plugin, and from a program to a signed archive.

  store   the user's data folder, or --dir
  trust   trust.toml in the folder burn of the user's configuration directory: the keys whose plugins may be installed
  lock    ./burn.lock if there is one, else burn.lock in the store, or --lock-file
  mirror  --mirror, BURN_MIRROR, or mirror in the configuration: where names are looked up`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.pluginInstallCommand(), a.pluginUpgradeCommand(), a.pluginListCommand(), a.pluginInfoCommand(), a.pluginVerifyCommand(),
		a.pluginRemoveCommand(), a.pluginLockCommand(), a.pluginTrustCommand(), a.pluginKeygenCommand(), a.pluginPackCommand(),
		a.pluginSignCommand(), a.pluginIndexCommand(), a.pluginNewCommand(), a.pluginAllowCommand(), a.pluginBuildCommand(), a.pluginCarryCommand())
	return cmd
}

// storeFlags are the flags of commands that use the store.
type storeFlags struct {
	dir, lockFile, trustFile, mirror string
	stale                            bool
}

func (f *storeFlags) register(cmd *cobra.Command, mirror bool) {
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", "", "`DIR` of the store (default: the user's)")
	fs.StringVar(&f.lockFile, "lock-file", "", "`FILE` with the hashes (default: ./burn.lock if there is one, else that of the store)")
	fs.StringVar(&f.trustFile, "trust-file", "", "`FILE` with trusted keys (default: trust.toml of the user's configuration)")
	if mirror {
		fs.StringVar(&f.mirror, "mirror", "", "`DIR` or URL of the mirror")
		fs.BoolVar(&f.stale, "allow-stale", false, "accept an expired or older index of a mirror, for offline copies")
	}
}

// store opens the store that the flags name.
func (a *app) store(f *storeFlags) (*store.Store, error) {
	s := &store.Store{Dir: f.dir, LockFile: f.lockFile, Waiting: func() {
		fmt.Fprintln(a.err, "burn: waiting for another burn plugin command to end")
	}}
	if s.Dir == "" {
		s.Dir = host.UserDir()
	}
	if s.Dir == "" {
		return nil, usage("the system has no data folder for this user; name one with --dir")
	}
	abs, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	s.Dir = abs
	if s.LockFile == "" {
		s.LockFile = filepath.Join(s.Dir, store.LockName)
		if _, err := os.Stat(store.LockName); err == nil {
			s.LockFile = store.LockName
		}
	}
	s.Trust, err = a.trust(f)
	return s, err
}

func (a *app) trust(f *storeFlags) (*store.Trust, error) {
	path := f.trustFile
	if path == "" {
		var err error
		if path, err = store.TrustFile(); err != nil {
			return nil, err
		}
	}
	t, err := store.OpenTrust(path)
	if err != nil {
		return nil, remedyBelow(&exitError{exitUsage, err})
	}
	return t, nil
}

// mirror opens the mirror that flag or configuration name, or returns nil if none is named.
func (a *app) mirror(ctx context.Context, f *storeFlags, fetch *store.Fetcher) (*store.Mirror, error) {
	base := f.mirror
	if base == "" {
		base = a.config.Mirror
	}
	if base == "" {
		return nil, nil
	}
	return a.openMirror(ctx, f, fetch, base)
}

// openMirror opens a mirror and checks that its index is not older than one that it has shown before, unless the flags or the configuration
// allow that.
func (a *app) openMirror(ctx context.Context, f *storeFlags, fetch *store.Fetcher, base string) (*store.Mirror, error) {
	s, err := a.store(f)
	if err != nil {
		return nil, err
	}
	fetch.Index = &store.IndexPolicy{Trust: s.Trust, Dir: s.Dir, Stale: f.stale || a.config.MirrorStale}
	return fetch.Mirror(ctx, base)
}

// fetcher returns a downloader that shows progress on a terminal, and a function that clears the progress.
func (a *app) fetcher() (*store.Fetcher, func()) {
	if !terminal(a.err) {
		return &store.Fetcher{}, func() {}
	}
	drawn := false
	var last time.Time
	return &store.Fetcher{Progress: func(done, total int64) {
			if done != total && time.Since(last) < 100*time.Millisecond {
				return
			}
			last, drawn = time.Now(), true
			of := ""
			if total > 0 {
				of = fmt.Sprintf(" of %s, %d %%", bytesText(total), done*100/total)
			}
			plain.Fprintf(a.err, "\r\x1b[K%s%s", bytesText(done), of)
		}}, func() {
			if drawn {
				fmt.Fprint(a.err, "\r\x1b[K")
			}
		}
}

// remedyBelow puts the remedy of an error on its own line.
func remedyBelow(err error) error {
	var r *store.Refusal
	if err == nil || !errors.As(err, &r) || r.Remedy == "" {
		return err
	}
	return &lined{err, plain.Text(strings.Replace(err.Error(), "; "+r.Remedy, "", 1)) + "\nremedy: " + plain.Text(r.Remedy)}
}

// banner prints lines in a conspicuous frame.
func (a *app) banner(lines ...string) {
	rule := strings.Repeat("!", 78)
	fmt.Fprintln(a.err, rule)
	for _, l := range lines {
		plain.Fprintf(a.err, "!! %s\n", l)
	}
	fmt.Fprintln(a.err, rule)
}

// developmentBanner warns of plugins that are not checked.
func (a *app) developmentBanner() {
	if len(a.config.DevPlugins) == 0 {
		return
	}
	lines := []string{"DEVELOPMENT OVERRIDE: these plugins are used before all others and NOT CHECKED:"}
	for name, path := range a.config.DevPlugins {
		lines = append(lines, "  "+name+" = "+path)
	}
	slices.Sort(lines[1:])
	a.banner(append(lines, "Unset BURN_DEV_PLUGINS, or dev_plugins in the configuration, to end this.")...)
}
