package cli

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/goburn/burn/host"
)

// hardware lists the traces of a kind of accelerator on a system: device files, drivers, libraries.
type hardware struct {
	Backend string   `json:"backend"`
	Looked  []string `json:"looked"` // file patterns that were searched
	Found   []string `json:"found"`
	Present bool     `json:"present"` // a device or driver was found, not only a library
	Usable  bool     `json:"usable"`  // a backend of this name has devices
	Remedy  string   `json:"remedy,omitempty"`
}

// signs are file patterns, by operating system, that indicate hardware for a backend.
var signs = []struct {
	backend   string
	devices   map[string][]string
	libraries map[string][]string
}{
	{"cuda",
		map[string][]string{"linux": {"/dev/nvidia[0-9]*", "/proc/driver/nvidia/version"}, "windows": {`C:\Windows\System32\nvcuda.dll`}},
		map[string][]string{"linux": {"/usr/lib/*/libcuda.so.1", "/usr/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/cuda/lib64/libcudart.so*"}}},
	{"rocm",
		map[string][]string{"linux": {"/dev/kfd"}},
		map[string][]string{"linux": {"/opt/rocm*/lib/libamdhip64.so", "/usr/lib/*/libamdhip64.so*"}}},
	{"metal",
		map[string][]string{"darwin": {"/System/Library/Frameworks/Metal.framework"}},
		nil},
	{"wgpu",
		map[string][]string{"linux": {"/dev/dri/renderD*"}, "windows": {`C:\Windows\System32\d3d12.dll`}, "darwin": {"/System/Library/Frameworks/Metal.framework"}},
		map[string][]string{"linux": {"/usr/lib/*/libvulkan.so.1", "/usr/lib64/libvulkan.so.1"}, "windows": {`C:\Windows\System32\vulkan-1.dll`}}},
}

// findHardware looks for the signs of this system. install returns how to get a backend that is missing.
func findHardware(backends []host.Status, install func(name string) string) []hardware {
	var all []hardware
	for _, s := range signs {
		h := hardware{Backend: s.backend, Found: []string{}}
		look := func(patterns []string, device bool) {
			for _, p := range patterns {
				h.Looked = append(h.Looked, p)
				found, _ := filepath.Glob(p) // the patterns are well formed
				for _, f := range found {
					if _, err := os.Stat(f); err == nil {
						h.Found = append(h.Found, f)
						h.Present = h.Present || device
					}
				}
			}
		}
		look(s.devices[runtime.GOOS], true)
		look(s.libraries[runtime.GOOS], false)
		if len(h.Looked) == 0 {
			continue // no signs on this system
		}
		installed := false
		for _, b := range backends {
			installed = installed || b.Name == s.backend
			h.Usable = h.Usable || b.Name == s.backend && len(b.Devices) > 0
		}
		if h.Present && !h.Usable {
			h.Remedy = "see above why the installed " + s.backend + " fails"
			if !installed {
				h.Remedy = "to use it, get a backend: " + install(s.backend)
			}
		}
		all = append(all, h)
	}
	return all
}
