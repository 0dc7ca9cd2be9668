package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
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
	"github.com/goburn/burn/sdk/gpu/streams"
)

// machine is the real driver on a libcuda that is built from testdata and passes its kernels to the interpreter. Everything between
// sdk/gpu and NVIDIA's driver is production code.
type machine struct {
	*driver
	left func() int64

	mu      sync.Mutex // guards the fields below
	kernels map[string]*ir.Kernel
	blocks  map[*streams.Memory]bool
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
	m := &machine{kernels: map[string]*ir.Kernel{}, blocks: map[*streams.Memory]bool{}}
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
		d.m.blocks[x.(*streams.Memory)] = true
		d.m.mu.Unlock()
	}
	return x, err
}

func (d emulatedDevice) Free(x gpu.Memory) {
	d.m.mu.Lock()
	delete(d.m.blocks, x.(*streams.Memory))
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

// count returns the size in bytes of parameter number param of the function named f: 0 if it has no such parameter, -1 if there is no
// such function.
func (m *machine) count(f *byte, param uintptr) uintptr {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kernels[name(f)]
	switch i := int(int32(param)); {
	case k == nil:
		return ^uintptr(0)
	case i < len(k.Params):
		n := elementOf(k.Params[i])
		if k.Params[i].Each {
			n *= k.Members
		}
		return uintptr(n)
	case i == len(k.Params) && k.Members > 0:
		return uintptr(4 * (k.Members + 1))
	}
	return 0
}

func elementOf(p ir.Param) int {
	if p.IsBuffer() {
		return 8
	}
	return p.Type.Size()
}

// run interprets the kernel named f and returns 0, or 1 for a fault.
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
	var all []uint64 // the bits of each argument; signed integers are sign-extended
	for i, p := range k.Params {
		n, size := 1, elementOf(p)
		if p.Each {
			n = k.Members
		}
		for e := range n {
			var word [8]byte
			copy(word[:], unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(params[i]), e*size)), size))
			bits := binary.LittleEndian.Uint64(word[:])
			if p.Type.Class() == dtype.Signed && !p.IsBuffer() {
				shift := 64 - 8*size
				bits = uint64(int64(bits) << shift >> shift)
			}
			all = append(all, bits)
		}
	}
	if k.Members > 0 {
		starts := unsafe.Slice((*int32)(unsafe.Pointer(params[len(k.Params)])), k.Members+1)
		x.Starts = slices.Clone(starts[:k.Members])
		if starts[k.Members] != int32(dims[0]) {
			return fmt.Errorf("kernel %s: the last member ends at %d of %d", k.Name, starts[k.Members], dims[0])
		}
	}
	for i, p := range k.Arguments() {
		bits := all[i]
		if !p.IsBuffer() {
			x.Args = append(x.Args, ir.Arg{Bits: bits})
			continue
		}
		found := false
		for b := range m.blocks {
			if at := nv.Ptr(bits); at >= b.At() && at <= b.At()+nv.Ptr(b.Bytes()) {
				start := b.At()
				x.Args = append(x.Args, ir.Arg{Slot: len(data), Offset: int64(at - start)})
				data = append(data, unsafe.Slice(*(**byte)(unsafe.Pointer(&start)), b.Bytes()))
				sizes = append(sizes, b.Bytes())
				found = true
				break
			}
		}
		if !found {
			return fmt.Errorf("kernel %s: %s is at %#x, where no memory is", k.Name, p.Name, bits)
		}
	}
	t := h200.target()
	limits := ir.Limits{Threads: t.Threads, Shared: t.Shared, Subgroup: t.Subgroup, Grid: t.Grid, Wide: t.Wide, Types: t.Types, Math: t.Math, Atomics: t.Atomics, MMA: t.MMA, Params: t.Params}
	if err := ir.Check(x, sizes, limits); err != nil {
		return err
	}
	return interp.Run(x, data, interp.Options{Subgroup: t.Subgroup})
}

// TestEmulated compares the backend, whose kernels the interpreter runs, with the reference, and checks that no allocation or event is left.
func TestEmulated(t *testing.T) {
	m := newMachine(t)
	o := conformance.Options{Run: "^(add|full|iota|concat|softmax|matmul|where|gather|sum|fused|cast|stream|program|memory)/", Sample: 32, Shrink: -1}
	conformance.Run(t, func() (core.Backend, error) { return gpu.New(m, gpu.Options{NoCache: true}), nil }, o)
	require.NoError(t, m.err)
	require.Positive(t, m.ran)
	require.Eventually(t, func() bool { return m.left() == 0 }, 10*time.Second, 10*time.Millisecond, "%d allocations and events are left", m.left())
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

// recorded is a library call that keeps the arguments of each recording, and refuses one operand.
type recorded struct {
	gpu.Candidate
	args   [][]gpu.Ref
	refuse gpu.Ref
}

func (c *recorded) Call(_ gpu.Queue, args []gpu.Ref, _ gpu.Ref) error {
	c.args = append(c.args, slices.Clone(args))
	if args[0] == c.refuse {
		return errors.New("not this one")
	}
	return nil
}

// TestCallsAreRecordedAnew checks that Update records a call of a graph again for other operands, and returns ErrUnsupported if the recording
// fails.
func TestCallsAreRecordedAnew(t *testing.T) {
	m := newMachine(t)
	r := newRig(t, m)
	block, err := r.Alloc(4096)
	require.NoError(t, err)
	at := func(offset int64) []gpu.Ref { return []gpu.Ref{{Memory: block, Offset: offset}} }
	c := &recorded{refuse: at(512)[0]}
	g, err := r.Device.(gpu.Grapher).NewGraph([]gpu.Step{{Call: &gpu.Call{Candidate: c, Args: at(0)}}})
	require.NoError(t, err)
	require.NoError(t, g.Update(0, gpu.Step{Call: &gpu.Call{Candidate: c, Args: at(256)}}))
	require.ErrorIs(t, g.Update(0, gpu.Step{Call: &gpu.Call{Candidate: c, Args: at(512)}}), core.ErrUnsupported)
	require.Equal(t, [][]gpu.Ref{at(0), at(256), at(512)}, c.args)
	g.Close()
	r.Free(block)
	r.f.Unload()
	r.Queue.Close()
	r.Device.Close()
}

// TestGraph creates a graph of fills, a launch and a copy, ordered by dependencies, and updates a step of each kind.
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

// TestFault checks that a fault makes the device unusable, and that the error names the kernel that was launched last.
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

// TestBatched launches one kernel for three vectors, directly and in a graph, and updates two vectors of the graph.
func TestBatched(t *testing.T) {
	m := newMachine(t)
	r := newRig(t, m)
	block, err := r.Alloc(4096)
	require.NoError(t, err)
	at := func(element int) gpu.Ref { return gpu.Ref{Memory: block, Offset: int64(4 * element)} }
	const one = 0x3f800000
	var ls []ir.Launch
	sizes := []int{3, 130, 64}
	for i, n := range sizes {
		ls = append(ls, ir.Launch{Kernel: scale(), Grid: [3]int{(n + 63) / 64, 1, 1}, Args: []ir.Arg{{Slot: i}, {Bits: uint64(n)}, {Bits: 0x40000000}}})
	}
	l, ok := ir.Batch(ls)
	require.True(t, ok)
	code, err := r.Device.Compile(t.Context(), "")
	require.NoError(t, err)
	fs, err := r.Device.Load(code, []*ir.Kernel{l.Kernel})
	require.NoError(t, err)
	launch := func(places ...int) *gpu.Launch {
		x := &gpu.Launch{Function: fs[0], Grid: l.Grid, Starts: l.Starts}
		for i, p := range l.Kernel.Arguments() {
			a := gpu.Arg{Bits: l.Args[i].Bits}
			if p.IsBuffer() {
				a.Ref = at(places[l.Args[i].Slot])
			}
			x.Args = append(x.Args, a)
		}
		return x
	}
	read := func() []float32 {
		v := make([]float32, 1024)
		require.NoError(t, r.Download(dtype.Bytes(v), at(0)))
		require.NoError(t, r.Synchronize())
		return v
	}
	want := slices.Repeat([]float32{1}, 1024)
	double := func(places ...int) {
		for i, p := range places {
			for k := range sizes[i] {
				want[p+k] *= 2
			}
		}
	}
	require.NoError(t, r.Fill(at(0), 4096, one, 4))
	require.NoError(t, r.Queue.Launch(launch(0, 100, 300)))
	double(0, 100, 300)
	require.Equal(t, want, read())
	g, err := r.Device.(gpu.Grapher).NewGraph([]gpu.Step{{Launch: launch(0, 100, 300)}})
	require.NoError(t, err)
	require.NoError(t, g.Launch(r.Queue))
	double(0, 100, 300)
	require.NoError(t, g.Update(0, gpu.Step{Launch: launch(500, 100, 700)}))
	require.NoError(t, g.Launch(r.Queue))
	double(500, 100, 700)
	require.Equal(t, want, read())
	require.ErrorContains(t, r.Queue.Launch(&gpu.Launch{Function: fs[0], Args: make([]gpu.Arg, 7)}), "of 3 members")
	g.Close()
	r.Free(block)
	fs[0].Unload()
	r.f.Unload()
	r.Queue.Close()
	r.Device.Close()
	require.NoError(t, m.err)
}
