// Package lt binds the two libraries of matrix products with epilogues that have the interface of cuBLASLt: cuBLASLt itself, and hipBLASLt,
// which has the same functions under another prefix, with other numbers for attributes and a smaller algorithm structure. Numbers is the
// table of the differences; the cuda and rocm plugins have one table each, with its sources.
//
// The package is a binding: it must hold no tensors, no ops and no choice between libraries. These belong to package library.
package lt

import (
	"slices"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Lt is a loaded library.
type Lt struct {
	name    string
	numbers *Numbers
	c       Procs
}

// Procs are the functions of a library. A * in a name means the prefix of the library.
type Procs struct {
	create        vendor.Proc `c:"*Create"`
	destroy       vendor.Proc `c:"*Destroy"`
	matmul        vendor.Proc `c:"*Matmul"`
	heuristic     vendor.Proc `c:"*MatmulAlgoGetHeuristic"`
	descCreate    vendor.Proc `c:"*MatmulDescCreate"`
	descDestroy   vendor.Proc `c:"*MatmulDescDestroy"`
	descSet       vendor.Proc `c:"*MatmulDescSetAttribute"`
	layoutCreate  vendor.Proc `c:"*MatrixLayoutCreate"`
	layoutDestroy vendor.Proc `c:"*MatrixLayoutDestroy"`
	layoutSet     vendor.Proc `c:"*MatrixLayoutSetAttribute"`
	prefCreate    vendor.Proc `c:"*MatmulPreferenceCreate"`
	prefDestroy   vendor.Proc `c:"*MatmulPreferenceDestroy"`
	prefSet       vendor.Proc `c:"*MatmulPreferenceSetAttribute"`
}

// None in a table of numbers means that the library lacks the attribute.
const None = -1

// Numbers are the values in which libraries differ: attributes by their enumerations in C, and the size of an algorithm.
type Numbers struct {
	Prefix             string // prefix of the names of functions
	Plain, Transposed  uint64 // operations on a factor
	Computes           map[Compute]int32
	TransA, TransB     int // attributes of a product, from here on
	Epilogue           int
	Bias               int
	BiasType           int
	BiasStride         int
	Aux                int
	AuxLD              int
	AuxStride          int
	AuxType            int
	Scales             [3]int // attributes of the scales of A, B and D
	FastAccumulate     int
	LayoutOrder        int // attributes of a matrix, from here on
	LayoutBatch        int
	LayoutStride       int
	PrefWorkspace      int // attributes of a preference, from here on
	PrefReductions     int
	PrefAlign          int // the alignment of A; the numbers for B, C and D follow
	AlgoBytes          int // at most 64, a multiple of 8
	OutOfMemory        int32
	Unsupported, Fault []int32 // statuses with these meanings
	Describe           func(status int32) (name, text string)
}

func (n *Numbers) operation(transposed bool) uint64 {
	if transposed {
		return n.Transposed
	}
	return n.Plain
}

// New binds the functions of a library that was loaded. name is for errors.
func New(handle uintptr, name string, n *Numbers) (*Lt, error) {
	l := &Lt{name: name, numbers: n}
	if err := vendor.BindAs(handle, n.Prefix, &l.c); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *Lt) check(p *vendor.Proc, code int32) error {
	if code == 0 {
		return nil
	}
	return l.numbers.Error(l.name, p.Name, code)
}

// Error returns the error of a call that returned a status other than 0.
func (n *Numbers) Error(library, call string, status int32) error {
	e := &vendor.Error{Library: library, Call: call, Code: int(status)}
	e.Name, e.Text = n.Describe(status)
	switch {
	case status == n.OutOfMemory:
		e.Kind = vendor.ErrOutOfMemory
	case slices.Contains(n.Unsupported, status):
		e.Kind = vendor.ErrUnsupported
	case slices.Contains(n.Fault, status):
		e.Kind = vendor.ErrFault
	}
	return e
}

// Handle is a handle of the library on the device of the context that was current when the handle was created. Goroutines may share it.
type Handle struct {
	lt *Lt
	h  uintptr
}

// NewHandle creates a handle. Close releases it.
func (l *Lt) NewHandle() (*Handle, error) {
	h := &Handle{lt: l}
	return h, l.check(&l.c.create, l.c.create.Call(uintptr(unsafe.Pointer(&h.h))))
}

// Word returns the handle as a C value.
func (h *Handle) Word() uintptr { return h.h }

// Close releases the handle. No product may be under way in another goroutine.
func (h *Handle) Close() error {
	if h.h == 0 {
		return nil
	}
	code := h.lt.c.destroy.Call(h.h)
	h.h = 0
	return h.lt.check(&h.lt.c.destroy, code)
}
