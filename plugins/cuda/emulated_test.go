package cuda

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// machine is the driver over a libcuda that was built from testdata and has the interpreter run its kernels: everything between
// sdk/gpu and NVIDIA's driver is the real thing.
type machine struct {
	*driver
	left func() int64

	mu      sync.Mutex // guards what follows
	kernels map[string]*ir.Kernel
	blocks  map[*memory]bool
	images  int
	err     error // of a kernel
	ran     int
}

// emulatedDevice is a device of a machine.
type emulatedDevice struct {
	*device
	m *machine
}

func newMachine(t *testing.T) *machine {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc to build a libcuda with")
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "libcuda.so.1")
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-o", file, filepath.Join("testdata", "cuda.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	libs := nv.Open(nv.Search{Only: folder})
	require.NotNil(t, libs.Driver, "%s", libs.Report)
	m := &machine{kernels: map[string]*ir.Kernel{}, blocks: map[*memory]bool{}}
	m.driver, err = newDriver(libs, "")
	require.NoError(t, err)
	handle, err := purego.Dlopen(file, purego.RTLD_NOW)
	require.NoError(t, err)
	var emulate func(run, count uintptr)
	purego.RegisterLibFunc(&emulate, handle, "emulate")
	purego.RegisterLibFunc(&m.left, handle, "emulate_left")
	emulate(purego.NewCallback(m.run), purego.NewCallback(m.count))
	return m
}

func (m *machine) Open(ctx context.Context, index int) (gpu.Device, error) {
	d, err := m.driver.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	return emulatedDevice{d.(*device), m}, nil
}

func (d emulatedDevice) Compile(context.Context, string) ([]byte, error) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	d.m.images++
	return fmt.Appendf(nil, "\x7f%d\x00", d.m.images), nil
}

func (d emulatedDevice) Load(code []byte, kernels []*ir.Kernel) ([]gpu.Function, error) {
	d.m.mu.Lock()
	for i, k := range kernels {
		if k != nil {
			d.m.kernels[string(code[:len(code)-1])+"#"+dialect.Symbol(i, k)] = k
		}
	}
	d.m.mu.Unlock()
	return d.device.Load(code, kernels)
}

func (d emulatedDevice) Alloc(bytes int64) (gpu.Memory, error) {
	x, err := d.device.Alloc(bytes)
	if err == nil {
		d.m.mu.Lock()
		d.m.blocks[x.(*memory)] = true
		d.m.mu.Unlock()
	}
	return x, err
}

func (d emulatedDevice) Free(x gpu.Memory) {
	d.m.mu.Lock()
	delete(d.m.blocks, x.(*memory))
	d.m.mu.Unlock()
	d.device.Free(x)
}

func name(p *byte) string {
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// count is the number of parameters of a function, or -1.
func (m *machine) count(f *byte) uintptr {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kernels[name(f)]
	if k == nil {
		return ^uintptr(0)
	}
	return uintptr(len(k.Params))
}

// run runs a kernel: 0, or 1 for a fault.
func (m *machine) run(f *byte, dims *[7]uint32, params *[64]*uint64) uintptr {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ran++
	if m.err = m.interpret(m.kernels[name(f)], dims, params); m.err != nil {
		return 1
	}
	return 0
}

func (m *machine) interpret(k *ir.Kernel, dims *[7]uint32, params *[64]*uint64) error {
	if int(dims[3]) != k.Threads || dims[4] != 1 || dims[5] != 1 || int(dims[6]) != dialect.CUDA.Dynamic(k) {
		return fmt.Errorf("kernel %s: launched with %v", k.Name, dims)
	}
	x := ir.Launch{Kernel: k, Grid: [3]int{int(dims[0]), int(dims[1]), int(dims[2])}}
	var data [][]byte
	var sizes []int64
	for i, p := range k.Params {
		bits := *params[i]
		if !p.IsBuffer() {
			x.Args = append(x.Args, ir.Arg{Bits: bits})
			continue
		}
		found := false
		for b := range m.blocks {
			if at := nv.Ptr(bits); at >= b.at && at <= b.at+nv.Ptr(b.bytes) {
				x.Args = append(x.Args, ir.Arg{Slot: len(data), Offset: int64(at - b.at)})
				data = append(data, unsafe.Slice(*(**byte)(unsafe.Pointer(&b.at)), b.bytes))
				sizes = append(sizes, b.bytes)
				found = true
				break
			}
		}
		if !found {
			return fmt.Errorf("kernel %s: %s is at %#x, where no memory is", k.Name, p.Name, bits)
		}
	}
	t := h200.target()
	limits := ir.Limits{Threads: t.Threads, Shared: t.Shared, Subgroup: t.Subgroup, Grid: t.Grid, Wide: t.Wide, Types: t.Types, Math: t.Math, Atomics: t.Atomics, MMA: t.MMA}
	if err := ir.Check(x, sizes, limits); err != nil {
		return err
	}
	return interp.Run(x, data, interp.Options{Subgroup: t.Subgroup})
}

// TestEmulated compares the backend with the reference, its kernels run by the interpreter, and looks that nothing is left.
func TestEmulated(t *testing.T) {
	m := newMachine(t)
	o := conformance.Options{Run: "^(add|full|iota|concat|softmax|matmul|where|gather|sum|fused|cast|stream|program|memory)/", Sample: 32, Shrink: -1}
	conformance.Run(t, func() (core.Backend, error) { return gpu.New(m, gpu.Options{NoCache: true}), nil }, o)
	require.NoError(t, m.err)
	require.Positive(t, m.ran)
	require.Eventually(t, func() bool { return m.left() == 0 }, 10*time.Second, 10*time.Millisecond, "%d allocations and events are left", m.left())
}

// scale is x[i] = a·x[i] for n elements.
func scale() *ir.Kernel {
	b := ir.New("scale", 64)
	x := b.Buffer("x", dtype.F32, ir.Read|ir.Write)
	n, a := b.Scalar("n", dtype.I32), b.Scalar("a", dtype.F32)
	i := b.Add(b.Mul(b.Block(0), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() { b.Store(x, i, b.Mul(a, b.Load(x, i))) })
	return b.Kernel()
}

// rig is an opened device with a queue and the kernel scale.
type rig struct {
	gpu.Device
	gpu.Queue
	f gpu.Function
}

func newRig(t *testing.T, m *machine) rig {
	d, err := m.Open(t.Context(), 0)
	require.NoError(t, err)
	q, err := d.OpenQueue()
	require.NoError(t, err)
	code, err := d.Compile(t.Context(), "")
	require.NoError(t, err)
	fs, err := d.Load(code, []*ir.Kernel{nil, scale()})
	require.NoError(t, err)
	require.Nil(t, fs[0])
	return rig{d, q, fs[1]}
}

func (r rig) scale(x gpu.Ref, n int, a float32) *gpu.Launch {
	return &gpu.Launch{Function: r.f, Grid: [3]int{(n + 63) / 64, 1, 1}, Args: []gpu.Arg{{Ref: x}, {Bits: uint64(n)}, {Bits: uint64(*(*uint32)(unsafe.Pointer(&a)))}}}
}

// TestGraph makes a graph of all kinds of steps, in an order that dependencies say, and changes each.
func TestGraph(t *testing.T) {
	m := newMachine(t)
	r := newRig(t, m)
	block, err := r.Alloc(4096)
	require.NoError(t, err)
	at := func(element int) gpu.Ref { return gpu.Ref{Memory: block, Offset: int64(4 * element)} }
	const one, two = 0x3f800000, 0x40000000
	g, err := r.Device.(gpu.Grapher).NewGraph([]gpu.Step{
		{Fill: &gpu.Fill{Dst: at(0), Bytes: 40, Pattern: one, Width: 4}},
		{Fill: &gpu.Fill{Dst: at(100), Bytes: 40, Pattern: two, Width: 4}, After: []int{}},
		{Launch: r.scale(at(0), 10, 3), After: []int{0}},
		{Copy: &gpu.Copy{Dst: at(10), Src: at(0), Bytes: 40}, After: []int{1, 2}},
	})
	require.NoError(t, err)
	read := func(element int) float32 {
		v := make([]float32, 1)
		require.NoError(t, r.Download(dtype.Bytes(v), at(element)))
		require.NoError(t, r.Synchronize())
		return v[0]
	}
	require.NoError(t, g.Launch(r.Queue))
	require.Equal(t, []float32{3, 3, 2}, []float32{read(0), read(19), read(109)})
	require.NoError(t, g.Update(0, gpu.Step{Fill: &gpu.Fill{Dst: at(0), Bytes: 40, Pattern: two, Width: 4}}))
	require.NoError(t, g.Update(2, gpu.Step{Launch: r.scale(at(100), 10, 5)}))
	require.NoError(t, g.Update(3, gpu.Step{Copy: &gpu.Copy{Dst: at(200), Src: at(100), Bytes: 40}}))
	require.NoError(t, g.Launch(r.Queue))
	require.Equal(t, []float32{2, 10, 10}, []float32{read(0), read(109), read(209)})
	require.ErrorIs(t, g.Update(0, gpu.Step{Call: &gpu.Call{}}), core.ErrUnsupported)
	g.Close()
	_, err = r.Device.(gpu.Grapher).NewGraph([]gpu.Step{{}})
	require.Error(t, err)
	r.Free(block)
	r.f.Unload()
	r.Queue.Close()
	r.Device.Close()
	require.Zero(t, m.left())
}

// A fault ends the device, and the error names what was started last.
func TestFault(t *testing.T) {
	r := newRig(t, newMachine(t))
	block, err := r.Alloc(40)
	require.NoError(t, err)
	_, err = r.Alloc(1 << 40)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	x := gpu.Ref{Memory: block}
	require.NoError(t, r.Fill(x, 40, 0, 4))
	require.NoError(t, r.Queue.Launch(r.scale(x, 10, 1)))
	require.NoError(t, r.Synchronize())
	require.NoError(t, r.Queue.Launch(r.scale(x, 11, 1)), "the fault is seen later")
	err = r.Synchronize()
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "kernel scale")
	require.ErrorContains(t, err, "an illegal memory access was encountered")
	require.ErrorIs(t, r.Fill(x, 4, 0, 4), core.ErrBackendLost)
	require.ErrorContains(t, r.Queue.Launch(&gpu.Launch{Function: r.f}), "0 arguments, want 3")
}
