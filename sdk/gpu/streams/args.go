package streams

import (
	"math"
	"unsafe"
)

// Args are the arguments of a kernel: a word of 8 bytes for each. The kernel reads as many bytes of a word as its parameter has. An Args is
// created once, used for many launches and changed between them; a launch copies the arguments before it returns. It is used by one
// goroutine at a time.
type Args struct {
	words    []uint64
	pointers []unsafe.Pointer // to the words, one for each argument
	structs  bool             // an argument may be longer than a word
}

// NewArgs returns n arguments, all zero.
func NewArgs(n int) *Args {
	a := &Args{words: make([]uint64, max(n, 1)), pointers: make([]unsafe.Pointer, n)}
	for i := range a.pointers {
		a.pointers[i] = unsafe.Pointer(&a.words[i])
	}
	return a
}

// NewArrays returns arguments that are arrays, passed by value: argument i has bytes[i] bytes, all zero.
func NewArrays(bytes ...int) *Args {
	n := 0
	for _, b := range bytes {
		n += (b + 7) / 8
	}
	a := &Args{words: make([]uint64, max(n, 1)), pointers: make([]unsafe.Pointer, len(bytes))}
	at := 0
	for i, b := range bytes {
		a.pointers[i] = unsafe.Pointer(&a.words[min(at, len(a.words)-1)])
		at += (b + 7) / 8
	}
	a.structs = true
	return a
}

// SetElement sets element k of argument i, an array with elements of size bytes, to the low bytes of bits.
func (a *Args) SetElement(i, k, size int, bits uint64) {
	switch at := unsafe.Add(a.pointers[i], k*size); size {
	case 1:
		*(*uint8)(at) = uint8(bits)
	case 2:
		*(*uint16)(at) = uint16(bits)
	case 4:
		*(*uint32)(at) = uint32(bits)
	default:
		*(*uint64)(at) = bits
	}
}

// Len returns the number of arguments.
func (a *Args) Len() int { return len(a.pointers) }

// SetPtr sets argument i to a device address.
func (a *Args) SetPtr(i int, p Ptr) { a.words[i] = uint64(p) }

// SetInt sets argument i to an integer of any size: the kernel reads its low bytes.
func (a *Args) SetInt(i int, v int64) { a.words[i] = uint64(v) }

// SetFloat32 sets argument i to a float.
func (a *Args) SetFloat32(i int, v float32) { a.words[i] = uint64(math.Float32bits(v)) }

// SetFloat64 sets argument i to a double.
func (a *Args) SetFloat64(i int, v float64) { a.words[i] = math.Float64bits(v) }

// SetBits sets the 8 bytes of argument i.
func (a *Args) SetBits(i int, v uint64) { a.words[i] = v }

// SetStruct makes argument i a parameter that is passed by value. The bytes are not copied: they must stay as they are, on Go's
// heap, until the last launch.
func (a *Args) SetStruct(i int, b []byte) { a.pointers[i], a.structs = unsafe.Pointer(&b[0]), true }

// Words returns pointers to the arguments, of 8 bytes each. ok is false if an argument may be longer: a structure or an array.
func (a *Args) Words() (pointers []unsafe.Pointer, ok bool) { return a.pointers, !a.structs }

// Table returns the address of the list of pointers to the arguments, nil if there are no arguments.
func (a *Args) Table() unsafe.Pointer {
	if len(a.pointers) == 0 {
		return nil
	}
	return unsafe.Pointer(&a.pointers[0])
}
