package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goburn/burn/host"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/internal/tomlfile"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
	"github.com/spf13/cobra"
)

type packFlags struct {
	namespace, version, platform, kind, out, mirror, key, expires string
	files                                                         []string
}

func (a *app) pluginPackCommand() *cobra.Command {
	f := &packFlags{}
	cmd := &cobra.Command{
		Use:   "pack PATH/burn-backend-NAME",
		Short: "Make an archive of a plugin",
		Long: `Make an archive for burn plugin install of an executable or shared object named burn-backend-NAME. A manifest beside it
(burn-backend-NAME.toml) sets the values that no flag sets. Equal content results in equal bytes.

A folder of --file is packed with all files below it, except hidden ones and Python's caches (__pycache__, *.pyc). A plugin finds the files
of its package in the folder that BURN_PLUGIN_DIR names.`,
		Example: `  burn plugin pack ./burn-backend-acme --namespace example.org/acme --version 1.0.0 --key acme.key
  burn plugin pack ./burn-backend-acme --namespace example.org/acme --version 1.0.0 --mirror ./mirror --file LICENSE
  burn plugin pack ./burn-backend-mine --file main.py --file kernels.py --file burnplugin`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return remedyBelow(a.pack(f, args[0])) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.namespace, "namespace", "", "`HOST/NAMESPACE` of the maker")
	fs.StringVar(&f.version, "version", "", "`MAJOR.MINOR.PATCH` of the plugin")
	fs.StringVar(&f.platform, "platform", "", "`OS_ARCH` of the program (default: read from the file)")
	fs.StringVar(&f.kind, "kind", "", "`KIND`: process or shared (default: by the name of the file)")
	fs.StringArrayVar(&f.files, "file", nil, "`PATH[=NAME]` of a further file, such as a licence, or of a folder; may be repeated")
	fs.StringVar(&f.out, "out", "", "archive `FILE` (default: NAME_VERSION_OS_ARCH.tar.gz)")
	fs.StringVar(&f.mirror, "mirror", "", "`DIR` of a mirror for the archive and the index")
	fs.StringVar(&f.key, "key", "", "private key `FILE` to sign with: the archive, and the index of --mirror")
	fs.StringVar(&f.expires, "expires", "", "`DATE` (YYYY-MM-DD) until which the index of --mirror holds (default: 90 days)")
	return cmd
}

func (a *app) pack(f *packFlags, exe string) error {
	m, err := f.manifest(exe)
	if err != nil {
		return err
	}
	space, ns, _ := strings.Cut(m.Namespace, "/")
	id := store.ID{Address: store.Address{Host: space, Namespace: ns, Name: m.Name}, Version: m.Version, Platform: m.OS + "_" + m.Arch}
	if m.Namespace == "" || m.Version == "" {
		return usage("want --namespace and --version, or a manifest with them beside %s", exe)
	}
	out := cmp.Or(f.out, fmt.Sprintf("%s_%s_%s%s", m.Name, m.Version, id.Platform, store.ArchiveExt))
	if f.mirror != "" {
		if f.out != "" {
			return usage("--out and --mirror: want one of them")
		}
		out = filepath.Join(f.mirror, filepath.FromSlash(id.MirrorPath()))
	}
	c := store.Content{Executable: exe, Manifest: m, Extra: map[string]string{}}
	for _, e := range f.files {
		path, name, ok := strings.Cut(e, "=")
		if !ok {
			name = filepath.Base(path)
		}
		if err := addExtra(c.Extra, name, path); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	p, err := store.Pack(out, c)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	plain.Fprintf(a.out, "packed %s: %s\n", p.ID, out)
	index := store.IndexOptions{}
	if f.expires != "" {
		if index.Expires, err = time.Parse(time.DateOnly, f.expires); err != nil {
			return usage("--expires: want YYYY-MM-DD, got %q", f.expires)
		}
	}
	if f.key != "" {
		k, err := store.ReadPrivateKey(f.key)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if err := k.SignFile(out, p); err != nil {
			return err
		}
		index.Key = &k
		plain.Fprintf(a.out, "signed with key %s: %s\n", k.Public().ID(), out+store.SignatureExt)
	}
	if f.mirror != "" {
		x, err := store.WriteIndex(f.mirror, index)
		if err != nil {
			return err
		}
		if index.Key != nil {
			plain.Fprintf(a.out, "index of %s: counter %d, until %s\n", f.mirror, x.Counter, x.Expires.Format(time.DateOnly))
		}
	}
	return nil
}

// addExtra adds the file or folder at path to the files of an archive, as name.
func addExtra(extra map[string]string, name, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	if !info.IsDir() {
		extra[name] = path
		return nil
	}
	if name == "." || name == string(filepath.Separator) {
		name = ""
	}
	count := 0
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch base := d.Name(); {
		case err != nil:
			return err
		case at != path && (strings.HasPrefix(base, ".") || base == "__pycache__"):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() || strings.HasSuffix(base, ".pyc"):
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: %v, want a regular file", at, d.Type())
		}
		rel, err := filepath.Rel(path, at)
		if err != nil {
			return err
		}
		count++
		extra[filepath.ToSlash(filepath.Join(name, rel))] = at
		return nil
	})
	if err == nil && count == 0 {
		err = fmt.Errorf("%s: want a folder with files", path)
	}
	if err != nil {
		return fmt.Errorf("--file: %w", err)
	}
	return nil
}

// manifest returns the manifest beside the file, with the flags applied.
func (f *packFlags) manifest(exe string) (host.Manifest, error) {
	base := filepath.Base(exe)
	stem, kind := base, host.Process
	for ext, k := range map[string]string{".exe": host.Process, ".so": host.Shared, ".dylib": host.Shared, ".dll": host.Shared} {
		if s, ok := strings.CutSuffix(base, ext); ok {
			stem, kind = s, k
		}
	}
	name, ok := strings.CutPrefix(stem, "burn-backend-")
	if !ok || name == "" {
		return host.Manifest{}, usage("%s: want a file named burn-backend-NAME", exe)
	}
	m := host.Manifest{Name: name, Kind: kind}
	_, err := tomlfile.Load(tomlfile.Manifest, filepath.Join(filepath.Dir(exe), stem+".toml"), &m)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, usage("%w", err)
	}
	goos, arch, _ := strings.Cut(client.FormatOf(exe), "/")
	if f.platform != "" {
		goos, arch, _ = strings.Cut(f.platform, "_")
	}
	if goos == "" && m.OS == "" {
		goos, arch, _ = strings.Cut(store.Native(), "_")
	}
	m.Namespace, m.Version, m.Kind = cmp.Or(f.namespace, m.Namespace), cmp.Or(f.version, m.Version), cmp.Or(f.kind, m.Kind)
	m.OS, m.Arch = cmp.Or(goos, m.OS), cmp.Or(arch, m.Arch)
	if m.Protocol == (host.Protocol{}) {
		m.Protocol = host.Protocol(wire.Speaks())
	}
	return m, nil
}
