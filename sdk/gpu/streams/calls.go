package streams

import "unsafe"

// Handles of objects of the hardware's driver. The zero value is the first device for a Device, the default stream for a Stream, and none
// for the other types.
type (
	Device   int32   // the ordinal of a device of this process
	Context  uintptr // calls for a device need it to be current on their thread
	Module   uintptr
	Function uintptr
	Stream   uintptr
	Event    uintptr
	Ptr      uintptr // an address in device memory
	Graph    uintptr
	Node     uintptr // a node of a Graph
	Exec     uintptr // an instantiated Graph
)

// FuncAttribute is a property of a function, by the driver's number.
type FuncAttribute int32

// FuncMaxDynamicShared is the largest size, in bytes, of the dynamic shared memory of launches of a function.
const FuncMaxDynamicShared FuncAttribute = 8

// Dim is the size of a grid in blocks, or of a block in threads.
type Dim struct{ X, Y, Z uint32 }

// Calls are the functions of a hardware's driver. All of them, except SetCurrent and the functions that take or return a Device, are called
// with the context current on the calling thread, to which the goroutine is bound. Errors of the functions wrap the kinds of package
// vendor. Calls that belong to a launch do not allocate Go memory unless they fail. Copies, fills and graphs concern the memory of one
// device. A fill writes n or count elements of 1, 2 or 4 bytes.
type Calls interface {
	// Devices and contexts.
	Device(ordinal int) (Device, error)
	Name(dev Device) (string, error)
	TotalMemory(dev Device) (uint64, error)
	RetainPrimary(dev Device) (Context, error)
	SetCurrent(ctx Context) error

	// Modules and launches.
	LoadModule(image []byte) (Module, error)
	UnloadModule(m Module) error
	Function(m Module, name string) (Function, error)
	SetFuncAttribute(f Function, a FuncAttribute, n int) error
	Launch(s Stream, f Function, grid, block Dim, shared uint32, a *Args) error

	// Memory.
	MemoryInfo() (free, total uint64, err error)
	Alloc(bytes uint64) (Ptr, error)
	Free(p Ptr) error
	HostAlloc(bytes uint64, mapped bool) (unsafe.Pointer, error)
	HostFree(p unsafe.Pointer) error
	CopyToDevice(dst Ptr, src unsafe.Pointer, bytes uint64, s Stream) error
	CopyToHost(dst unsafe.Pointer, src Ptr, bytes uint64, s Stream) error
	Copy(dst, src Ptr, bytes uint64, s Stream) error
	Set8(dst Ptr, value uint8, n uint64, s Stream) error
	Set16(dst Ptr, value uint16, n uint64, s Stream) error
	Set32(dst Ptr, value uint32, n uint64, s Stream) error

	// Streams and events.
	NewStream(priority int) (Stream, error)
	DestroyStream(s Stream) error
	WaitEvent(s Stream, e Event) error
	NewEvent(timing, blocking bool) (Event, error)
	DestroyEvent(e Event) error
	Record(e Event, s Stream) error
	EventDone(e Event) (bool, error)
	SynchronizeEvent(e Event) error
	Elapsed(start, end Event) (float32, error)

	// Graphs.
	NewGraph() (Graph, error)
	DestroyGraph(g Graph) error
	AddKernel(g Graph, deps []Node, f Function, grid, block Dim, shared uint32, a *Args) (Node, error)
	AddCopy(g Graph, deps []Node, dst, src Ptr, bytes uint64, ctx Context) (Node, error)
	AddSet(g Graph, deps []Node, dst Ptr, value uint32, elementSize int, count uint64, ctx Context) (Node, error)
	AddChild(g Graph, deps []Node, child Graph) (Node, error)
	Instantiate(g Graph) (Exec, error)
	DestroyExec(e Exec) error
	SetKernel(e Exec, n Node, f Function, grid, block Dim, shared uint32, a *Args) error
	SetCopy(e Exec, n Node, dst, src Ptr, bytes uint64, ctx Context) error
	SetSet(e Exec, n Node, dst Ptr, value uint32, elementSize int, count uint64, ctx Context) error
	SetChild(e Exec, n Node, child Graph) error
	LaunchGraph(e Exec, s Stream) error
	BeginCapture(s Stream) error
	EndCapture(s Stream) (Graph, error)
}
