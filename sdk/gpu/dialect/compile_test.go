package dialect

import (
	"os"
	"os/exec"
	"path/filepath"
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

// Every text compiles to machine code, without a warning.
func TestNVRTC(t *testing.T) {
	program, library := compiler(t)
	var kernels []*ir.Kernel
	for _, s := range samples() {
		kernels = append(kernels, s.kernel)
	}
	for _, arch := range []string{"sm_80", "sm_90a"} {
		t.Run(arch, func(t *testing.T) {
			t.Parallel()
			text, err := CUDA.Print(kernels)
			require.NoError(t, err)
			nvrtc(t, program, library, arch, text, CUDA.Options)
		})
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
