package shared

import (
	"unsafe"
)

// abiVersion is BURN_ABI_VERSION of sdk/c/burn_backend.h. The types below mirror its structs, field by field. Addresses are uintptr, as the
// structs are in memory that the garbage collector does not scan.
const abiVersion = 2

const (
	maxRank   = 8
	errorText = 512
)

type head struct{ size, abi uint32 }

type cError struct {
	head
	code int32
	node uint32
	text [errorText]byte
}

type cDesc struct {
	head
	id          uint64
	dtype, rank uint32
	dims        [maxRank]int64
}

type cAttr struct {
	head
	name         uintptr
	kind, isInt  uint32
	i            int64
	f            float64
	text         uintptr
	ints, floats uintptr
	count        uint64
}

type cNode struct {
	head
	op, nInputs, nOutputs, nAttrs uint32
	inputs, outputs, attrs        uintptr
}

type cCall struct {
	head
	node, in, out uintptr
	owned, taken  uint64
	cancel        uintptr
}

type cDefinition struct {
	head
	name                               uintptr
	nInputs, nConsts, nNodes, nOutputs uint32
	inputs, consts, values, keep       uintptr
	nodes, outputs                     uintptr
	cancel                             uintptr
}

type cRun struct {
	head
	program           uintptr
	nInputs, nOutputs uint32
	in, owned, out    uintptr
	cancel            uintptr
}

type cLimits struct {
	head
	rank, buffers   uint32
	bytes, elements int64
}

type cOp struct {
	head
	name                         uintptr
	version, nOperands, nResults uint32
	operands, results, limits    uintptr
}

type cCapabilities struct {
	head
	types, emulated, deterministic uint32
	_                              uint32
	limits                         uintptr
	nOps                           uint64
	ops                            uintptr
}

type cDeviceInfo struct {
	head
	name, kind uintptr
	memory     int64
	detail     uintptr
}

type cInfo struct {
	head
	name, version, vendor uintptr
	nDevices              uint64
	devices               uintptr
}

type cConfig struct {
	head
	threads       uint32
	_             uint32
	nOptions      uint64
	names, values uintptr
}

type cMemory struct {
	head
	inUse, reserved int64
}

type cLoan struct {
	head
	data             uintptr
	bytes            uint64
	giveBack, lender uintptr
}

type cAPI struct {
	head
	open, close, info, openDevice, closeDevice, capabilities  uintptr
	upload, download, release, openQueue, closeQueue, execute uintptr
	supports, memory, adopt, view                             uintptr // the following functions are optional
	define, run, undefine                                     uintptr
	record, await, wait, enqueue, fetch                       uintptr
}

// headOf returns the head of a T that this side creates.
func headOf[T any]() head {
	var t T
	return head{uint32(unsafe.Sizeof(t)), abiVersion}
}

// pointer converts an address outside the Go heap, or inside an arena that is kept alive, to a pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// load returns a copy of a struct of the other side: the fields that both sides know, with zeros in all other fields.
func load[T any](address uintptr) (t T) {
	if address == 0 {
		return t
	}
	size := min(uintptr((*head)(pointer(address)).size), unsafe.Sizeof(t))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&t)), unsafe.Sizeof(t)), unsafe.Slice((*byte)(pointer(address)), size))
	return t
}

// maxList bounds the lists in a backend's description.
const maxList = 1 << 16

// list returns copies of n structs, given the address of a list of their addresses.
func list[T any](address uintptr, n uint64) []T {
	addresses := numbers[uintptr](address, n)
	out := make([]T, len(addresses))
	for i, a := range addresses {
		out[i] = load[T](a)
	}
	return out
}

// numbers returns a list of numbers in the memory of the other side, without a copy. It returns nil if the list is too long.
func numbers[T uint32 | uintptr](address uintptr, n uint64) []T {
	if address == 0 || n > maxList {
		return nil
	}
	return unsafe.Slice((*T)(pointer(address)), n)
}

// maxString bounds the strings in a backend's description.
const maxString = 1 << 12

// text copies a C string; NULL is "".
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	p, n := pointer(address), 0
	for n < maxString && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
