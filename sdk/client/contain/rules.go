package contain

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Rules are the permissions of a process. With the zero Rules, a process can access no file, can create only unix sockets, and cannot
// connect to another process.
type Rules struct {
	// Read lists the paths that may be read and executed, Write lists the paths that may be read, changed and created, and Devices the
	// paths that may be used. A folder includes everything below it. Paths that do not exist are ignored.
	Read, Write, Devices []string
	Network              bool
	// AskedRead and AskedDevices are the paths that the plugin requested in addition to the default paths, for the Report.
	AskedRead, AskedDevices []string
	// GroupKey is a secret that only the starting process knows. setpgid is allowed only if the upper half of its second argument, which
	// the kernel ignores, equals GroupKey. 0: setpgid is never allowed.
	GroupKey uint32
}

// Program describes the program that rules are for.
type Program struct {
	Path  string   // path of the plugin
	Image string   // executed in place of Path; empty: Path
	Args  []string // arguments; files whose paths are arguments may be read
	Dir   string   // folder for the program's sockets and temporary files
	Env   []string // the environment that the program starts with
}

// The files of a system that any program may read: programs, libraries and their configuration.
var (
	systemRead = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap",
		"/run/current-system", "/run/opengl-driver", "/proc", "/sys",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/ld-musl-x86_64.path", "/etc/alternatives",
		"/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/locale.conf", "/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/hostname",
		"/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/services", "/etc/protocols", "/etc/mime.types",
		"/etc/os-release", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/ca-certificates", "/etc/crypto-policies",
		"/etc/OpenCL", "/etc/vulkan", "/etc/glvnd", "/etc/nvidia", "/etc/nvidia-container-runtime"}
	systemDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
)

// searched lists the variables that name folders with programs and libraries, and homes lists the variables that name the folder of an
// installation. The plugin may read these folders.
var (
	searched = []string{"PATH", "LD_LIBRARY_PATH", "PYTHONPATH"}
	homes    = []string{"PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "LIBTORCH", "CUDA_HOME", "CUDA_PATH", "ROCM_PATH", "ROCM_HOME", "HIP_PATH", "MKLROOT"}
	// interpreters lists the programs that may be links into an installation elsewhere.
	interpreters = []string{"python3", "python"}
)

// For returns the default rules of a plugin, extended by its needs.
func For(p Program, n *Needs) Rules {
	if n == nil {
		n = &Needs{}
	}
	home, _ := os.UserHomeDir()
	r := Rules{Read: slices.Clone(systemRead), Devices: slices.Clone(systemDevices), Write: []string{p.Dir}, Network: n.Network, GroupKey: newKey()}
	r.program(p.Path, home)
	if p.Image != "" && !strings.HasPrefix(p.Image, "/proc/self/fd/") {
		r.program(p.Image, home)
	}
	for _, a := range p.Args {
		if filepath.IsAbs(a) {
			r.program(a, home)
		}
	}
	env := map[string]string{}
	for _, kv := range p.Env {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	for _, name := range searched {
		for _, dir := range filepath.SplitList(env[name]) {
			if filepath.IsAbs(dir) && !above(dir, home) {
				r.Read = append(r.Read, dir)
				r.installation(dir, home)
			}
		}
	}
	for _, name := range homes {
		if dir := env[name]; filepath.IsAbs(dir) && !above(dir, home) {
			r.Read = append(r.Read, dir)
			r.installation(filepath.Join(dir, "bin"), home)
		}
	}
	if dir := env["BURN_PLUGIN_DIR"]; filepath.IsAbs(dir) && !above(dir, home) { // the origin of a shared object or a checked copy
		r.Read = append(r.Read, dir)
	}
	if python := env["BURN_PYTHON"]; filepath.IsAbs(python) {
		r.Read = append(r.Read, python)
		r.installation(filepath.Dir(python), home)
	}
	r.AskedRead = expand(n.Read)
	r.Read = append(r.Read, r.AskedRead...)
	r.Write = append(r.Write, expand(n.Write)...)
	for _, w := range n.Write {
		if strings.HasSuffix(w, "/") {
			for _, dir := range expand([]string{w}) {
				_ = os.MkdirAll(dir, 0o700) // a folder that cannot be created is left out, like a folder that does not exist
			}
		}
	}
	for _, pattern := range n.Devices {
		for _, found := range devices(pattern) {
			r.Devices = append(r.Devices, found)
			r.AskedDevices = append(r.AskedDevices, found)
		}
	}
	return r
}

// devices returns the paths that match a pattern and are below /dev after links are resolved. This excludes links such as /dev/fd.
func devices(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	return slices.DeleteFunc(found, func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err != nil || !strings.HasPrefix(real, "/dev/")
	})
}

// newKey returns a number that no program passes by accident: neither 0 nor the upper half of a negative number.
func newKey() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint32(b[:])&^(1<<31) | 1
}

// program allows reading a file and its folder, unless the folder contains all files of the user.
func (r *Rules) program(path, home string) {
	r.Read = append(r.Read, path)
	dirs := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dirs = append(dirs, filepath.Dir(real))
	}
	for _, dir := range dirs {
		if !above(dir, home) {
			r.Read = append(r.Read, dir)
		}
	}
}

// installation allows reading the libraries that belong to the folder bin of programs: PREFIX/lib for PREFIX/bin. If an interpreter in bin
// is a link, installation also allows the libraries of the installation that the link leads to.
func (r *Rules) installation(bin, home string) {
	bins := []string{bin}
	for _, name := range interpreters {
		if real, err := filepath.EvalSymlinks(filepath.Join(bin, name)); err == nil && filepath.Dir(real) != bin {
			bins = append(bins, filepath.Dir(real))
		}
	}
	for _, bin := range bins {
		if above(bin, home) || !slices.Contains([]string{"bin", "shims", "sbin"}, filepath.Base(bin)) {
			continue
		}
		r.Read = append(r.Read, bin)
		for _, sub := range []string{"lib", "lib64", "libexec", "versions", "version", "pyvenv.cfg"} {
			r.Read = append(r.Read, filepath.Join(filepath.Dir(bin), sub))
		}
	}
}

// above reports whether dir is the root folder, the folder for temporary files, the user's folder, or a folder that contains the user's
// folder. It also compares paths with links resolved. A rule for such a folder would allow too much.
func above(dir, home string) bool {
	for _, dir := range spellings(dir) {
		if dir == string(filepath.Separator) || slices.Contains(spellings(os.TempDir()), dir) {
			return true
		}
		if home == "" {
			continue
		}
		for _, home := range spellings(home) {
			rel, err := filepath.Rel(dir, home)
			if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
				return true
			}
		}
	}
	return false
}

// spellings returns a path and, if it exists, the same path with links resolved.
func spellings(path string) []string {
	all := []string{filepath.Clean(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != all[0] {
		all = append(all, real)
	}
	return all
}

// unsupported returns the report of a system without these mechanisms.
func unsupported() Report { return Off("there is no mechanism for it on " + runtime.GOOS) }
