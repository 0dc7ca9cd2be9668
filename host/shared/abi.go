package shared

import (
	"math"
	"unsafe"
)

// abiVersion is BURN_ABI_VERSION of sdk/c/burn_backend.h, and what follows mirrors its structs, field by field. Addresses
// are uintptr, as the structs lie in memory that the garbage collector does not look into.
const abiVersion = 1

const (
	maxRank      = 8
	errorOutputs = 4
	errorText    = 512
)

type head struct{ size, abi uint32 }

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
	drop                          uint64
}

type cError struct {
	head
	code     int32
	op       uint32
	nOutputs uint32
	_        uint32
	outputs  [errorOutputs]cDesc
	text     [errorText]byte
}

type cOp struct {
	head
	name           uintptr
	version, types uint32
}

type cDevice struct {
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

type cCapabilities struct {
	head
	types, maxRank uint32
	maxBytes       int64
	deterministic  uint32
	_              uint32
	nOps           uint64
	ops            uintptr
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
	inUse, reserved, tensors int64
}

type cAPI struct {
	head
	open, close, info, capabilities, supports    uintptr
	openStream, submit, freeTensors, write, read uintptr
	sync, memory, closeStream                    uintptr
}

// headOf is the beginning of a T that this side makes.
func headOf[T any]() head {
	var t T
	return head{uint32(unsafe.Sizeof(t)), abiVersion}
}

// pointer makes a pointer of an address outside the Go heap, or inside an arena that is kept alive.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// load copies a struct that the other side made: the fields that both sides know, the others zero.
func load[T any](address uintptr) (t T) {
	if address == 0 {
		return t
	}
	size := min(uintptr((*head)(pointer(address)).size), unsafe.Sizeof(t))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&t)), unsafe.Sizeof(t)), unsafe.Slice((*byte)(pointer(address)), size))
	return t
}

// maxList bounds the lists that a backend gives of itself.
const maxList = 1 << 16

// list loads the structs that a list of addresses names.
func list[T any](address uintptr, n uint64) []T {
	if address == 0 || n > maxList {
		return nil
	}
	out := make([]T, n)
	for i, a := range unsafe.Slice((*uintptr)(pointer(address)), n) {
		out[i] = load[T](a)
	}
	return out
}

// maxString bounds the text that a backend gives of itself.
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

// arena holds the structs of one call. They do not move, and live as long as the arena is kept alive.
type arena struct{ blocks [][]uint64 }

const arenaBlock = 256 // words

func (a *arena) bytes(size int) unsafe.Pointer {
	words := max(1, (size+7)/8)
	if n := len(a.blocks); n == 0 || len(a.blocks[n-1])+words > cap(a.blocks[n-1]) {
		a.blocks = append(a.blocks, make([]uint64, 0, max(words, arenaBlock)))
	}
	b := &a.blocks[len(a.blocks)-1]
	from := len(*b)
	*b = (*b)[:from+words]
	return unsafe.Pointer(&(*b)[from])
}

// put places a copy of v, which holds no Go pointers, and gives its address.
func put[T any](a *arena, v T) uintptr {
	p := a.bytes(int(unsafe.Sizeof(v)))
	*(*T)(p) = v
	return uintptr(p)
}

// putAll places a list, 0 for an empty one.
func putAll[T any](a *arena, v []T) uintptr {
	if len(v) == 0 {
		return 0
	}
	p := a.bytes(len(v) * int(unsafe.Sizeof(v[0])))
	copy(unsafe.Slice((*T)(p), len(v)), v)
	return uintptr(p)
}

func (a *arena) text(s string) uintptr { return putAll(a, append([]byte(s), 0)) }

// toInt64 is what a float scalar is as an integer: truncated, brought into range, 0 for NaN.
func toInt64(f float64) int64 {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= 1<<63:
		return math.MaxInt64
	case f < -1<<63:
		return math.MinInt64
	}
	return int64(f)
}
