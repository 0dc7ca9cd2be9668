package nv

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// NCCL is the NVIDIA library of collectives. One process drives all its devices.
type NCCL struct {
	Version int // 22803 is 2.28.3
	c       ncclProcs
}

type ncclProcs struct {
	version       proc `c:"ncclGetVersion"`
	errorString   proc `c:"ncclGetErrorString"`
	lastError     proc `c:"ncclGetLastError?"`
	initAll       proc `c:"ncclCommInitAll"`
	destroy       proc `c:"ncclCommDestroy"`
	abort         proc `c:"ncclCommAbort"`
	asyncError    proc `c:"ncclCommGetAsyncError"`
	allReduce     proc `c:"ncclAllReduce"`
	allGather     proc `c:"ncclAllGather"`
	reduceScatter proc `c:"ncclReduceScatter"`
	broadcast     proc `c:"ncclBroadcast"`
	groupStart    proc `c:"ncclGroupStart"`
	groupEnd      proc `c:"ncclGroupEnd"`
}

const ncclName = "NCCL"

func openNCCL(handle uintptr) (*NCCL, error) {
	n := &NCCL{}
	if err := vendor.Bind(handle, &n.c); err != nil {
		return nil, err
	}
	var v int32
	err := n.check(&n.c.version, n.c.version.Call(uintptr(unsafe.Pointer(&v))))
	n.Version = int(v)
	return n, err
}

func (n *NCCL) check(p *proc, code int32) error {
	const inProgress = 7
	if code == 0 || code == inProgress {
		return nil
	}
	e := &Error{Library: ncclName, Call: p.Name, Code: int(code), Name: vendor.Text(n.c.errorString.Word(uintptr(code)))}
	if n.c.lastError.There() {
		e.Text = vendor.Text(n.c.lastError.Word(0))
	}
	if code == 1 { // a failure of CUDA
		e.Kind = ErrFault
	}
	return e
}

// Comm is a communicator: the membership of one device in a group of devices.
type Comm uintptr

// NCCLType is a type of elements, by the number of ncclDataType_t.
type NCCLType int32

// Types of elements of NCCL.
const (
	NCCLI8   NCCLType = 0
	NCCLU8   NCCLType = 1
	NCCLI32  NCCLType = 2
	NCCLU32  NCCLType = 3
	NCCLI64  NCCLType = 4
	NCCLU64  NCCLType = 5
	NCCLF16  NCCLType = 6
	NCCLF32  NCCLType = 7
	NCCLF64  NCCLType = 8
	NCCLBF16 NCCLType = 9
)

// NCCLOp selects how values are combined. Its values are the numbers of ncclRedOp_t.
type NCCLOp int32

// Reduction operations.
const (
	NCCLSum  NCCLOp = 0
	NCCLProd NCCLOp = 1
	NCCLMax  NCCLOp = 2
	NCCLMin  NCCLOp = 3
	NCCLMean NCCLOp = 4
)

// InitAll creates a communicator for each device of the list, in its order. Destroy releases a communicator.
func (n *NCCL) InitAll(devices []Device) ([]Comm, error) {
	comms := make([]Comm, max(len(devices), 1))
	list := make([]int32, max(len(devices), 1))
	for i, d := range devices {
		list[i] = int32(d)
	}
	err := n.check(&n.c.initAll, n.c.initAll.Call(uintptr(unsafe.Pointer(&comms[0])), uintptr(len(devices)), uintptr(unsafe.Pointer(&list[0]))))
	return comms[:len(devices)], err
}

// Destroy releases a communicator after its work is done.
func (n *NCCL) Destroy(c Comm) error { return n.check(&n.c.destroy, n.c.destroy.Call(uintptr(c))) }

// Abort ends the work of a communicator and releases it.
func (n *NCCL) Abort(c Comm) error { return n.check(&n.c.abort, n.c.abort.Call(uintptr(c))) }

// AsyncError returns the failure of work in progress, or nil.
func (n *NCCL) AsyncError(c Comm) error {
	var code int32
	if err := n.check(&n.c.asyncError, n.c.asyncError.Call(uintptr(c), uintptr(unsafe.Pointer(&code)))); err != nil {
		return err
	}
	return n.check(&n.c.asyncError, code)
}

// GroupStart begins a group of calls for several devices from one goroutine. GroupEnd puts their work on the streams together.
func (n *NCCL) GroupStart() error { return n.check(&n.c.groupStart, n.c.groupStart.Call()) }

// GroupEnd ends the group that GroupStart began.
func (n *NCCL) GroupEnd() error { return n.check(&n.c.groupEnd, n.c.groupEnd.Call()) }

// AllReduce combines count elements of src of every device into dst of every device. src and dst may be the same.
func (n *NCCL) AllReduce(c Comm, src, dst Ptr, count uint64, t NCCLType, op NCCLOp, s Stream) error {
	return n.check(&n.c.allReduce, n.c.allReduce.Call(uintptr(src), uintptr(dst), uintptr(count), uintptr(t), uintptr(op), uintptr(c), uintptr(s)))
}

// AllGather collects count elements of src of every device, one behind another, in dst of every device.
func (n *NCCL) AllGather(c Comm, src, dst Ptr, count uint64, t NCCLType, s Stream) error {
	return n.check(&n.c.allGather, n.c.allGather.Call(uintptr(src), uintptr(dst), uintptr(count), uintptr(t), uintptr(c), uintptr(s)))
}

// ReduceScatter combines src of every device, and writes a part of the result, count elements, to dst of each device.
func (n *NCCL) ReduceScatter(c Comm, src, dst Ptr, count uint64, t NCCLType, op NCCLOp, s Stream) error {
	return n.check(&n.c.reduceScatter, n.c.reduceScatter.Call(uintptr(src), uintptr(dst), uintptr(count), uintptr(t), uintptr(op), uintptr(c), uintptr(s)))
}

// Broadcast copies count elements of src of the root, a position in the list of InitAll, to dst of every device.
func (n *NCCL) Broadcast(c Comm, src, dst Ptr, count uint64, t NCCLType, root int, s Stream) error {
	return n.check(&n.c.broadcast, n.c.broadcast.Call(uintptr(src), uintptr(dst), uintptr(count), uintptr(t), uintptr(root), uintptr(c), uintptr(s)))
}
