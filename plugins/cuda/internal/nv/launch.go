package nv

import (
	"math"
	"unsafe"
)

// Dim is the size of a grid in blocks, or of a block in threads.
type Dim struct{ X, Y, Z uint32 }

// Args are the arguments of a kernel: a word of 8 bytes for each. The kernel reads as many bytes of a word as its parameter has.
// An Args is made once, used for many launches and changed between them; a launch copies the arguments before it returns. It is
// used by one goroutine at a time.
type Args struct {
	words    []uint64
	pointers []unsafe.Pointer // to the words, one for each argument
	structs  bool             // one of them may be more than a word
	config   launchConfig
	attrs    [3]launchAttribute
	node     kernelNodeParams
}

// NewArgs returns n arguments, all zero.
func NewArgs(n int) *Args {
	a := &Args{words: make([]uint64, max(n, 1)), pointers: make([]unsafe.Pointer, n)}
	for i := range a.pointers {
		a.pointers[i] = unsafe.Pointer(&a.words[i])
	}
	return a
}

// NewArrays returns arguments of which number i has that many bytes: arrays that are passed by value, all zero.
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

// SetElement sets element k of an argument that is an array of elements of size bytes, to the low bytes of bits.
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

// Words returns pointers to the arguments, of 8 bytes each. ok is false when one may be more: a structure or an array.
func (a *Args) Words() (pointers []unsafe.Pointer, ok bool) { return a.pointers, !a.structs }

func (a *Args) table() unsafe.Pointer {
	if len(a.pointers) == 0 {
		return nil
	}
	return unsafe.Pointer(&a.pointers[0])
}

// Launch puts a kernel on a stream.
func (d *Driver) Launch(s Stream, f Function, grid, block Dim, shared uint32, a *Args) error {
	return d.check(&d.c.launch, d.c.launch.quick11(uintptr(f), uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z), uintptr(shared), uintptr(s), uintptr(a.table()), 0))
}

// LaunchOptions are the options of LaunchEx beyond a plain launch.
type LaunchOptions struct {
	Cluster     Dim  // blocks of a cluster; zero is none
	Overlap     bool // the kernel may start before the one ahead of it on the stream ends, and waits itself (griddepcontrol)
	Cooperative bool // all blocks run at once and may wait for each other
}

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block Dim
	shared      uint32
	_           uint32
	stream      Stream
	attrs       *launchAttribute
	count       uint32
	_           uint32
}

// launchAttribute is CUlaunchAttribute: a number, and 64 bytes of value at offset 8.
type launchAttribute struct {
	id    uint32
	_     uint32
	value [16]uint32
}

// Numbers of launch attributes.
const (
	attributeCooperative = 2
	attributeCluster     = 4
	attributeOverlap     = 6
)

// LaunchEx puts a kernel on a stream, with options.
func (d *Driver) LaunchEx(s Stream, f Function, grid, block Dim, shared uint32, a *Args, o LaunchOptions) error {
	if !d.c.launchEx.there() {
		return missing(driverName, d.c.launchEx.name)
	}
	n := 0
	add := func(id uint32, value ...uint32) {
		a.attrs[n] = launchAttribute{id: id}
		copy(a.attrs[n].value[:], value)
		n++
	}
	if o.Cluster.X != 0 {
		add(attributeCluster, o.Cluster.X, max(o.Cluster.Y, 1), max(o.Cluster.Z, 1))
	}
	if o.Overlap {
		add(attributeOverlap, 1)
	}
	if o.Cooperative {
		add(attributeCooperative, 1)
	}
	a.config = launchConfig{grid: grid, block: block, shared: shared, stream: s, attrs: &a.attrs[0], count: uint32(n)}
	return d.check(&d.c.launchEx, d.c.launchEx.quick(uintptr(unsafe.Pointer(&a.config)), uintptr(f), uintptr(a.table()), 0))
}
