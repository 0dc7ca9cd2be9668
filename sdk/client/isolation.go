package client

import (
	"os"
	"slices"
	"strconv"
	"strings"
)

// Limits bound what a plugin process may use.
type Limits struct {
	// Memory bounds the private memory of each process in bytes: data, heap and anonymous mappings, but not shared memory. If a plugin
	// exceeds the bound, memory allocation fails, which ends most programs. Only Linux enforces the bound. GOMEMLIMIT is set to 90 percent
	// of the bound. 0: no bound.
	Memory int64
	// Threads is the value of GOMAXPROCS and OMP_NUM_THREADS for the plugin; 0: they are not set.
	Threads int
	// Files bounds the number of files that the plugin may have open. Only Linux enforces the bound. 0: as many as the host.
	Files int
}

// passed lists the names of the host's variables that a plugin sees by default, and passedPrefixes lists prefixes of such names. Programs
// find their files, libraries and devices by these variables, and some are settings of burn. In addition, a plugin sees only the variables
// that it requests.
var (
	passed = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
		"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX",
		"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR", "DISPLAY", "WAYLAND_DISPLAY",
		// of Windows
		"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "ProgramData",
		"ProgramFiles", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"}
	passedPrefixes = []string{"BURN_", "LC_", "XDG_", "CUDA_", "NVIDIA_", "NCCL_", "HIP_", "HSA_", "ROCM_", "ROCR_", "GPU_", "VK_",
		"WGPU_", "METAL_", "MTL_", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "TORCH_"}
)

// Environment returns the part of the host's environment that a plugin sees. asked reports whether the plugin requests a
// variable; nil: it requests none.
func Environment(host []string, l Limits, asked func(name string) bool) []string {
	var env []string
	for _, kv := range host {
		name, _, _ := strings.Cut(kv, "=")
		same := func(s string) bool { return strings.EqualFold(s, name) }
		if slices.ContainsFunc(passed, same) || slices.ContainsFunc(passedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) || asked != nil && asked(name) {
			env = append(env, kv)
		}
	}
	if l.Threads > 0 {
		n := strconv.Itoa(l.Threads)
		env = append(env, "GOMAXPROCS="+n, "OMP_NUM_THREADS="+n)
	}
	if l.Memory > 0 { // a Go plugin collects garbage before it reaches the limit
		env = append(env, "GOMEMLIMIT="+strconv.FormatInt(l.Memory/10*9, 10))
	}
	return env
}

// workDir creates the working directory of a plugin in the folder for its sockets, and returns its path.
func workDir(dir string) (string, error) {
	work := dir + string(os.PathSeparator) + "work"
	return work, os.Mkdir(work, 0o700)
}
