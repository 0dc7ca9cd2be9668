package rocm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// compiling is the emulated driver with the properties of a device of AMD's, which compiles all kernels before the interpreter runs them.
type compiling struct {
	gpu.Driver
	compile func(text string) error
}

type compilingDevice struct {
	gpu.Device
	gpu.Grapher
	compile func(text string) error
}

func (c compiling) Open(ctx context.Context, index int) (gpu.Device, error) {
	d, err := c.Driver.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	return compilingDevice{d, d.(gpu.Grapher), c.compile}, nil
}

func (d compilingDevice) Dialect() *dialect.Dialect { return dialect.HIP }

func (d compilingDevice) Compile(_ context.Context, text string) ([]byte, error) {
	return []byte{1}, d.compile(text)
}

func (d compilingDevice) Load(_ []byte, kernels []*ir.Kernel) ([]gpu.Function, error) {
	return d.Device.Load(nil, kernels)
}

// instructions matches the first line of each kernel in the assembler's text of clang.
var instructions = regexp.MustCompile(`(?m)^k\d+_\w+:`)

// byClang compiles for an architecture with clang-19, HIP's header and the bitcode of ROCm's device libraries, isa being the version of
// instructions whose constants are linked: 5.2.3 has those of gfx940 and gfx1036 for gfx942 and gfx1100, with which they agree in what
// kernels read.
func byClang(t *testing.T, arch, isa, wave64 string) func(text string) error {
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("no clang-19: apt-get install clang-19")
	}
	if _, err := os.Stat("/usr/include/hip/hip_runtime.h"); err != nil {
		t.Skip("no header of HIP: apt-get install libamdhip64-dev")
	}
	found, _ := filepath.Glob("/usr/lib/*/amdgcn/bitcode/ocml.bc") // the pattern is sound
	if found == nil {
		t.Skip("no bitcode of ROCm's: apt-get install rocm-device-libs")
	}
	args := append([]string{"-x", "hip", "-nogpulib", "--offload-device-only", "--no-gpu-bundle-output", "--offload-arch=" + arch, "-O3", "-include", "hip/hip_runtime.h"}, dialect.HIP.Options...)
	for _, name := range []string{"ocml", "ockl", "oclc_abi_version_500", "oclc_correctly_rounded_sqrt_on", "oclc_daz_opt_off", "oclc_finite_only_off", "oclc_unsafe_math_off",
		"oclc_wavefrontsize64_" + wave64, "oclc_isa_version_" + isa} {
		args = append(args, "-Xclang", "-mlink-builtin-bitcode", "-Xclang", filepath.Join(filepath.Dir(found[0]), name+".bc"))
	}
	wave := "64"
	if wave64 == "off" {
		wave = "32"
	}
	return func(text string) error {
		// The text and the compiler agree on the size of waves.
		cmd := exec.Command(clang, append(args, "-S", "-o", "-", "-")...)
		cmd.Stdin = strings.NewReader(text + "\nstatic_assert(WAVE == " + wave + " && __AMDGCN_WAVEFRONT_SIZE == " + wave + ", \"wave\");\n")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, said.String())
		}
		if want, got := strings.Count(text, "__global__ __launch_bounds__"), len(instructions.FindAll(out, -1)); got != want || !strings.Contains(string(out), arch) {
			return fmt.Errorf("instructions of %d kernels, want %d, for %s", got, want, arch)
		}
		return nil
	}
}

// byHiprtc compiles for an architecture with the hiprtc that is found, in children.
func byHiprtc(t *testing.T, arch string) func(text string) error {
	program, err := os.Executable()
	require.NoError(t, err)
	found, err := child.Probe(program, child.Question{})
	require.NoError(t, err)
	row := found.Row(amd.Compiler.Key)
	if row.Err != nil {
		t.Skipf("no hiprtc: %s", row.Missing())
	}
	t.Logf("hiprtc %s of %s", row.Version, row.Path)
	by := byLibrary(t, row.Path, arch)
	text, err := dialect.HIP.Print([]*ir.Kernel{scale()})
	require.NoError(t, err)
	if err := by(text); err != nil && strings.Contains(err.Error(), "ended the process") {
		t.Skipf("this hiprtc does not know %s: %v", arch, err)
	}
	return by
}

// byLibrary is byHiprtc of a file.
func byLibrary(t *testing.T, file, arch string) func(text string) error {
	program, err := os.Executable()
	require.NoError(t, err)
	c := &child.Compilers{Program: program, Name: "hiprtc", Library: file, Hint: "a newer ROCm may know this device"}
	t.Cleanup(c.Close)
	return func(text string) error {
		code, err := c.Compile(t.Context(), text, append([]string{"--offload-arch=" + arch}, dialect.HIP.Options...))
		if err == nil && !strings.HasPrefix(string(code), "\x7fELF") && !strings.HasPrefix(string(code), "__CLANG_OFFLOAD_BUNDLE__") {
			err = errors.New("no machine code")
		}
		return err
	}
}

// byNVRTC compiles for NVIDIA's GPUs as testdata/shim/nvrtc.c does, with the NVRTC that BURN_NVRTC names.
func byNVRTC(t *testing.T, arch string) func(text string) error {
	lib := os.Getenv("BURN_NVRTC")
	if lib == "" {
		t.Skip("BURN_NVRTC names no libnvrtc.so: get one with pip download nvidia-cuda-nvrtc")
	}
	t.Setenv("BURN_HIPSHIM_NVRTC", lib)
	return byLibrary(t, nvidia(t, "nvrtc.c", "libhiprtc.so.6"), arch)
}

// nvidia builds a library of testdata/shim that forwards to NVIDIA's.
func nvidia(t *testing.T, source, library string) string {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build the libraries with that forward to NVIDIA's")
	}
	home, err := filepath.Abs(filepath.Join("testdata", "shim"))
	require.NoError(t, err)
	t.Setenv("BURN_HIPSHIM", home)
	file := filepath.Join(t.TempDir(), library)
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", file, filepath.Join(home, source), "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// The runtime over NVIDIA's driver has all functions that the plugin binds, and says that there is no device where there is no driver.
func TestForwardingRuntime(t *testing.T) {
	h, err := amd.LoadHIP(nvidia(t, "cuda.c", "libamdhip64.so.6"))
	require.NotNil(t, h, "%v", err)
	require.Equal(t, 60241133, h.Version)
	if err != nil {
		require.ErrorIs(t, err, vendor.ErrNoDevice)
	}
	by := byNVRTC(t, "gfx90a")
	text, err := dialect.HIP.Print([]*ir.Kernel{scale()})
	require.NoError(t, err)
	require.NoError(t, by(text))
	require.ErrorIs(t, by("no program"), core.ErrKernel)
}

// TestKernelsCompile compiles the kernels of a sample of the conformance suite to machine code, and runs them in the interpreter. It is run
// where BURN_HIP is set: one case in BURN_HIP_SAMPLE is taken, 1024 by default, of those that BURN_HIP_RUN matches.
func TestKernelsCompile(t *testing.T) {
	if os.Getenv("BURN_HIP") == "" {
		t.Skip("it takes minutes: make hip")
	}
	o := conformance.Options{Run: os.Getenv("BURN_HIP_RUN"), Sample: 1024, Shrink: -1}
	if text := os.Getenv("BURN_HIP_SAMPLE"); text != "" {
		var err error
		o.Sample, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		name string
		wave int
		by   func(t *testing.T) func(text string) error
	}{
		{"clang/gfx942", 64, func(t *testing.T) func(string) error { return byClang(t, "gfx942", "940", "on") }},
		{"clang/gfx1100", 32, func(t *testing.T) func(string) error { return byClang(t, "gfx1100", "1036", "off") }},
		{"hiprtc/gfx90a", 64, func(t *testing.T) func(string) error { return byHiprtc(t, "gfx90a") }},
		{"hiprtc/gfx942", 64, func(t *testing.T) func(string) error { return byHiprtc(t, "gfx942") }},
		{"hiprtc/gfx1100", 32, func(t *testing.T) func(string) error { return byHiprtc(t, "gfx1100") }},
		{"nvrtc/gfx90a", 64, func(t *testing.T) func(string) error { return byNVRTC(t, "gfx90a") }},
		{"nvrtc/gfx1100", 32, func(t *testing.T) func(string) error { return byNVRTC(t, "gfx1100") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.HasPrefix(c.name, "nvrtc") { // which sets the environment
				t.Parallel()
			}
			by := c.by(t)
			var mu sync.Mutex
			known := map[[32]byte]error{}
			compile := func(text string) error {
				key := sha256.Sum256([]byte(text))
				mu.Lock()
				err, ok := known[key]
				mu.Unlock()
				if ok {
					return err
				}
				if err = by(text); err != nil {
					t.Errorf("%v\n%s", err, text)
					err = fmt.Errorf("%w: %w", core.ErrKernel, err)
				}
				mu.Lock()
				known[key] = err
				mu.Unlock()
				return err
			}
			f := facts{architecture: c.name, units: 104, wave: c.wave, threads: 1024, resident: 2048, shared: 64 << 10, grid: [3]int{1<<31 - 1, 65535, 65535}}
			driver := compiling{emulated.New(emulated.Options{Target: f.target()}), compile}
			conformance.Run(t, func() (core.Backend, error) { return gpu.New(driver, gpu.Options{NoCache: true}), nil }, o)
			t.Logf("%d texts were compiled", len(known))
		})
	}
}

// An hiprtc that ends the process at a device that it does not know is an error of that compilation alone. Debian's 5.2.3 does so.
func TestHiprtcAborts(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	found, err := child.Probe(program, child.Question{})
	require.NoError(t, err)
	row := found.Row(amd.Compiler.Key)
	if row.Err != nil {
		t.Skipf("no hiprtc: %s", row.Missing())
	}
	text, err := dialect.HIP.Print([]*ir.Kernel{scale()})
	require.NoError(t, err)
	by := byLibrary(t, row.Path, "gfx1100")
	for range 2 {
		if err := by(text); err != nil {
			require.ErrorContains(t, err, "ended the process that it compiled in")
			require.ErrorIs(t, err, core.ErrKernel)
		}
	}
	by = byLibrary(t, row.Path, "gfx90a")
	require.NoError(t, by(text))
	err = by("no program")
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorContains(t, err, "error: unknown type name 'no'")
	require.NoError(t, by(text))
}
