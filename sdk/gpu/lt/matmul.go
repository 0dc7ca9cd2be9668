package lt

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Layout describes a matrix in memory. Matrices are column-major: element (r, c) is at c*LD + r.
type Layout struct {
	Type       DataType
	Rows, Cols int64
	LD         int64
	RowMajor   bool  // element (r, c) is at r*LD + c; not every type, operand and epilogue has kernels for it: see RowMajor
	Batch      int   // number of matrices; 0 means 1
	Stride     int64 // elements from one matrix of the batch to the next; 0 means one matrix for all
}

// MatmulSpec is the product D = epilogue(alpha*op(A)*op(B) + beta*C), where op transposes or does nothing.
type MatmulSpec struct {
	Compute        Compute
	Scale          DataType // type of alpha and beta: F32, or F16, F64, I32 with the compute type of that name
	A, B, C, D     Layout
	TransA, TransB bool
	Epilogue       Epilogue // 0 is EpilogueNone
	BiasType       DataType // type of the bias if it differs from D's; set BiasTyped
	BiasTyped      bool
	BiasStride     int64 // elements from one bias of the batch to the next; 0 means one bias for all
	AuxLD          int64 // leading dimension of the auxiliary matrix in elements; for relu in bits, a multiple of 128
	AuxStride      int64
	AuxType        DataType // set AuxTyped
	AuxTyped       bool
	FastAccumulate bool // sums of 8-bit floats are faster and less exact
	Scales         bool // A, B and D have scales in device memory: 8-bit floats
}

// RowMajor describes a product of row-major matrices, d[m,n] = op(a)[m,k] op(b)[k,n], as a product of column-major matrices in the same
// memory. The operands are exchanged: a run takes b as A and a as B. lda, ldb and ldd are the distances between stored rows, in elements. C
// has D's layout. The bias has one value for each of the n columns.
func RowMajor(m, n, k int64, ta, tb DataType, transA, transB bool, lda, ldb int64, td DataType, ldd int64) MatmulSpec {
	s := MatmulSpec{TransA: transB, TransB: transA}
	s.A = Layout{Type: tb, Rows: n, Cols: k, LD: ldb}
	if transB {
		s.A.Rows, s.A.Cols = k, n
	}
	s.B = Layout{Type: ta, Rows: k, Cols: m, LD: lda}
	if transA {
		s.B.Rows, s.B.Cols = m, k
	}
	s.D = Layout{Type: td, Rows: n, Cols: m, LD: ldd}
	s.C = s.D
	return s
}

// Matmul is a product with its descriptors. One goroutine at a time uses it; runs may still be in progress on streams.
type Matmul struct {
	h       *Handle
	spec    MatmulSpec
	desc    uintptr
	layouts [4]uintptr // A, B, C, D
	frame   vendor.Frame
	scalars [2]uint64 // alpha, beta
	word    uintptr
	bias    streams.Ptr
	aux     streams.Ptr
	scales  [3]streams.Ptr
}

// NewMatmul creates the descriptors of a product. Close destroys them.
func (h *Handle) NewMatmul(spec MatmulSpec) (*Matmul, error) {
	m := &Matmul{h: h, spec: spec}
	if spec.Epilogue == 0 {
		m.spec.Epilogue = EpilogueNone
	}
	if err := m.make(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Describe creates the descriptors of a product with the addresses of a run, and destroys them. It needs no device: it shows whether a
// library accepts the numbers of its table.
func (l *Lt) Describe(spec MatmulSpec, r *MatmulRun) error {
	m, err := (&Handle{lt: l}).NewMatmul(spec)
	if err != nil {
		return err
	}
	return errors.Join(m.point(r), m.Close())
}

func (m *Matmul) make() error {
	l, s := m.h.lt, &m.spec
	n := l.numbers
	compute, ok := n.Computes[s.Compute]
	if !ok {
		return &vendor.Error{Library: l.name, Call: l.c.descCreate.Name, Text: "a way to compute that it does not have", Kind: vendor.ErrUnsupported}
	}
	if err := l.check(&l.c.descCreate, l.c.descCreate.Call(uintptr(unsafe.Pointer(&m.desc)), uintptr(compute), uintptr(s.Scale))); err != nil {
		return err
	}
	set := func(when bool, attribute int, value uint64, size int) error {
		if !when {
			return nil
		}
		return m.set(&l.c.descSet, m.desc, attribute, value, size)
	}
	if err := errors.Join(
		set(true, n.TransA, n.operation(s.TransA), 4),
		set(true, n.TransB, n.operation(s.TransB), 4),
		set(true, n.Epilogue, uint64(s.Epilogue), 4),
		set(s.BiasTyped, n.BiasType, uint64(uint32(s.BiasType)), 4),
		set(s.BiasStride != 0, n.BiasStride, uint64(s.BiasStride), 8),
		set(s.Epilogue.aux(), n.AuxLD, uint64(s.AuxLD), 8),
		set(s.AuxStride != 0, n.AuxStride, uint64(s.AuxStride), 8),
		set(s.AuxTyped, n.AuxType, uint64(uint32(s.AuxType)), 4),
		set(s.FastAccumulate, n.FastAccumulate, 1, 1),
	); err != nil {
		return err
	}
	for i, y := range []*Layout{&s.A, &s.B, &s.C, &s.D} {
		if err := l.check(&l.c.layoutCreate, l.c.layoutCreate.Call(uintptr(unsafe.Pointer(&m.layouts[i])), uintptr(y.Type), uintptr(y.Rows), uintptr(y.Cols), uintptr(y.LD))); err != nil {
			return err
		}
		if y.RowMajor {
			if err := m.set(&l.c.layoutSet, m.layouts[i], n.LayoutOrder, 1, 4); err != nil {
				return err
			}
		}
		if y.Batch > 1 {
			if err := errors.Join(m.set(&l.c.layoutSet, m.layouts[i], n.LayoutBatch, uint64(y.Batch), 4),
				m.set(&l.c.layoutSet, m.layouts[i], n.LayoutStride, uint64(y.Stride), 8)); err != nil {
				return err
			}
		}
	}
	return nil
}

// set sets an attribute of size bytes in a descriptor, a layout or a preference.
func (m *Matmul) set(p *vendor.Proc, object uintptr, attribute int, value uint64, size int) error {
	if attribute == None {
		return &vendor.Error{Library: m.h.lt.name, Call: p.Name, Text: "the library has no such attribute", Kind: vendor.ErrUnsupported}
	}
	m.word = uintptr(value)
	return m.h.lt.check(p, p.Call(object, uintptr(attribute), uintptr(unsafe.Pointer(&m.word)), uintptr(size)))
}

// Close destroys the descriptors.
func (m *Matmul) Close() error {
	l := m.h.lt
	var errs []error
	for i, y := range m.layouts {
		if y != 0 {
			errs = append(errs, l.check(&l.c.layoutDestroy, l.c.layoutDestroy.Call(y)))
			m.layouts[i] = 0
		}
	}
	if m.desc != 0 {
		errs = append(errs, l.check(&l.c.descDestroy, l.c.descDestroy.Call(m.desc)))
		m.desc = 0
	}
	return errors.Join(errs...)
}

// Preference limits the choice of an algorithm.
type Preference struct {
	Workspace                      uint64 // bytes
	AlignA, AlignB, AlignC, AlignD int    // alignments of the addresses of later runs, in bytes, powers of 2; 0 means 256
	Exact                          bool   // sums over parts of the inner dimension are added in the compute type and not in the type of D
}

// Algo is a way to compute a product. It may be used again for the same spec and library version.
type Algo struct {
	data      [8]uint64
	Workspace uint64 // bytes of workspace that the algorithm needs
	Waves     float32
}

// A heuristic result of C is an algorithm, 8 bytes of workspace, a status and a float of 4 bytes each, and 16 reserved bytes.
const resultRest = 32

// result reads one heuristic result.
func (l *Lt) result(b []byte) (a Algo, status int32) {
	n := l.numbers.AlgoBytes
	for i := range n / 8 {
		a.data[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	a.Workspace = binary.LittleEndian.Uint64(b[n:])
	a.Waves = math.Float32frombits(binary.LittleEndian.Uint32(b[n+12:]))
	return a, int32(binary.LittleEndian.Uint32(b[n+8:]))
}

// Heuristic returns at most n algorithms, the best first. r, which may be nil, contains the addresses of the bias and the auxiliary matrix
// of later runs: their alignment matters. If there is no algorithm, the error is ErrUnsupported.
func (m *Matmul) Heuristic(p Preference, r *MatmulRun, n int) ([]Algo, error) {
	l := m.h.lt
	if r != nil {
		if err := m.point(r); err != nil {
			return nil, err
		}
	}
	var pref uintptr
	if err := l.check(&l.c.prefCreate, l.c.prefCreate.Call(uintptr(unsafe.Pointer(&pref)))); err != nil {
		return nil, err
	}
	defer func() { l.c.prefDestroy.Call(pref) }()
	if err := m.set(&l.c.prefSet, pref, l.numbers.PrefWorkspace, p.Workspace, 8); err != nil {
		return nil, err
	}
	if p.Exact && l.numbers.PrefReductions != None {
		const computeType = 2
		if err := m.set(&l.c.prefSet, pref, l.numbers.PrefReductions, computeType, 4); err != nil {
			return nil, err
		}
	}
	for i, bytes := range []int{p.AlignA, p.AlignB, p.AlignC, p.AlignD} {
		if bytes != 0 && l.numbers.PrefAlign != None {
			if err := m.set(&l.c.prefSet, pref, l.numbers.PrefAlign+i, uint64(bytes), 4); err != nil {
				return nil, err
			}
		}
	}
	size := l.numbers.AlgoBytes + resultRest
	results := make([]uint64, max(n, 1)*size/8)
	var count int32
	code := l.c.heuristic.Call(m.h.h, m.desc, m.layouts[0], m.layouts[1], m.layouts[2], m.layouts[3], pref, uintptr(max(n, 1)),
		uintptr(unsafe.Pointer(&results[0])), uintptr(unsafe.Pointer(&count)))
	if err := l.check(&l.c.heuristic, code); err != nil {
		return nil, err
	}
	var algos []Algo
	all := unsafe.Slice((*byte)(unsafe.Pointer(&results[0])), 8*len(results))
	for b := range slices.Chunk(all[:min(int(count), max(n, 1))*size], size) {
		if a, status := l.result(b); status == 0 {
			algos = append(algos, a)
		}
	}
	if len(algos) == 0 {
		return nil, &vendor.Error{Library: l.name, Call: l.c.heuristic.Name, Text: "no algorithm for these operands", Kind: vendor.ErrUnsupported}
	}
	return algos, nil
}

// MatmulRun holds the addresses and scalars of one run of a product. It must lie on the heap if runs should not allocate memory.
type MatmulRun struct {
	Alpha, Beta            float64     // converted to the spec's scale type
	A, B, C, D             streams.Ptr // C is D, or is not read when Beta is 0
	Bias, Aux              streams.Ptr
	ScaleA, ScaleB, ScaleD streams.Ptr // addresses of one float each, if the spec has Scales
	Workspace              streams.Ptr
	WorkspaceSize          uint64
}

// point writes the addresses that are part of the descriptor, if they have changed.
func (m *Matmul) point(r *MatmulRun) error {
	p := &m.h.lt.c.descSet
	if m.spec.Epilogue.bias() && r.Bias != m.bias {
		if err := m.set(p, m.desc, m.h.lt.numbers.Bias, uint64(r.Bias), 8); err != nil {
			return err
		}
		m.bias = r.Bias
	}
	if m.spec.Epilogue.aux() && r.Aux != m.aux {
		if err := m.set(p, m.desc, m.h.lt.numbers.Aux, uint64(r.Aux), 8); err != nil {
			return err
		}
		m.aux = r.Aux
	}
	if !m.spec.Scales {
		return nil
	}
	for i, at := range [3]streams.Ptr{r.ScaleA, r.ScaleB, r.ScaleD} {
		if at != m.scales[i] {
			if err := m.set(p, m.desc, m.h.lt.numbers.Scales[i], uint64(at), 8); err != nil {
				return err
			}
			m.scales[i] = at
		}
	}
	return nil
}

// scalar returns a number in the bits of the spec's scale type.
func (m *Matmul) scalar(v float64) uint64 {
	switch m.spec.Scale {
	case F64:
		return math.Float64bits(v)
	case I32:
		return uint64(uint32(int32(v)))
	case F16:
		return uint64(half(float32(v)))
	}
	return uint64(math.Float32bits(float32(v)))
}

// Run puts the product on a stream. ErrUnsupported means that another algorithm is needed.
func (m *Matmul) Run(s streams.Stream, r *MatmulRun, a *Algo) error {
	if err := m.point(r); err != nil {
		return err
	}
	l := m.h.lt
	m.scalars = [2]uint64{m.scalar(r.Alpha), m.scalar(r.Beta)}
	c := r.C
	if c == 0 {
		c = r.D
	}
	m.frame.Set(&l.c.matmul, [vendor.FrameArgs]uintptr{m.h.h, m.desc, uintptr(unsafe.Pointer(&m.scalars[0])), uintptr(r.A), m.layouts[0],
		uintptr(r.B), m.layouts[1], uintptr(unsafe.Pointer(&m.scalars[1])), uintptr(c), m.layouts[2], uintptr(r.D), m.layouts[3],
		uintptr(unsafe.Pointer(&a.data)), uintptr(r.Workspace), uintptr(r.WorkspaceSize), uintptr(s)})
	return l.check(&l.c.matmul, m.frame.Call(unsafe.Pointer(a)))
}

// half rounds a number to f16. Scalars of products are few and small: values that overflow become infinite.
func half(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	a := math.Float32frombits(b &^ (1 << 31))
	switch {
	case a != a:
		return sign | 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14: // subnormal: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(a)*0x1p24))
	}
	frac, exp := math.Frexp(float64(a)) // a = frac * 2^exp, frac in [0.5, 1)
	m := uint32(math.RoundToEven(frac * 2048))
	return sign | uint16(uint32(exp+13)<<10+m)
}
