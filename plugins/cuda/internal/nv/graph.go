package nv

import (
	"sync"
	"unsafe"
)

// kernelNodeParams is CUDA_KERNEL_NODE_PARAMS_v2.
type kernelNodeParams struct {
	function    Function
	grid, block Dim
	shared      uint32
	_           uint32
	params      unsafe.Pointer
	extra       uintptr
	kernel      uintptr
	context     Context
}

// memsetNodeParams is CUDA_MEMSET_NODE_PARAMS_v1.
type memsetNodeParams struct {
	dst                Ptr
	pitch              uint64
	value, elementSize uint32
	width, height      uint64
}

// memcpy3D is CUDA_MEMCPY3D_v2.
type memcpy3D struct {
	src, dst             memcpySide
	width, height, depth uint64
}

type memcpySide struct {
	x, y, z, lod  uint64
	kind          uint32
	_             uint32
	host          uintptr
	device        Ptr
	array         uintptr
	reserved      uintptr
	pitch, height uint64
}

func deviceCopy(dst, src Ptr, bytes uint64) *memcpy3D {
	return &memcpy3D{src: memcpySide{kind: MemoryDevice, device: src}, dst: memcpySide{kind: MemoryDevice, device: dst},
		width: bytes, height: 1, depth: 1}
}

// NewGraph creates an empty graph.
func (d *Driver) NewGraph() (Graph, error) {
	var g Graph
	err := d.check(&d.c.graphCreate, d.c.graphCreate.Call(uintptr(unsafe.Pointer(&g)), 0))
	return g, err
}

// DestroyGraph releases a graph. Executable graphs that were instantiated from it stay valid.
func (d *Driver) DestroyGraph(g Graph) error {
	return d.check(&d.c.graphDestroy, d.c.graphDestroy.Call(uintptr(g)))
}

func nodesAt(nodes []Node) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(nodes))
}

// kernelNodes hold the parameters of kernel nodes during a call.
var kernelNodes = sync.Pool{New: func() any { return new(kernelNodeParams) }}

// AddKernel adds a kernel that runs after the nodes in deps. The arguments are copied.
func (d *Driver) AddKernel(g Graph, deps []Node, f Function, grid, block Dim, shared uint32, a *Args) (Node, error) {
	x := kernelNodes.Get().(*kernelNodeParams)
	defer kernelNodes.Put(x)
	*x = kernelNodeParams{function: f, grid: grid, block: block, shared: shared, params: a.Table()}
	var n Node
	err := d.check(&d.c.graphAddKernel, d.c.graphAddKernel.Call(uintptr(unsafe.Pointer(&n)), uintptr(g),
		uintptr(nodesAt(deps)), uintptr(len(deps)), uintptr(unsafe.Pointer(x))))
	return n, err
}

// AddCopy adds a copy of bytes within the device of ctx.
func (d *Driver) AddCopy(g Graph, deps []Node, dst, src Ptr, bytes uint64, ctx Context) (Node, error) {
	var n Node
	err := d.check(&d.c.graphAddMemcpy, d.c.graphAddMemcpy.Call(uintptr(unsafe.Pointer(&n)), uintptr(g),
		uintptr(nodesAt(deps)), uintptr(len(deps)), uintptr(unsafe.Pointer(deviceCopy(dst, src, bytes))), uintptr(ctx)))
	return n, err
}

// AddSet adds a fill of count words of elementSize bytes: 1, 2 or 4.
func (d *Driver) AddSet(g Graph, deps []Node, dst Ptr, value uint32, elementSize int, count uint64, ctx Context) (Node, error) {
	p := &memsetNodeParams{dst: dst, value: value, elementSize: uint32(elementSize), width: count, height: 1}
	var n Node
	err := d.check(&d.c.graphAddMemset, d.c.graphAddMemset.Call(uintptr(unsafe.Pointer(&n)), uintptr(g),
		uintptr(nodesAt(deps)), uintptr(len(deps)), uintptr(unsafe.Pointer(p)), uintptr(ctx)))
	return n, err
}

// AddChild adds a copy of another graph as one node.
func (d *Driver) AddChild(g Graph, deps []Node, child Graph) (Node, error) {
	var n Node
	err := d.check(&d.c.graphAddChild, d.c.graphAddChild.Call(uintptr(unsafe.Pointer(&n)), uintptr(g),
		uintptr(nodesAt(deps)), uintptr(len(deps)), uintptr(child)))
	return n, err
}

// AddEmpty adds a node that does nothing: it reduces the number of edges where many nodes wait for many other nodes.
func (d *Driver) AddEmpty(g Graph, deps []Node) (Node, error) {
	var n Node
	err := d.check(&d.c.graphAddEmpty, d.c.graphAddEmpty.Call(uintptr(unsafe.Pointer(&n)), uintptr(g),
		uintptr(nodesAt(deps)), uintptr(len(deps))))
	return n, err
}

// NodeKind is the kind of a node of a graph, with the driver's number.
type NodeKind int32

// Kinds of nodes.
const (
	KernelNode NodeKind = 0
	CopyNode   NodeKind = 1
	SetNode    NodeKind = 2
	HostNode   NodeKind = 3
	ChildNode  NodeKind = 4
	EmptyNode  NodeKind = 5
	AllocNode  NodeKind = 10
	FreeNode   NodeKind = 11
)

// Nodes lists the nodes of a graph, such as a graph that was captured.
func (d *Driver) Nodes(g Graph) ([]Node, error) {
	var n uint64
	if err := d.check(&d.c.graphNodes, d.c.graphNodes.Call(uintptr(g), 0, uintptr(unsafe.Pointer(&n)))); err != nil || n == 0 {
		return nil, err
	}
	nodes := make([]Node, n)
	err := d.check(&d.c.graphNodes, d.c.graphNodes.Call(uintptr(g), uintptr(unsafe.Pointer(&nodes[0])), uintptr(unsafe.Pointer(&n))))
	return nodes[:n], err
}

// NodeKind returns the kind of a node.
func (d *Driver) NodeKind(n Node) (NodeKind, error) {
	var k NodeKind
	err := d.check(&d.c.graphNodeType, d.c.graphNodeType.Call(uintptr(n), uintptr(unsafe.Pointer(&k))))
	return k, err
}

// Instantiate creates an executable graph. Launches of one Exec do not overlap: a second launch waits for the first.
func (d *Driver) Instantiate(g Graph) (Exec, error) {
	var e Exec
	err := d.check(&d.c.graphInstantiate, d.c.graphInstantiate.Call(uintptr(unsafe.Pointer(&e)), uintptr(g), 0))
	return e, err
}

// DestroyExec releases an executable graph. Launches in progress complete.
func (d *Driver) DestroyExec(e Exec) error {
	return d.check(&d.c.execDestroy, d.c.execDestroy.Call(uintptr(e)))
}

// SetKernel changes a kernel node of an executable graph for later launches. n is the node in the graph from which e was instantiated.
func (d *Driver) SetKernel(e Exec, n Node, f Function, grid, block Dim, shared uint32, a *Args) error {
	x := kernelNodes.Get().(*kernelNodeParams)
	defer kernelNodes.Put(x)
	*x = kernelNodeParams{function: f, grid: grid, block: block, shared: shared, params: a.Table()}
	return d.check(&d.c.execKernelParams, d.c.execKernelParams.Quick(uintptr(e), uintptr(n), uintptr(unsafe.Pointer(x)), 0))
}

// SetCopy changes a copy node for later launches.
func (d *Driver) SetCopy(e Exec, n Node, dst, src Ptr, bytes uint64, ctx Context) error {
	return d.check(&d.c.execMemcpyParams, d.c.execMemcpyParams.Call(uintptr(e), uintptr(n), uintptr(unsafe.Pointer(deviceCopy(dst, src, bytes))), uintptr(ctx)))
}

// SetSet changes a fill node for later launches.
func (d *Driver) SetSet(e Exec, n Node, dst Ptr, value uint32, elementSize int, count uint64, ctx Context) error {
	p := &memsetNodeParams{dst: dst, value: value, elementSize: uint32(elementSize), width: count, height: 1}
	return d.check(&d.c.execMemsetParams, d.c.execMemsetParams.Call(uintptr(e), uintptr(n), uintptr(unsafe.Pointer(p)), uintptr(ctx)))
}

// SetChild replaces the parameters of the nodes within a child node by the parameters of another graph of the same form.
func (d *Driver) SetChild(e Exec, n Node, child Graph) error {
	return d.check(&d.c.execChildParams, d.c.execChildParams.Call(uintptr(e), uintptr(n), uintptr(child)))
}

// Upload prepares an executable graph on the device, so that its first launch takes no longer than later launches.
func (d *Driver) Upload(e Exec, s Stream) error {
	return d.check(&d.c.graphUpload, d.c.graphUpload.Call(uintptr(e), uintptr(s)))
}

// LaunchGraph puts a graph on a stream.
func (d *Driver) LaunchGraph(e Exec, s Stream) error {
	return d.check(&d.c.graphLaunch, d.c.graphLaunch.Quick(uintptr(e), uintptr(s), 0, 0))
}

// BeginCapture starts a capture: work that the calling thread puts on the stream is recorded instead of executed. Other threads are not
// affected.
func (d *Driver) BeginCapture(s Stream) error {
	const threadLocal = 1
	return d.check(&d.c.streamBegin, d.c.streamBegin.Call(uintptr(s), threadLocal))
}

// EndCapture ends a capture, on the thread that began it, and returns the captured graph. After a failure in between, it returns an error
// and the stream works again.
func (d *Driver) EndCapture(s Stream) (Graph, error) {
	var g Graph
	err := d.check(&d.c.streamEnd, d.c.streamEnd.Call(uintptr(s), uintptr(unsafe.Pointer(&g))))
	return g, err
}

// Capturing reports whether a stream is being captured.
func (d *Driver) Capturing(s Stream) (bool, error) {
	var status int32
	err := d.check(&d.c.streamIsCapturing, d.c.streamIsCapturing.Call(uintptr(s), uintptr(unsafe.Pointer(&status))))
	return status != 0, err
}
