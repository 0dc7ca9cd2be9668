package rocm

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/child"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// compiles skips the test without clang, which compiles kernels for the processor.
func compiles(t *testing.T) {
	if os.Getenv("BURN_HIPSHIM_CC") == "" {
		t.Skip("no clang to make kernels for the processor with")
	}
}

// counts returns the counters of the runtime that replaces ROCm's: objects that are left and calls that were wrong.
func counts(t *testing.T, root string) (left, wrong func() int64) {
	handle, err := purego.Dlopen(filepath.Join(root, "lib", "libamdhip64.so.6"), purego.RTLD_NOW)
	require.NoError(t, err)
	purego.RegisterLibFunc(&left, handle, "shim_left")
	purego.RegisterLibFunc(&wrong, handle, "shim_wrong")
	return left, wrong
}

// kinds matches cases of one op for each kind of kernel.
const kinds = `^(add|cast|sum|softmax|cumsum|sort|gather|scatter|matmul|conv|attention|permute|random_bits)/(f32|bf16|i64|u32)/`

// TestShim compares the backend with the reference: its texts of HIP C++, compiled for the processor, run thread by thread in waves of 64
// and of 32, under a runtime that checks all calls. It runs one in BURN_ROCM_SAMPLE (2048 by default) of the cases that match
// BURN_ROCM_RUN, or kinds by default.
func TestShim(t *testing.T) {
	for _, arch := range []string{"gfx90a:sramecc+:xnack-", "gfx1100"} {
		t.Run(arch, func(t *testing.T) {
			root := shim(t, "BURN_HIPSHIM_ARCH="+arch)
			compiles(t)
			left, wrong := counts(t, root)
			o := conformance.Options{Run: cmp.Or(os.Getenv("BURN_ROCM_RUN"), kinds), Sample: 2048, Shrink: -1}
			if text := os.Getenv("BURN_ROCM_SAMPLE"); text != "" {
				var err error
				o.Sample, err = strconv.Atoi(text)
				require.NoError(t, err)
			}
			conformance.Run(t, func() (core.Backend, error) { return open(t) }, o)
			require.Zero(t, wrong(), "the runtime says on standard error which calls were wrong")
			require.Eventually(t, func() bool { return left() == 0 }, 10*time.Second, 10*time.Millisecond, "%d objects are left", left())
		})
	}
}

// scale returns a kernel that computes x[i] = a·x[i] for n elements.
func scale() *ir.Kernel {
	b := ir.New("scale", 64)
	x := b.Buffer("x", dtype.F32, ir.Read|ir.Write)
	n, a := b.Scalar("n", dtype.I32), b.Scalar("a", dtype.F32)
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() { b.Store(x, i, b.Mul(a, b.Load(x, i))) })
	return b.Kernel()
}

// TestGraph creates a graph of fills, a launch and a copy, ordered by dependencies, and updates a step of each kind.
func TestGraph(t *testing.T) {
	root := shim(t)
	compiles(t)
	left, wrong := counts(t, root)
	program, err := os.Executable()
	require.NoError(t, err)
	found, err := child.Probe(program, child.Question{})
	require.NoError(t, err)
	driver, err := newDriver(program, found)
	require.NoError(t, err)
	d, err := driver.Open(t.Context(), 0)
	require.NoError(t, err)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	text, err := d.Dialect().Print([]*ir.Kernel{scale()})
	require.NoError(t, err)
	code, err := d.Compile(t.Context(), text)
	require.NoError(t, err)
	_, err = d.Compile(t.Context(), "no program")
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorContains(t, err, "burn.hip:1:1: error: unknown type name 'no'")
	fs, err := d.Load(code, []*ir.Kernel{scale()})
	require.NoError(t, err)
	block, err := d.Alloc(4096)
	require.NoError(t, err)
	at := func(element int) gpu.Ref { return gpu.Ref{Memory: block, Offset: int64(4 * element)} }
	const one, two, three, five = 0x3f800000, 0x40000000, 0x40400000, 0x40a00000
	launch := func(x gpu.Ref, a uint64) *gpu.Launch {
		return &gpu.Launch{Function: fs[0], Grid: [3]int{1, 1, 1}, Args: []gpu.Arg{{Ref: x}, {Bits: 10}, {Bits: a}}}
	}
	g, err := d.(gpu.Grapher).NewGraph([]gpu.Step{
		{Fill: &gpu.Fill{Dst: at(0), Bytes: 40, Pattern: one, Width: 4}},
		{Fill: &gpu.Fill{Dst: at(100), Bytes: 40, Pattern: two, Width: 4}, After: []int{}},
		{Launch: launch(at(0), three), After: []int{0}},
		{Copy: &gpu.Copy{Dst: at(10), Src: at(0), Bytes: 40}, After: []int{1, 2}},
	})
	require.NoError(t, err)
	read := func(element int) float32 {
		v := make([]float32, 1)
		require.NoError(t, q.Download(dtype.Bytes(v), at(element)))
		require.NoError(t, q.Synchronize())
		return v[0]
	}
	require.NoError(t, g.Launch(q))
	require.Equal(t, []float32{3, 3, 2}, []float32{read(0), read(19), read(109)})
	require.NoError(t, g.Update(0, gpu.Step{Fill: &gpu.Fill{Dst: at(0), Bytes: 40, Pattern: two, Width: 4}}))
	require.NoError(t, g.Update(2, gpu.Step{Launch: launch(at(100), five)}))
	require.NoError(t, g.Update(3, gpu.Step{Copy: &gpu.Copy{Dst: at(200), Src: at(100), Bytes: 40}}))
	require.NoError(t, g.Launch(q))
	require.Equal(t, []float32{2, 10, 10}, []float32{read(0), read(109), read(209)})
	require.Zero(t, wrong())
	require.Error(t, q.Copy(at(1000), at(0), 400), "the runtime checks addresses")
	require.Equal(t, int64(1), wrong())
	g.Close()
	d.Free(block)
	fs[0].Unload()
	q.Close()
	d.Close()
	require.NoError(t, driver.Close())
	require.Zero(t, left())
}

// plugin builds the plugin's program.
func plugin(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "burn-backend-rocm")
	cmd := exec.Command("go", "build", "-o", file, "./cmd/burn-backend-rocm")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return file
}

// TestFaultsOfThePlugin plants faults below the plugin process and checks the error that the host gets for each.
func TestFaultsOfThePlugin(t *testing.T) {
	shim(t)
	compiles(t)
	file := plugin(t)
	for fault, c := range map[string]struct {
		elements int
		want     error
		says     string
	}{
		"":        {1000, nil, ""},
		"none":    {1000, core.ErrNotFound, "no device that it may use"},
		"version": {1000, core.ErrNotFound, "it is HIP 4.4.21401, want 5.2 to 7"},
		"init":    {1000, core.ErrNotFound, "SIGABRT: abort"},
		"queue":   {1000, core.ErrOutOfMemory, "hipStreamCreateWithPriority"},
		"oom":     {64 << 20, core.ErrOutOfMemory, "out of memory"},
		"compile": {1000, core.ErrKernel, "error: planted"},
		"abort":   {1000, core.ErrKernel, "ended the process that it compiled in"},
		"lost":    {1000, core.ErrBackendLost, ""},
	} {
		t.Run(fault, func(t *testing.T) {
			env := []string{"BURN_HIPSHIM_FAULT=" + fault}
			for _, name := range []string{"ROCM_PATH", "BURN_HIPSHIM", "BURN_HIPSHIM_CC", "PATH"} {
				env = append(env, name+"="+os.Getenv(name))
			}
			b, err := client.Start(t.Context(), file, client.Options{Env: env, Config: core.Config{Options: map[string]string{"cache": "off"}}})
			if err == nil {
				defer b.Close()
				err = compute(t, b, c.elements)
			}
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
		})
	}
}

// compute doubles a tensor of ones 20 times.
func compute(t *testing.T, b core.Backend, elements int) error {
	d, err := b.Open(t.Context(), 0)
	if err != nil {
		return err
	}
	s, err := d.OpenStream(t.Context())
	if err != nil {
		return err
	}
	x := op.Desc{ID: d.NewIDs(1), DType: dtype.F32, Shape: []int{elements}}
	ones := make([]float32, elements)
	for i := range ones {
		ones[i] = 1
	}
	if err := s.Write(t.Context(), x, dtype.Bytes(ones)); err != nil {
		return err
	}
	code, ok := op.ByName("add")
	require.True(t, ok)
	for range 20 {
		n, err := op.New(code, []op.Desc{x, x})
		require.NoError(t, err)
		n.Outputs[0].ID = d.NewIDs(1)
		if err := s.Submit([]op.Node{n}, []op.TensorID{x.ID}); err != nil {
			return err
		}
		x = n.Outputs[0]
	}
	if err := core.Read(t.Context(), s, x.ID, dtype.Bytes(ones)); err != nil {
		return err
	}
	require.Equal(t, float32(1<<20), ones[elements-1])
	return nil
}
