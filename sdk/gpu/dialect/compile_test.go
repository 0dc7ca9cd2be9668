package dialect

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/sdk/gpu/ir"
)

// compiler builds the program in testdata that calls NVRTC. BURN_NVRTC names the library; there is none in the tree.
func compiler(t *testing.T) (program, library string) {
	library = os.Getenv("BURN_NVRTC")
	if library == "" {
		t.Skip("BURN_NVRTC names no libnvrtc.so: get one with pip download nvidia-cuda-nvrtc-cu12")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to call NVRTC with")
	}
	program = filepath.Join(t.TempDir(), "nvrtc")
	out, err := exec.Command(cc, "-O1", "-o", program, filepath.Join("testdata", "nvrtc.c"), "-ldl").CombinedOutput()
	require.NoError(t, err, string(out))
	return program, library
}

// TestNVRTC checks that every text of CUDA C++ compiles to machine code without a warning, and so does every text of HIP, for each family of
// AMD's architectures, after the headers that the tests of plugins/rocm put before it.
func TestNVRTC(t *testing.T) {
	program, library := compiler(t)
	before := ""
	for _, name := range []string{"nvidia.h", "matrix.h"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "plugins", "rocm", "testdata", "shim", name))
		require.NoError(t, err)
		before += string(text)
	}
	for _, d := range []*Dialect{CUDA, HIP} {
		var kernels []*ir.Kernel
		for _, s := range samples() {
			if !slices.Contains(strings.Fields(s.lacking), d.Name) {
				kernels = append(kernels, s.kernel)
			}
		}
		if d == CUDA {
			kernels = append(kernels, largest(t, false)...)
		} else {
			kernels = append(kernels, largest(t, true)...)
		}
		for _, arch := range []string{"sm_80", "sm_90a"} {
			t.Run(d.Name+"/"+arch, func(t *testing.T) {
				t.Parallel()
				text, err := d.Print(kernels)
				require.NoError(t, err)
				if d == CUDA {
					nvrtc(t, program, library, arch, text, CUDA.Options)
					return
				}
				for _, u := range matrixUnits {
					nvrtc(t, program, library, arch, before+text, append(slices.Clone(CUDA.Options), "-D"+u.macro))
				}
			})
		}
	}
}

func nvrtc(t *testing.T, program, library, arch, text string, options []string) {
	file := filepath.Join(t.TempDir(), "kernels.cu")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	args := append([]string{library, arch, file, file + "bin"}, options...)
	log, err := exec.Command(program, args...).CombinedOutput()
	require.NoError(t, err, string(log))
	var warnings []string
	for _, l := range strings.Split(string(log), "\n") {
		if strings.Contains(l, "warning") {
			warnings = append(warnings, l)
		}
	}
	require.Empty(t, warnings)
}

// TestNaga checks that every text of WGSL is valid. BURN_NAGA names the naga program; there is none in the tree.
func TestNaga(t *testing.T) {
	naga := os.Getenv("BURN_NAGA")
	if naga == "" {
		t.Skip("BURN_NAGA names no naga: get it with cargo install naga-cli")
	}
	kernels := largest(t, true)
	for _, s := range samples() {
		if !slices.Contains(strings.Fields(s.lacking), WGSL.Name) {
			kernels = append(kernels, s.kernel)
		}
	}
	for _, k := range kernels {
		text, err := WGSL.Print([]*ir.Kernel{k})
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "kernel.wgsl")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		log, err := exec.Command(naga, file).CombinedOutput()
		require.NoError(t, err, string(log))
	}
}
