package host

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/manifest"
	"github.com/goburn/burn/host/store"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// EnvPath lists folders that are searched first, separated as in PATH.
const EnvPath = "BURN_PLUGIN_PATH"

const (
	filePrefix = "burn-backend-"
	localDir   = "burn_plugins"
)

// Folder is a folder that is searched for plugins.
type Folder struct {
	Path   string
	Origin string // why the folder is searched: "BURN_PLUGIN_PATH", "working folder", ...
}

// Folders lists the folders that are searched for plugins, in order. The folders need not exist.
func Folders(o Options) []Folder {
	var fs []Folder
	add := func(origin string, paths ...string) {
		for _, p := range paths {
			if p == "" {
				continue
			}
			if abs, err := filepath.Abs(p); err == nil {
				p = abs
			}
			if !slices.ContainsFunc(fs, func(f Folder) bool { return f.Path == p }) {
				fs = append(fs, Folder{p, origin})
			}
		}
	}
	add(originOptions, o.Dirs...)
	add(EnvPath, filepath.SplitList(os.Getenv(EnvPath))...)
	add(originLocal, localDir)
	add("user", UserDir())
	add("system", systemDirs()...)
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		add("beside the program", filepath.Dir(exe))
	}
	return fs
}

// UserDir returns the folder for plugins of this user, where they are installed. It is empty if the system defines no such folder.
func UserDir() string { return store.UserDir() }

func systemDirs() []string {
	if runtime.GOOS == "windows" {
		if d := os.Getenv("ProgramData"); d != "" {
			return []string{filepath.Join(d, "burn", "plugins")}
		}
		return nil
	}
	return []string{"/usr/local/lib/burn/plugins", "/usr/lib/burn/plugins"}
}

// Plugin is an executable or shared object that was found.
type Plugin struct {
	Name     string
	Path     string
	Kind     string // Process or Shared
	Origin   string
	Manifest *Manifest // nil: none
	// Development means that Options.Development lists the plugin, whose content is then not checked.
	Development bool

	admission *store.Admission // set for an installed plugin
	files     []store.File     // all files of the plugin with their hashes, if a signature, the lock or the user confirms them

	found *Failure // an error in the location or the manifest
}

// Find searches the folders. winners has one plugin for each name, in order of name; shadowed are plugins hidden by an earlier one of the
// same name. In a folder, installed plugins come before files in the folder itself. Two kinds of plugins come last: plugins of the working
// folder that the user has not allowed; and plugins that have the name of an installed or locked plugin, but are neither installed nor in a
// folder that the user named. Nothing is started, and nothing except an allowed ./burn_plugins is hashed.
func Find(o Options) (winners, shadowed []Plugin) {
	seen := map[string]string{}
	var groups [][]Plugin
	for _, name := range slices.Sorted(maps.Keys(o.Development)) {
		groups = append(groups, []Plugin{development(name, o.Development[name])})
	}
	folders := Folders(o)
	found := make([][]Plugin, len(folders))
	for i, f := range folders {
		found[i] = append(stored(f, &o), flat(f)...)
		if f.Origin == originLocal {
			judge(f, found[i])
		}
	}
	groups = append(groups, yield(folders, found, &o)...)
	for _, g := range groups {
		for _, p := range g {
			first, dup := seen[p.Name]
			if !dup {
				seen[p.Name] = p.Path
				winners = append(winners, p)
				continue
			}
			if p.found != nil && (p.found.Cause == CauseRefused || p.found.Cause == CauseNotAllowed) {
				shadowed = append(shadowed, p) // with its own failure, which is more specific
				continue
			}
			p.found = &Failure{CauseShadowed, fmt.Sprintf("%s comes first", first), "remove one of the two", core.ErrNotFound}
			shadowed = append(shadowed, p)
		}
	}
	slices.SortStableFunc(winners, func(a, b Plugin) int { return cmp.Compare(a.Name, b.Name) })
	return winners, shadowed
}

// PluginName returns the name of the plugin in a file, judged by the file's name, or "" if the file is not a plugin.
func PluginName(path string) string {
	stem, kind := plainName(filepath.Base(path))
	name, ok := strings.CutPrefix(stem, filePrefix)
	if !ok || kind == "" || !validName(name) {
		return ""
	}
	return name
}

// plainName removes the extension from the name of an executable or shared object of this system, and returns its kind: Process, Shared, or
// "" for any other file.
func plainName(file string) (stem, kind string) {
	for _, ext := range sharedExts() {
		if stem, ok := strings.CutSuffix(file, ext); ok {
			return stem, Shared
		}
	}
	if runtime.GOOS != "windows" {
		return file, Process
	}
	if stem, ok := strings.CutSuffix(file, ".exe"); ok {
		return stem, Process
	}
	return file, ""
}

// sharedExts returns the extensions of shared objects.
func sharedExts() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{".dll"}
	case "darwin":
		return []string{".dylib", ".so"}
	}
	return []string{".so"}
}

func (f Folder) plugin(path string) Plugin {
	_, kind := plainName(filepath.Base(path))
	p := Plugin{Name: PluginName(path), Path: path, Kind: kind, Origin: f.Origin}
	m, err := readManifest(path)
	if err != nil {
		p.found = &Failure{CauseManifest, err.Error(), "correct or remove the manifest", core.ErrNotFound}
	}
	p.Manifest = m
	return p
}

// development returns a plugin without checking its name, location or content. Of a manifest beside the plugin, it uses only the needs.
func development(name, path string) Plugin {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	_, kind := plainName(filepath.Base(path))
	p := Plugin{Name: name, Path: path, Kind: cmp.Or(kind, Process), Origin: "development override", Development: true}
	switch m, err := readManifest(path); {
	case err != nil:
		p.found = &Failure{CauseManifest, err.Error(), "correct or remove the manifest", core.ErrNotFound}
	case m != nil && m.Needs != nil:
		p.Manifest = &Manifest{Needs: m.Needs}
	}
	return p
}

// flat lists the executables in the folder itself.
func flat(f Folder) []Plugin {
	entries, err := os.ReadDir(f.Path)
	if err != nil {
		return nil
	}
	var ps []Plugin
	for _, e := range entries {
		if path := filepath.Join(f.Path, e.Name()); PluginName(e.Name()) != "" && regular(path) {
			ps = append(ps, f.plugin(path))
		}
	}
	return ps
}

// regular reports whether path is a regular file, after links are resolved.
func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// stored lists the plugins in HOST/NAMESPACE/NAME/VERSION/OS_ARCH: for each HOST/NAMESPACE/NAME the newest version for this platform. If no
// version is for this platform, stored lists the newest version of any platform, as a failure. A locked version takes precedence over newer
// versions.
func stored(f Folder, o *Options) []Plugin {
	admission := o.admission(f.Path)
	paths, err := filepath.Glob(filepath.Join(escape(f.Path), "*", "*", "*", "*", "*", filePrefix+"*"))
	if err != nil {
		return nil
	}
	type best struct {
		path, version string
		native        bool
	}
	newest, locked := map[string]best{}, map[string]string{}
	for _, path := range paths {
		platform := filepath.Dir(path)
		version := filepath.Dir(platform)
		pkg := filepath.Dir(version)
		name := PluginName(path)
		if name == "" || name != filepath.Base(pkg) || !regular(path) || strings.HasPrefix(filepath.Base(filepath.Dir(filepath.Dir(pkg))), ".") {
			continue
		}
		b := best{path, filepath.Base(version), filepath.Base(platform) == runtime.GOOS+"_"+runtime.GOARCH}
		old, ok := newest[pkg]
		if !ok {
			locked[pkg] = admission.Locked(idOf(path).Address.String())
		}
		if ok && b.native && b.version == locked[pkg] || ok && old.native && old.version == locked[pkg] {
			if b.native && b.version == locked[pkg] {
				newest[pkg] = b
			}
			continue
		}
		if !ok || b.native && !old.native || b.native == old.native && CompareVersions(b.version, old.version) > 0 {
			newest[pkg] = b
		}
	}
	var ps []Plugin
	for _, b := range newest {
		p := f.plugin(b.path)
		p.admission = &admission
		if !b.native && p.found == nil {
			p.found = &Failure{client.CauseWrongPlatform,
				fmt.Sprintf("only the build for %s is installed, this is %s", filepath.Base(filepath.Dir(b.path)), core.Platform()),
				wire.InstallRemedy(p.Name), core.ErrUnsupported}
		}
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b Plugin) int { return cmp.Compare(a.Path, b.Path) })
	return ps
}

// escape escapes the characters of a path in a Glob pattern.
func escape(path string) string {
	if runtime.GOOS == "windows" {
		return path // Windows has no escapes in patterns, and the characters are rare
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// CompareVersions orders semantic versions as cmp.Compare does: numbers by value, and a pre-release before its release.
func CompareVersions(a, b string) int { return manifest.CompareVersions(a, b) }
