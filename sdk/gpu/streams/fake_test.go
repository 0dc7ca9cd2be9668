package streams

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// driver records its calls. A call named in errs returns that error, and a call that no test expects panics.
type driver struct {
	Calls
	log    []string
	errs   map[string]error
	serial uintptr
	done   bool // events are reached
}

func (d *driver) call(name, format string, args ...any) error {
	d.log = append(d.log, name+fmt.Sprintf(format, args...))
	return d.errs[name]
}

// handle returns a number that no other object has.
func (d *driver) handle() uintptr { d.serial++; return d.serial }

func (d *driver) SetCurrent(ctx Context) error {
	if ctx != 7 {
		return fmt.Errorf("context %d is made current", ctx)
	}
	return d.errs["current"]
}
func (d *driver) RetainPrimary(dev Device) (Context, error) {
	return Context(100 + dev), d.call("retain", " %d", dev)
}
func (d *driver) LoadModule(image []byte) (Module, error) {
	return Module(d.handle()), d.call("load", " %s", image)
}
func (d *driver) UnloadModule(m Module) error { return d.call("unload", " %d", m) }
func (d *driver) Function(m Module, name string) (Function, error) {
	return Function(d.handle()), d.call("function", " %d %s", m, name)
}
func (d *driver) SetFuncAttribute(f Function, a FuncAttribute, n int) error {
	return d.call("attribute", " %d %d", a, n)
}

// words returns the first bytes of each argument.
func words(a *Args) (all []uint64) {
	for _, p := range a.pointers {
		all = append(all, *(*uint64)(p))
	}
	return all
}
func (d *driver) Launch(s Stream, f Function, grid, block Dim, shared uint32, a *Args) error {
	return d.call("launch", " %d %v %v %d %v", s, grid, block, shared, words(a))
}
func (d *driver) Alloc(bytes uint64) (Ptr, error) { return 0x1000, d.call("alloc", " %d", bytes) }
func (d *driver) Free(p Ptr) error                { return d.call("free", " %#x", p) }
func (d *driver) Copy(dst, src Ptr, bytes uint64, s Stream) error {
	return d.call("copy", " %#x %#x %d on %d", dst, src, bytes, s)
}
func (d *driver) CopyToDevice(dst Ptr, src unsafe.Pointer, bytes uint64, s Stream) error {
	return d.call("upload", " %#x %s", dst, unsafe.Slice((*byte)(src), bytes))
}
func (d *driver) CopyToHost(dst unsafe.Pointer, src Ptr, bytes uint64, s Stream) error {
	copy(unsafe.Slice((*byte)(dst), bytes), "downloaded")
	return d.call("download", " %#x %d", src, bytes)
}
func (d *driver) Set8(dst Ptr, v uint8, n uint64, s Stream) error {
	return d.call("set8", " %#x %#x %d", dst, v, n)
}
func (d *driver) Set16(dst Ptr, v uint16, n uint64, s Stream) error {
	return d.call("set16", " %#x %#x %d", dst, v, n)
}
func (d *driver) Set32(dst Ptr, v uint32, n uint64, s Stream) error {
	return d.call("set32", " %#x %#x %d", dst, v, n)
}
func (d *driver) NewStream(int) (Stream, error) { return 3, d.call("stream", "") }
func (d *driver) DestroyStream(s Stream) error  { return d.call("end", " %d", s) }
func (d *driver) NewEvent(timing, _ bool) (Event, error) {
	return Event(d.handle()), d.call("event", " %v", timing)
}
func (d *driver) DestroyEvent(e Event) error          { return d.call("destroy", " event %d", e) }
func (d *driver) Record(e Event, s Stream) error      { return d.call("record", " %d on %d", e, s) }
func (d *driver) WaitEvent(s Stream, e Event) error   { return d.call("wait", " %d for %d", s, e) }
func (d *driver) EventDone(Event) (bool, error)       { return d.done, d.errs["done"] }
func (d *driver) SynchronizeEvent(e Event) error      { return d.call("synchronize", " %d", e) }
func (d *driver) Elapsed(a, b Event) (float32, error) { return 1.5, d.call("elapsed", " %d %d", a, b) }
func (d *driver) NewGraph() (Graph, error)            { return Graph(d.handle()), d.call("graph", "") }
func (d *driver) DestroyGraph(g Graph) error          { return d.call("destroy", " graph %d", g) }
func (d *driver) DestroyExec(e Exec) error            { return d.call("destroy", " exec %d", e) }
func (d *driver) AddKernel(g Graph, deps []Node, f Function, grid, block Dim, shared uint32, a *Args) (Node, error) {
	return Node(d.handle()), d.call("kernel", " after %v %v %v", deps, grid, words(a))
}
func (d *driver) AddCopy(g Graph, deps []Node, dst, src Ptr, bytes uint64, ctx Context) (Node, error) {
	return Node(d.handle()), d.call("add copy", " after %v %#x %#x %d", deps, dst, src, bytes)
}
func (d *driver) AddSet(g Graph, deps []Node, dst Ptr, v uint32, size int, n uint64, ctx Context) (Node, error) {
	return Node(d.handle()), d.call("add set", " after %v %#x %#x %d of %d", deps, dst, v, n, size)
}
func (d *driver) AddChild(g Graph, deps []Node, child Graph) (Node, error) {
	return Node(d.handle()), d.call("add child", " after %v %d", deps, child)
}
func (d *driver) Instantiate(g Graph) (Exec, error) {
	return Exec(d.handle()), d.call("instantiate", " %d", g)
}
func (d *driver) SetKernel(e Exec, n Node, f Function, grid, block Dim, shared uint32, a *Args) error {
	return d.call("set kernel", " %d %v", n, words(a))
}
func (d *driver) SetCopy(e Exec, n Node, dst, src Ptr, bytes uint64, ctx Context) error {
	return d.call("set copy", " %d %#x %#x %d", n, dst, src, bytes)
}
func (d *driver) SetSet(e Exec, n Node, dst Ptr, v uint32, size int, count uint64, ctx Context) error {
	return d.call("set set", " %d %#x %#x %d of %d", n, dst, v, count, size)
}
func (d *driver) SetChild(e Exec, n Node, child Graph) error {
	return d.call("set child", " %d %d", n, child)
}
func (d *driver) LaunchGraph(e Exec, s Stream) error {
	return d.call("launch graph", " %d on %d", e, s)
}
func (d *driver) BeginCapture(s Stream) error { return d.call("capture", " %d", s) }
func (d *driver) EndCapture(s Stream) (Graph, error) {
	return Graph(d.handle()), d.call("captured", " %d", s)
}

// taken returns the calls since the previous taken.
func (d *driver) taken() []string {
	log := d.log
	d.log = nil
	return log
}

// scale returns a kernel of 64 threads with a buffer, a number, and the given bytes of shared memory.
func scale(shared int) *ir.Kernel {
	b := ir.New("scale", 64)
	x, n := b.Buffer("x", dtype.F32, ir.Read|ir.Write), b.Scalar("n", dtype.I32)
	m := b.Shared("m", dtype.U8, shared)
	b.SharedStore(m, b.Int(0), b.Const(dtype.U8, 1))
	b.Barrier()
	b.If(b.Lt(b.Thread(), n), func() { b.Store(x, b.Thread(), b.Load(x, b.Thread())) })
	return b.Kernel()
}

// opened returns a device over a driver that records its calls, with a queue and a kernel.
func opened(t *testing.T) (*driver, *GPU, *Queue, gpu.Function) {
	t.Helper()
	d := &driver{errs: map[string]error{}}
	g := Open("fake", d, 7, &dialect.Dialect{Static: 1000})
	q, err := g.OpenQueue()
	require.NoError(t, err)
	fs, err := g.Load([]byte("code"), []*ir.Kernel{scale(8)})
	require.NoError(t, err)
	d.taken()
	return d, g, q.(*Queue), fs[0]
}
