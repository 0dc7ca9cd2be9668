//go:build unix

package contain

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAbove checks that above recognises a folder that contains all files of the user, however it is spelled and through links.
func TestAbove(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	home := filepath.Join(root, "homes", "me")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "bin"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "tmp", "x"), 0o700))
	link := func(to, name string) string {
		path := filepath.Join(root, name)
		require.NoError(t, os.Symlink(to, path))
		return path
	}
	linked, outer := link(home, "me"), link(filepath.Join(root, "homes"), "outer")
	for _, c := range []struct {
		dir, home string
		want      bool
	}{
		{"/", home, true}, {"//", "", true}, {home, home, true}, {home + "/", home, true}, {home + "/bin/..", home, true},
		{filepath.Join(root, "homes"), home, true}, {root, home, true}, {filepath.Join(root, "tmp"), home, true}, {filepath.Join(root, "tmp"), "", true},
		{filepath.Join(root, "tmp", "x"), home, false}, {filepath.Join(home, "bin"), home, false}, {home + "2", home, false},
		{filepath.Join(root, "homes", "..me"), filepath.Join(root, "homes", "..me", "x"), true},
		{"/usr/bin", home, false}, {"/usr/bin", "", false},
		{linked, home, true}, {outer, home, true}, {home, linked, true}, {filepath.Join(root, "homes"), linked, true},
		{filepath.Join(linked, "bin"), home, false}, {filepath.Join(home, "bin"), linked, false},
	} {
		require.Equal(t, c.want, above(c.dir, c.home), "%s above %s", c.dir, c.home)
	}
}

// house creates a home folder, sets HOME to it and returns it.
func house(t *testing.T) string {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", filepath.Join(home, "..", "none"))
	return home
}

// put creates a file, with the folders above it.
func put(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, nil, 0o700))
	return path
}

// TestProgramRules checks that a plugin may read its own folder, also through links, but not all files of the user if it is in the home
// folder.
func TestProgramRules(t *testing.T) {
	home := house(t)
	deep := put(t, filepath.Join(home, "apps", "real", "burn-backend-x"))
	top := put(t, filepath.Join(home, "burn-backend-y"))
	by := filepath.Join(home, "links", "burn-backend-x")
	require.NoError(t, os.MkdirAll(filepath.Dir(by), 0o700))
	require.NoError(t, os.Symlink(deep, by))

	r := For(Program{Path: by, Dir: "/sockets"}, nil)
	require.Contains(t, r.Read, by)
	require.Contains(t, r.Read, filepath.Dir(by))
	require.Contains(t, r.Read, filepath.Dir(deep), "where the link leads to")
	require.Equal(t, []string{"/sockets"}, r.Write)
	require.Equal(t, systemDevices, r.Devices)
	require.False(t, r.Network)

	r = For(Program{Path: top, Dir: "/sockets"}, nil)
	require.Contains(t, r.Read, top)
	require.NotContains(t, r.Read, home)

	object := put(t, filepath.Join(home, "objects", "plugin.so"))
	r = For(Program{Path: by, Image: put(t, filepath.Join(home, "carrier", "burn")), Args: []string{"carry", object, "relative/x", "--flag=/etc/shadow"}, Dir: "/s"}, nil)
	require.Contains(t, r.Read, filepath.Join(home, "carrier"))
	require.Contains(t, r.Read, object)
	require.Contains(t, r.Read, filepath.Join(home, "objects"))
	for _, p := range r.Read {
		require.NotContains(t, p, "relative")
		require.NotContains(t, p, "shadow")
	}
	r = For(Program{Path: by, Image: "/proc/self/fd/9", Dir: "/s"}, nil)
	require.NotContains(t, r.Read, "/proc/self/fd", "the descriptors of this process")
}

// TestSearchedFolders checks that a plugin may read folders that variables name, with the libraries of their installations, but not relative
// ones nor those that contain all files of the user.
func TestSearchedFolders(t *testing.T) {
	home := house(t)
	real := put(t, filepath.Join(home, "pythons", "3.12", "bin", "python3.12"))
	venv := filepath.Join(home, "venv")
	require.NoError(t, os.MkdirAll(filepath.Join(venv, "bin"), 0o700))
	require.NoError(t, os.Symlink(real, filepath.Join(venv, "bin", "python3")))
	env := []string{"PATH=" + strings.Join([]string{filepath.Join(venv, "bin"), "bin", home, "/", filepath.Join(home, "go", "tools")}, ":"),
		"LD_LIBRARY_PATH=" + filepath.Join(home, "libs"), "CUDA_HOME=" + filepath.Join(home, "cuda"), "LIBTORCH=" + home, "ROCM_PATH=rocm", "OTHER=" + filepath.Join(home, "other"),
		"BURN_PLUGIN_DIR=" + filepath.Join(home, "origin"), "BURN_PYTHON=" + filepath.Join(home, "conda", "bin", "python")}
	r := For(Program{Path: "/usr/bin/x", Dir: "/s", Env: env}, nil)
	for _, want := range []string{"venv/bin", "venv/lib", "venv/pyvenv.cfg", "pythons/3.12/bin", "pythons/3.12/lib", "pythons/3.12/lib64", "go/tools", "libs", "cuda",
		"origin", "conda/bin/python", "conda/bin", "conda/lib"} {
		require.Contains(t, r.Read, filepath.Join(home, want))
	}
	for _, not := range []string{home, "/", "bin", "rocm", filepath.Join(home, "other"), filepath.Join(home, "go"), filepath.Join(home, "go", "lib"),
		filepath.Join(home, "lib"), filepath.Join(home, "pythons"), venv} {
		require.NotContains(t, r.Read, not)
	}
}

// TestNeedsExtend checks that For adds the needs of a plugin to the rules, and lists them as asked for. A pattern of devices matches only
// devices, not links out of /dev, such as those to the open files of this process.
func TestNeedsExtend(t *testing.T) {
	home := house(t)
	n := &Needs{Network: true, Devices: []string{"/dev/nul?", "/dev//fd/*", "/dev/f[d]/*", "/dev/./fd", "/dev/std*", "/dev/none*"},
		Read: []string{"~/data", "/srv/models"}, Write: []string{"~/cache"}}
	require.NoError(t, n.Check())
	r := For(Program{Path: "/usr/bin/x", Dir: "/s"}, n)
	require.True(t, r.Network)
	require.Equal(t, []string{filepath.Join(home, "data"), "/srv/models"}, r.AskedRead)
	require.Subset(t, r.Read, r.AskedRead)
	require.Equal(t, []string{"/s", filepath.Join(home, "cache")}, r.Write)
	require.Contains(t, r.AskedDevices, "/dev/null")
	require.Subset(t, r.Devices, r.AskedDevices)
	for _, d := range r.AskedDevices {
		real, err := filepath.EvalSymlinks(d)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(real, "/dev/"), "%s is %s", d, real)
	}

	t.Setenv("HOME", "")
	require.Equal(t, []string{"/a", "/b"}, expand([]string{"/a", "~/data", "/b"}), "nobody's folder")
}

// TestNeedsCheck checks that Check refuses invalid needs and names them.
func TestNeedsCheck(t *testing.T) {
	many := make([]string, maxNeeds+1)
	for i := range many {
		many[i] = "/dev/x"
	}
	require.NoError(t, (*Needs)(nil).Check())
	require.NoError(t, (&Needs{Network: true, Devices: many[1:], Read: []string{"/", "~/x", "~/.cache/a..b"}, Write: []string{"/srv/x/"}}).Check())
	for want, n := range map[string]Needs{
		`needs.devices: want at most 64 paths, got 65`:                           {Devices: many},
		`needs.read: want at most 64 paths, got 65`:                              {Read: many},
		`needs.write: want at most 64 paths, got 65`:                             {Write: many},
		`needs.devices: want a path below /dev, got "/etc/passwd"`:               {Devices: []string{"/dev/null", "/etc/passwd"}},
		`needs.devices: want a path below /dev, got "dev/null"`:                  {Devices: []string{"dev/null"}},
		`needs.devices: want a path below /dev, got "/dev"`:                      {Devices: []string{"/dev"}},
		`needs.devices: want a path below /dev, got "/dev/fd/3"`:                 {Devices: []string{"/dev/fd/3"}},
		`needs.devices: want a path below /dev, got "~/dev/x"`:                   {Devices: []string{"~/dev/x"}},
		`needs.devices: want a path without .., got "/dev/../etc/passwd"`:        {Devices: []string{"/dev/../etc/passwd"}},
		`needs.devices: "/dev/[x": syntax error in pattern`:                      {Devices: []string{"/dev/[x"}},
		`needs.read: want an absolute path, or ~/ and a path, got ""`:            {Read: []string{""}},
		`needs.read: want an absolute path, or ~/ and a path, got "~"`:           {Read: []string{"~"}},
		`needs.read: want an absolute path, or ~/ and a path, got "~/"`:          {Read: []string{"~/"}},
		`needs.read: want an absolute path, or ~/ and a path, got "~other/data"`: {Read: []string{"~other/data"}},
		`needs.write: want an absolute path, or ~/ and a path, got "cache"`:      {Write: []string{"cache"}},
		`needs.write: want a path without .., got "~/../other"`:                  {Write: []string{"~/../other"}},
		`needs.write: want a path without .., got "/srv/.."`:                     {Write: []string{"/srv/.."}},
	} {
		require.EqualError(t, n.Check(), "contain: "+want)
	}
	long := (&Needs{Read: []string{strings.Repeat("x", 1<<20)}}).Check()
	require.Less(t, len(long.Error()), 300, "a hostile manifest does not fill the terminal")
}

// TestNeedsLines checks the text that tells the user what a plugin asks for.
func TestNeedsLines(t *testing.T) {
	require.Empty(t, (*Needs)(nil).Lines())
	require.Empty(t, (&Needs{}).Lines())
	require.Equal(t, []string{"network, and the sockets of your other programs", "devices /dev/a* /dev/b", "to read /x ~/y", "to read and write ~/z/", "variables A_B"},
		(&Needs{Network: true, Devices: []string{"/dev/a*", "/dev/b"}, Read: []string{"/x", "~/y"}, Write: []string{"~/z/"}, Env: []string{"A_B"}}).Lines())
}

// TestReportMissing checks that Missing lists the measures that protect others and are not in force, and no others.
func TestReportMissing(t *testing.T) {
	r := Off("why")
	var names []string
	for _, m := range r.Missing() {
		require.Equal(t, "why", m.Detail)
		names = append(names, m.Name)
	}
	require.Equal(t, []string{Privileges, Files, Devices, Network, SystemCalls}, names)
	for i := range r {
		r[i].InForce = r[i].Name != Devices
	}
	r = append(r, Measure{Signals, false, ""}, Measure{Children, false, ""}, Measure{Bounds, false, ""})
	require.Equal(t, []Measure{{Devices, false, "why"}}, r.Missing())
}

// TestKeys checks that a key is never zero or the upper half of a negative number, which programs pass by chance, and that keys differ.
func TestKeys(t *testing.T) {
	seen := map[uint32]bool{}
	for range 200 {
		k := newKey()
		require.NotZero(t, k)
		require.Less(t, k, uint32(1<<31), "the upper half of a negative number begins with ones")
		seen[k] = true
	}
	require.Greater(t, len(seen), 190)
}
