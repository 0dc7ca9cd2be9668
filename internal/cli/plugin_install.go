package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/spf13/cobra"
)

type installFlags struct {
	storeFlags
	platform string
	unsigned bool
	force    bool
	keep     bool
	upgrade  bool
	older    bool
}

func (f *installFlags) register(cmd *cobra.Command) {
	f.storeFlags.register(cmd, true)
	fs := cmd.Flags()
	fs.StringVar(&f.platform, "platform", "", "`OS_ARCH` to install for (default: this one)")
	fs.BoolVar(&f.unsigned, "allow-unsigned", false, "install an archive without signature")
	fs.BoolVar(&f.force, "force", false, "replace the installed plugin of the same version")
	fs.BoolVar(&f.older, "allow-downgrade", false, "install a version that is older than the one in use")
	fs.BoolVar(&f.keep, "keep", false, "keep other versions of the plugin; the newest is used")
}

func (a *app) pluginInstallCommand() *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "install [SOURCE...]",
		Short: "Install plugins from archives, mirrors or URLs",
		Long: `Install plugins. SOURCE is

  ARCHIVE            a .tar.gz or .zip, with its signature in ARCHIVE.sig
  http(s)://...      an archive at a URL, with its signature at the same URL and .sig
  NAME[@VERSION]     a plugin of the mirror, as NAME, NAMESPACE/NAME or HOST/NAMESPACE/NAME; VERSION is 1.2.3, 1.2, ">=1.0,<2",
                     ~1.2.3 or ^1.2 (default: the version in burn.lock, else the newest)
  DIR                a mirror with one plugin; a folder in the working folder as ./DIR

Without SOURCE all plugins in burn.lock are installed. An archive is accepted only if a key in the trust file signed it, its
content agrees with signature, manifest and burn.lock, and it is for the platform. Every refusal names the remedy. After the installation other
versions of the plugin are removed, except those in locks that were used with the store.`,
		Example: `  burn plugin install ./cpu_linux_amd64.tar.gz
  burn plugin install cpu@^0.1 --mirror /srv/burn
  burn plugin install https://example.org/burn/cuda_linux_amd64.tar.gz`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.install(cmd.Context(), f, args) },
	}
	f.register(cmd)
	return cmd
}

func (a *app) pluginUpgradeCommand() *cobra.Command {
	f := &installFlags{upgrade: true}
	cmd := &cobra.Command{
		Use:   "upgrade [SOURCE...]",
		Short: "Install newer versions, and change burn.lock",
		Long: `Install the newest version of the given plugins, or of all installed plugins, from the mirror. SOURCE is as in burn plugin install; unlike install,
this command may change burn.lock. A version older than the one in use needs --allow-downgrade, as
a mirror could offer only old versions.`,
		Example: `  burn plugin upgrade
  burn plugin upgrade cpu@0.1.0 --allow-downgrade`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.install(cmd.Context(), f, args) },
	}
	f.register(cmd)
	return cmd
}

func (a *app) install(ctx context.Context, f *installFlags, sources []string) error {
	s, err := a.store(&f.storeFlags)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		if sources, err = a.everything(s, f.upgrade); err != nil {
			return err
		}
	}
	for _, source := range sources {
		if err := a.installOne(ctx, s, f, source); err != nil {
			return remedyBelow(err)
		}
	}
	return nil
}

// everything returns the plugins that install and upgrade process when none is named.
func (a *app) everything(s *store.Store, upgrade bool) ([]string, error) {
	var names []string
	if upgrade {
		all, err := s.List()
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			if i.Active {
				names = append(names, i.Plugin)
			}
		}
		if len(names) == 0 {
			return nil, usage("no plugin is installed in %s", s.Dir)
		}
		return names, nil
	}
	lock, err := store.ReadLock(s.LockFile)
	if err != nil {
		return nil, err
	}
	for _, p := range lock.Plugins {
		names = append(names, p.Plugin+"@"+p.Version)
	}
	if len(names) == 0 {
		return nil, usage("burn.lock holds no plugin (%s); name a SOURCE", s.LockFile)
	}
	return names, nil
}

func (a *app) installOne(ctx context.Context, s *store.Store, f *installFlags, source string) error {
	o := store.InstallOptions{Platform: f.platform, Unsigned: f.unsigned, Force: f.force, Keep: f.keep, Upgrade: f.upgrade, Older: f.older}
	fetch, clear := a.fetcher()
	archive, err := a.source(ctx, s, f, fetch, source, &o)
	clear()
	if err != nil {
		return err
	}
	defer archive.Close()
	o.Checked = func(p *store.Package, k *store.Key) {
		if k == nil {
			a.banner("UNSIGNED PLUGIN: "+p.ID.String(), "from "+archive.Source, "Nobody vouches for it. It will run with your rights.", "Its hash from now on is that in "+s.LockFile+".")
		}
		a.printNeeds(p)
	}
	r, err := s.Install(ctx, archive, o)
	if err != nil {
		return err
	}
	a.printInstalled(s, r)
	return nil
}

func (a *app) printInstalled(s *store.Store, r *store.Result) {
	how := "installed"
	if r.Already {
		how = "is installed already:"
	}
	plain.Fprintf(a.out, "%s %s\n", how, r.Package.ID)
	signed := "nobody"
	if r.Key != nil {
		signed = "key " + r.Key.ID
		if r.Key.Owner != "" {
			signed += ", " + r.Key.Owner
		}
	}
	t := a.table()
	plain.Fprintf(t, "  in\t%s\n  signed by\t%s\n  archive\t%s\n  lock\t%s\n", r.Dir, signed, r.Package.Archive, s.LockFile)
	if len(r.Removed) > 0 {
		plain.Fprintf(t, "  removed\t%s\n", strings.Join(r.Removed, ", "))
	}
	for _, k := range r.Kept {
		plain.Fprintf(t, "  kept\t%s, which %s holds\n", k.Version, k.Lock)
	}
	if r.Package.ID.Platform == store.Native() {
		plain.Fprintf(t, "  device\tprocess:%s, see burn devices\n", r.Package.ID.Name)
	}
	_ = t.Flush()
}

// source opens the archive that a source names.
func (a *app) source(ctx context.Context, s *store.Store, f *installFlags, fetch *store.Fetcher, source string, o *store.InstallOptions) (*store.Archive, error) {
	if store.IsURL(source) {
		return fetch.URL(ctx, source)
	}
	info, err := os.Stat(source)
	if bareName(source) { // a file in the working folder must not take precedence over a plugin of the mirror
		err = os.ErrNotExist
	}
	switch {
	case err == nil && info.Mode().IsRegular():
		abs, err := filepath.Abs(source)
		if err != nil {
			return nil, err
		}
		return fetch.File(abs)
	case err == nil && store.IsMirror(source):
		m, err := a.openMirror(ctx, &f.storeFlags, fetch, source)
		if err != nil {
			return nil, err
		}
		if n := len(m.Index.Plugins); n != 1 {
			return nil, usage("mirror %s has %d plugins; name one: burn plugin install NAME --mirror %s", source, n, source)
		}
		return a.fromMirror(ctx, s, f, m, m.Index.Plugins[0].Plugin, o)
	case strings.HasSuffix(source, ".tar.gz"), strings.HasSuffix(source, ".zip"):
		return nil, usage("archive %s: no such file", source)
	}
	if _, _, err := store.ParseName(source); err != nil {
		return nil, usage("%s is neither a file nor a mirror; %w", source, err)
	}
	m, err := a.mirror(ctx, &f.storeFlags, fetch)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, withLine(usage("plugin %s: no mirror is configured", source), "remedy: name one with --mirror, BURN_MIRROR or mirror in the configuration, or install from an archive: burn plugin install FILE.tar.gz")
	}
	return a.fromMirror(ctx, s, f, m, source, o)
}

// bareName reports whether a source is the name of a plugin. A path to an archive or mirror never is, as it has a separator or
// the extension of an archive.
func bareName(source string) bool {
	if strings.ContainsAny(source, `/\`) || strings.HasSuffix(source, ".tar.gz") || strings.HasSuffix(source, ".zip") {
		return false
	}
	_, _, err := store.ParseName(source)
	return err == nil
}

// fromMirror opens the archive of NAME[@VERSION], and collects the hashes for the other platforms.
func (a *app) fromMirror(ctx context.Context, s *store.Store, f *installFlags, m *store.Mirror, text string, o *store.InstallOptions) (*store.Archive, error) {
	name, c, err := store.ParseName(text)
	if err != nil {
		return nil, usage("%w", err)
	}
	p, err := m.Index.Find(name)
	if err != nil {
		return nil, fmt.Errorf("mirror %s: %w", m, err)
	}
	if c.String() == "" && !f.upgrade {
		if c, err = locked(s, p.Plugin); err != nil {
			return nil, err
		}
	}
	platform := f.platform
	if platform == "" {
		platform = store.Native()
	}
	id, v, err := p.Choose(c, platform)
	if err != nil {
		return nil, fmt.Errorf("mirror %s: %w", m, err)
	}
	archive, err := m.Archive(ctx, id)
	if err != nil {
		return nil, err
	}
	signer := ""
	if archive.Signature != nil {
		signer = archive.Signature.Key
	}
	if o.Extra, err = m.Hashes(ctx, s.Trust, id, v, signer, time.Now()); err != nil {
		return nil, errors.Join(err, archive.Close())
	}
	return archive, nil
}

// locked returns the constraint for the plugin's version in the lock, or the zero constraint if the lock does not contain the plugin.
func locked(s *store.Store, plugin string) (store.Constraint, error) {
	lock, err := store.ReadLock(s.LockFile)
	if err != nil {
		return store.Constraint{}, err
	}
	for _, e := range lock.Plugins {
		if e.Plugin == plugin {
			return store.ParseConstraint(e.Version)
		}
	}
	return store.Constraint{}, nil
}
