package rocm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// compiling is the emulated driver with the properties of an AMD device. It passes the text of each kernel to compile; the interpreter runs the kernel.
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

// instructions matches the first line of each kernel in the assembly of clang.
var instructions = regexp.MustCompile(`(?m)^k\d+_\w+:`)

// byClang compiles for an architecture with clang-19, the HIP header and the bitcode of the ROCm device libraries. isa names the
// oclc_isa_version bitcode to link. ROCm 5.2.3 has none for gfx942 and gfx1100; that of gfx940 and gfx1036 has the same values for
// everything the kernels read.
func byClang(t *testing.T, arch, isa, wave64 string) func(text string) error {
	assemble := assembler(t, arch, isa, wave64)
	return func(text string) error {
		_, err := assemble(text)
		return err
	}
}

// assembler is like byClang, but its function also returns the assembly.
func assembler(t *testing.T, arch, isa, wave64 string) func(text string) (string, error) {
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("no clang-19: apt-get install clang-19")
	}
	if _, err := os.Stat("/usr/include/hip/hip_runtime.h"); err != nil {
		t.Skip("no HIP header: apt-get install libamdhip64-dev")
	}
	found, _ := filepath.Glob("/usr/lib/*/amdgcn/bitcode/ocml.bc") // the pattern is sound
	if found == nil {
		t.Skip("no ROCm bitcode: apt-get install rocm-device-libs")
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
	return func(text string) (string, error) {
		// The text and the compiler agree on the size of waves.
		cmd := exec.Command(clang, append(args, "-S", "-o", "-", "-")...)
		cmd.Stdin = strings.NewReader(text + "\nstatic_assert(WAVE == " + wave + " && __AMDGCN_WAVEFRONT_SIZE == " + wave + ", \"wave\");\n")
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%w\n%s", err, said.String())
		}
		if want, got := strings.Count(text, "__global__ __launch_bounds__"), len(instructions.FindAll(out, -1)); got != want || !strings.Contains(string(out), arch) {
			return "", fmt.Errorf("instructions of %d kernels, want %d, for %s", got, want, arch)
		}
		return string(out), nil
	}
}

// TestMatrixInstructions checks that clang compiles products and attention of 16-bit floats to the matrix instructions of each family. With
// BURN_HIP=full it compiles the gradients of attention too.
func TestMatrixInstructions(t *testing.T) {
	for _, c := range []struct {
		arch, isa, wave64, half, brain string
		types                          []dtype.DType
	}{
		{"gfx90a", "90a", "on", "v_mfma_f32_16x16x16f16", "v_mfma_f32_16x16x16bf16_1k", []dtype.DType{dtype.BF16}},
		{"gfx942", "940", "on", "v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x16_bf16", []dtype.DType{dtype.F16}},
		{"gfx1100", "1036", "off", "v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", []dtype.DType{dtype.BF16}},
		{"gfx1201", "1036", "off", "v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", []dtype.DType{dtype.F16}},
	} {
		t.Run(c.arch, func(t *testing.T) {
			t.Parallel()
			assemble := assembler(t, c.arch, c.isa, c.wave64)
			f := facts{architecture: c.arch, units: 104, wave: map[string]int{"on": 64, "off": 32}[c.wave64], threads: 1024, resident: 2048, shared: 64 << 10}
			for _, d := range c.types {
				x := template.Operand{Type: d, View: shape.Contiguous(shape.Of(256, 256))}
				product, err := template.Product{M: 256, N: 256, K: 256, A: x, B: x, Compute: dtype.F32, Out: []template.Operand{x}}.Build(f.target())
				require.NoError(t, err)
				q := template.Operand{Type: d, View: shape.Contiguous(shape.Of(1, 1, 128, 64))}
				a := template.Attention{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 128, Keys: 128, Width: 64, ValueWidth: 64, Scale: 0.125}
				attention := template.Attend(f.target(), a, []template.Operand{q, q, q}, q)
				launches := slices.Concat(product.Launches, attention.Launches)
				if os.Getenv("BURN_HIP") == "full" {
					launches = append(launches, template.AttendBackward(f.target(), a, []template.Operand{q, q, q, q, q}, []template.Operand{q, q, q}).Launches...)
				}
				for _, l := range launches {
					text, err := dialect.HIP.Print([]*ir.Kernel{l.Kernel})
					require.NoError(t, err)
					out, err := assemble(text)
					require.NoError(t, err)
					instruction := map[dtype.DType]string{dtype.F16: c.half, dtype.BF16: c.brain}[d]
					require.Contains(t, out, instruction, l.Kernel.Name)
					t.Logf("%v %s: %d of %s, %s", d, l.Kernel.Name, strings.Count(out, instruction), instruction, strings.Join(registers.FindAllString(out, -1), ", "))
				}
			}
		})
	}
}

// registers matches clang's comments on the registers of a kernel.
var registers = regexp.MustCompile(`; (NumVgprs|ScratchSize): \d+`)

// byHiprtc compiles for an architecture with the installed hiprtc, in child processes.
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

// byLibrary is like byHiprtc, with the hiprtc in file.
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

// byNVRTC compiles for NVIDIA GPUs as testdata/shim/nvrtc.c does, with the NVRTC that BURN_NVRTC names.
func byNVRTC(t *testing.T, arch string) func(text string) error {
	lib := os.Getenv("BURN_NVRTC")
	if lib == "" {
		t.Skip("BURN_NVRTC names no libnvrtc.so: get one with pip download nvidia-cuda-nvrtc")
	}
	t.Setenv("BURN_HIPSHIM_NVRTC", lib)
	return byLibrary(t, nvidia(t, "nvrtc.c", "libhiprtc.so.6"), arch)
}

// nvidia builds a library of testdata/shim that forwards to an NVIDIA library.
func nvidia(t *testing.T, source, library string) string {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc, which builds the libraries that forward to NVIDIA's")
	}
	home, err := filepath.Abs(filepath.Join("testdata", "shim"))
	require.NoError(t, err)
	t.Setenv("BURN_HIPSHIM", home)
	file := filepath.Join(t.TempDir(), library)
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", file, filepath.Join(home, source), "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// TestForwardingRuntime checks that the runtime over NVIDIA's driver exports all functions that the plugin binds, and reports ErrNoDevice without
// a driver.
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

// collected is a set of texts that are compiled many at a time, because compilers spend most of their time on headers.
type collected struct {
	by    func(text string) error
	mu    sync.Mutex // guards the fields below
	known map[[32]byte]bool
	texts []string
}

func (c *collected) add(text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := sha256.Sum256([]byte(text)); !c.known[key] {
		c.known[key] = true
		c.texts = append(c.texts, text)
	}
	return nil
}

// kernelNames matches the beginning of a kernel's declaration.
var kernelNames = regexp.MustCompile(`void k(\d+)_`)

// compile compiles all texts in batches, each text in its own namespace and with renamed kernels. If a batch fails, its texts are compiled
// one by one.
func (c *collected) compile(t *testing.T) {
	for batch := range slices.Chunk(c.texts, 24) {
		var w strings.Builder
		for i, text := range batch {
			fmt.Fprintf(&w, "namespace text%d {\n%s\n}\n", i, kernelNames.ReplaceAllString(text, fmt.Sprintf("void k%d_${1}_", i)))
		}
		whole := c.by(w.String())
		if whole == nil {
			continue
		}
		for _, text := range batch {
			if err := c.by(text); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		}
		if !t.Failed() {
			t.Errorf("the sources compile separately but not together: %v", whole)
		}
	}
}

// types are the dtypes whose plain cases the short form of TestKernelsCompile compiles, one of each op and dtype.
var types = []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.I32, dtype.I16, dtype.I8, dtype.U64, dtype.U32, dtype.U16, dtype.U8, dtype.Bool}

// TestKernelsCompile compiles the kernels of a sample of the conformance suite to machine code, and runs them in the interpreter. It is
// skipped unless BURN_HIP is set. With BURN_HIP=short, each compiler available in CI compiles a plain case of each op and type. Otherwise
// every compiler compiles a sample of the cases that match a pattern in BURN_HIP_RUN: one in BURN_HIP_SAMPLE (1024 by default), but at least
// one per op.
func TestKernelsCompile(t *testing.T) {
	form := os.Getenv("BURN_HIP")
	if form == "" {
		t.Skip("it takes minutes: make hip")
	}
	o := conformance.Options{Sample: 1024, Shrink: -1}
	if text := os.Getenv("BURN_HIP_SAMPLE"); text != "" {
		var err error
		o.Sample, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	patterns := strings.Fields(os.Getenv("BURN_HIP_RUN"))
	if form == "short" {
		o.Sample, patterns = 1<<20, nil
		for _, d := range types { // a sample has one case of an op, so each type is a sample by itself
			patterns = append(patterns, "^[a-z0-9_]+/"+d.String()+"/[^/]+/plain$")
		}
	}
	if len(patterns) == 0 {
		patterns = []string{""}
	}
	for _, c := range []struct {
		name  string
		wave  int
		short bool // whether the short form uses it
		by    func(t *testing.T) func(text string) error
	}{
		{"clang/gfx942", 64, true, func(t *testing.T) func(string) error { return byClang(t, "gfx942", "940", "on") }},
		{"clang/gfx1100", 32, true, func(t *testing.T) func(string) error { return byClang(t, "gfx1100", "1036", "off") }},
		{"hiprtc/gfx90a", 64, true, func(t *testing.T) func(string) error { return byHiprtc(t, "gfx90a") }},
		{"hiprtc/gfx942", 64, false, func(t *testing.T) func(string) error { return byHiprtc(t, "gfx942") }},
		{"hiprtc/gfx1100", 32, false, func(t *testing.T) func(string) error { return byHiprtc(t, "gfx1100") }},
		{"nvrtc/gfx90a", 64, false, func(t *testing.T) func(string) error { return byNVRTC(t, "gfx90a") }},
		{"nvrtc/gfx1100", 32, false, func(t *testing.T) func(string) error { return byNVRTC(t, "gfx1100") }},
	} {
		if form == "short" && !c.short {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if !strings.HasPrefix(c.name, "nvrtc") { // byNVRTC calls t.Setenv, which excludes t.Parallel
				t.Parallel()
			}
			texts := &collected{by: c.by(t), known: map[[32]byte]bool{}}
			f := facts{architecture: path.Base(c.name), units: 104, wave: c.wave, threads: 1024, resident: 2048, shared: 64 << 10, grid: [3]int{1<<31 - 1, 65535, 65535}}
			driver := compiling{emulated.New(emulated.Options{Target: f.target()}), texts.add}
			o := o
			for _, o.Run = range patterns {
				conformance.Run(t, func() (core.Backend, error) { return gpu.New(driver, gpu.Options{NoCache: true}), nil }, o)
			}
			texts.compile(t)
			t.Logf("%d texts were compiled", len(texts.known))
		})
	}
}

// TestHiprtcAborts checks that if hiprtc ends its process for an unknown device, as Debian's 5.2.3 does, only that compilation fails.
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
