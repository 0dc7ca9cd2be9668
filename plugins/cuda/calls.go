package cuda

import (
	"unsafe"

	"github.com/goburn/burn/plugins/cuda/internal/nv"
)

// calls are the calls of NVIDIA's driver that the backend makes. There are two sets: *nv.Driver has all of them, without cgo, and is the
// default; with the build tag cu, and cgo, the calls for devices, contexts, modules, memory, streams and events go through
// gorgonia.org/cu, and graphs, pinned memory and large shared memory, which it lacks, through *nv.Driver. Both return the same errors,
// and the contracts are documented in package nv.
type calls interface {
	// Devices and contexts.
	Device(ordinal int) (nv.Device, error)
	Name(dev nv.Device) (string, error)
	TotalMemory(dev nv.Device) (uint64, error)
	Attribute(dev nv.Device, a nv.Attribute) (int, error)
	RetainPrimary(dev nv.Device) (nv.Context, error)
	SetCurrent(ctx nv.Context) error

	// Modules and launches.
	LoadModule(image []byte) (nv.Module, error)
	UnloadModule(m nv.Module) error
	Function(m nv.Module, name string) (nv.Function, error)
	SetFuncAttribute(f nv.Function, a nv.FuncAttribute, n int) error
	Launch(s nv.Stream, f nv.Function, grid, block nv.Dim, shared uint32, a *nv.Args) error

	// Memory.
	MemoryInfo() (free, total uint64, err error)
	Alloc(bytes uint64) (nv.Ptr, error)
	Free(p nv.Ptr) error
	HostAlloc(bytes uint64, mapped bool) (unsafe.Pointer, error)
	HostFree(p unsafe.Pointer) error
	CopyToDevice(dst nv.Ptr, src unsafe.Pointer, bytes uint64, s nv.Stream) error
	CopyToHost(dst unsafe.Pointer, src nv.Ptr, bytes uint64, s nv.Stream) error
	Copy(dst, src nv.Ptr, bytes uint64, s nv.Stream) error
	Set8(dst nv.Ptr, value uint8, n uint64, s nv.Stream) error
	Set16(dst nv.Ptr, value uint16, n uint64, s nv.Stream) error
	Set32(dst nv.Ptr, value uint32, n uint64, s nv.Stream) error

	// Streams and events.
	NewStream(priority int) (nv.Stream, error)
	DestroyStream(s nv.Stream) error
	WaitEvent(s nv.Stream, e nv.Event) error
	NewEvent(timing, blocking bool) (nv.Event, error)
	DestroyEvent(e nv.Event) error
	Record(e nv.Event, s nv.Stream) error
	EventDone(e nv.Event) (bool, error)
	SynchronizeEvent(e nv.Event) error
	Elapsed(start, end nv.Event) (float32, error)

	// Graphs.
	NewGraph() (nv.Graph, error)
	DestroyGraph(g nv.Graph) error
	AddKernel(g nv.Graph, deps []nv.Node, f nv.Function, grid, block nv.Dim, shared uint32, a *nv.Args) (nv.Node, error)
	AddCopy(g nv.Graph, deps []nv.Node, dst, src nv.Ptr, bytes uint64, ctx nv.Context) (nv.Node, error)
	AddSet(g nv.Graph, deps []nv.Node, dst nv.Ptr, value uint32, elementSize int, count uint64, ctx nv.Context) (nv.Node, error)
	AddChild(g nv.Graph, deps []nv.Node, child nv.Graph) (nv.Node, error)
	Instantiate(g nv.Graph) (nv.Exec, error)
	DestroyExec(e nv.Exec) error
	SetKernel(e nv.Exec, n nv.Node, f nv.Function, grid, block nv.Dim, shared uint32, a *nv.Args) error
	SetCopy(e nv.Exec, n nv.Node, dst, src nv.Ptr, bytes uint64, ctx nv.Context) error
	SetSet(e nv.Exec, n nv.Node, dst nv.Ptr, value uint32, elementSize int, count uint64, ctx nv.Context) error
	SetChild(e nv.Exec, n nv.Node, child nv.Graph) error
	LaunchGraph(e nv.Exec, s nv.Stream) error
	BeginCapture(s nv.Stream) error
	EndCapture(s nv.Stream) (nv.Graph, error)
}

var _ calls = (*nv.Driver)(nil)
