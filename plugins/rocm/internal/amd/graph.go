package amd

import (
	"sync"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
)

// kernelNode is hipKernelNodeParams.
type kernelNode struct {
	block    streams.Dim
	_        uint32
	extra    uintptr
	function streams.Function
	grid     streams.Dim
	_        uint32
	params   unsafe.Pointer
	shared   uint32
	_        uint32
}

// setNode is hipMemsetParams.
type setNode struct {
	dst           streams.Ptr
	elementSize   uint32
	_             uint32
	height, pitch uint64
	value         uint32
	_             uint32
	width         uint64
}

// withinDevice is hipMemcpyDeviceToDevice.
const withinDevice = 3

// kernelNodes is a pool of the parameters of kernel nodes, which a call needs only while it runs.
var kernelNodes = sync.Pool{New: func() any { return new(kernelNode) }}

// NewGraph implements streams.Calls.
func (h *HIP) NewGraph() (streams.Graph, error) {
	var g streams.Graph
	err := h.check(&h.c.graphCreate, h.c.graphCreate.Call(uintptr(unsafe.Pointer(&g)), 0))
	return g, err
}

// DestroyGraph implements streams.Calls.
func (h *HIP) DestroyGraph(g streams.Graph) error {
	return h.check(&h.c.graphDestroy, h.c.graphDestroy.Call(uintptr(g)))
}

func nodesAt(nodes []streams.Node) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(nodes)) }

// AddKernel implements streams.Calls.
func (h *HIP) AddKernel(g streams.Graph, deps []streams.Node, f streams.Function, grid, block streams.Dim, shared uint32, a *streams.Args) (streams.Node, error) {
	x := kernelNodes.Get().(*kernelNode)
	defer kernelNodes.Put(x)
	*x = kernelNode{function: f, grid: grid, block: block, shared: shared, params: a.Table()}
	var n streams.Node
	err := h.check(&h.c.addKernel, h.c.addKernel.Call(uintptr(unsafe.Pointer(&n)), uintptr(g), uintptr(nodesAt(deps)), uintptr(len(deps)), uintptr(unsafe.Pointer(x))))
	return n, err
}

// AddCopy implements streams.Calls.
func (h *HIP) AddCopy(g streams.Graph, deps []streams.Node, dst, src streams.Ptr, bytes uint64, _ streams.Context) (streams.Node, error) {
	var n streams.Node
	err := h.check(&h.c.addCopy, h.c.addCopy.Call(uintptr(unsafe.Pointer(&n)), uintptr(g), uintptr(nodesAt(deps)), uintptr(len(deps)),
		uintptr(dst), uintptr(src), uintptr(bytes), withinDevice))
	return n, err
}

func newSetNode(dst streams.Ptr, value uint32, elementSize int, count uint64) *setNode {
	return &setNode{dst: dst, value: value, elementSize: uint32(elementSize), width: count, height: 1, pitch: count * uint64(elementSize)}
}

// AddSet implements streams.Calls.
func (h *HIP) AddSet(g streams.Graph, deps []streams.Node, dst streams.Ptr, value uint32, elementSize int, count uint64, _ streams.Context) (streams.Node, error) {
	var n streams.Node
	err := h.check(&h.c.addSet, h.c.addSet.Call(uintptr(unsafe.Pointer(&n)), uintptr(g), uintptr(nodesAt(deps)), uintptr(len(deps)),
		uintptr(unsafe.Pointer(newSetNode(dst, value, elementSize, count)))))
	return n, err
}

// AddChild implements streams.Calls.
func (h *HIP) AddChild(g streams.Graph, deps []streams.Node, child streams.Graph) (streams.Node, error) {
	var n streams.Node
	err := h.check(&h.c.addChild, h.c.addChild.Call(uintptr(unsafe.Pointer(&n)), uintptr(g), uintptr(nodesAt(deps)), uintptr(len(deps)), uintptr(child)))
	return n, err
}

// Instantiate implements streams.Calls.
func (h *HIP) Instantiate(g streams.Graph) (streams.Exec, error) {
	var e streams.Exec
	err := h.check(&h.c.instantiate, h.c.instantiate.Call(uintptr(unsafe.Pointer(&e)), uintptr(g), 0))
	return e, err
}

// DestroyExec implements streams.Calls.
func (h *HIP) DestroyExec(e streams.Exec) error {
	return h.check(&h.c.execDestroy, h.c.execDestroy.Call(uintptr(e)))
}

// SetKernel implements streams.Calls.
func (h *HIP) SetKernel(e streams.Exec, n streams.Node, f streams.Function, grid, block streams.Dim, shared uint32, a *streams.Args) error {
	x := kernelNodes.Get().(*kernelNode)
	defer kernelNodes.Put(x)
	*x = kernelNode{function: f, grid: grid, block: block, shared: shared, params: a.Table()}
	return h.check(&h.c.setKernel, h.c.setKernel.Quick(uintptr(e), uintptr(n), uintptr(unsafe.Pointer(x)), 0))
}

// SetCopy implements streams.Calls.
func (h *HIP) SetCopy(e streams.Exec, n streams.Node, dst, src streams.Ptr, bytes uint64, _ streams.Context) error {
	return h.check(&h.c.setCopy, h.c.setCopy.Call(uintptr(e), uintptr(n), uintptr(dst), uintptr(src), uintptr(bytes), withinDevice))
}

// SetSet implements streams.Calls.
func (h *HIP) SetSet(e streams.Exec, n streams.Node, dst streams.Ptr, value uint32, elementSize int, count uint64, _ streams.Context) error {
	return h.check(&h.c.setSet, h.c.setSet.Call(uintptr(e), uintptr(n), uintptr(unsafe.Pointer(newSetNode(dst, value, elementSize, count)))))
}

// SetChild implements streams.Calls.
func (h *HIP) SetChild(e streams.Exec, n streams.Node, child streams.Graph) error {
	return h.check(&h.c.setChild, h.c.setChild.Call(uintptr(e), uintptr(n), uintptr(child)))
}

// LaunchGraph implements streams.Calls.
func (h *HIP) LaunchGraph(e streams.Exec, s streams.Stream) error {
	return h.check(&h.c.graphLaunch, h.c.graphLaunch.Quick(uintptr(e), uintptr(s), 0, 0))
}

// BeginCapture implements streams.Calls.
func (h *HIP) BeginCapture(s streams.Stream) error {
	const threadLocal = 1
	return h.check(&h.c.streamBegin, h.c.streamBegin.Call(uintptr(s), threadLocal))
}

// EndCapture implements streams.Calls.
func (h *HIP) EndCapture(s streams.Stream) (streams.Graph, error) {
	var g streams.Graph
	err := h.check(&h.c.streamEnd, h.c.streamEnd.Call(uintptr(s), uintptr(unsafe.Pointer(&g))))
	return g, err
}
