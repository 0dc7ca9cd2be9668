package library

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/lt"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// types lists the supported products by the types of factors and result, and how each is computed.
var types = map[[2]dtype.DType]struct {
	factors, result lt.DataType
	compute         lt.Compute
	scale           lt.DataType
}{
	{dtype.F32, dtype.F32}:   {lt.F32, lt.F32, lt.ComputeF32, lt.F32},
	{dtype.F64, dtype.F64}:   {lt.F64, lt.F64, lt.ComputeF64, lt.F64},
	{dtype.F16, dtype.F16}:   {lt.F16, lt.F16, lt.ComputeF32, lt.F32},
	{dtype.F16, dtype.F32}:   {lt.F16, lt.F32, lt.ComputeF32, lt.F32},
	{dtype.BF16, dtype.BF16}: {lt.BF16, lt.BF16, lt.ComputeF32, lt.F32},
	{dtype.BF16, dtype.F32}:  {lt.BF16, lt.F32, lt.ComputeF32, lt.F32},
}

var biasTypes = map[dtype.DType]lt.DataType{dtype.F32: lt.F32, dtype.F64: lt.F64, dtype.F16: lt.F16, dtype.BF16: lt.BF16}

// Spec describes a product to libraries whose matrices are column-major: the operands are exchanged.
func Spec(p *gpu.Product) (lt.MatmulSpec, error) {
	t, ok := types[[2]dtype.DType{p.A.Type, p.D.Type}]
	if !ok || p.A.Type != p.B.Type {
		return lt.MatmulSpec{}, Refuse("product of %v and %v to %v", p.A.Type, p.B.Type, p.D.Type)
	}
	transA, lda := rowMajor(p.A)
	transB, ldb := rowMajor(p.B)
	s := lt.RowMajor(int64(p.M), int64(p.N), int64(p.K), t.factors, t.factors, transA, transB, lda, ldb, t.result, int64(p.D.Row))
	s.Compute, s.Scale = t.compute, t.scale
	if p.TF32 && p.A.Type == dtype.F32 {
		s.Compute = lt.ComputeTF32
	}
	if p.Batch > 1 {
		for _, x := range []struct {
			l *lt.Layout
			m gpu.Matrix
		}{{&s.A, p.B}, {&s.B, p.A}, {&s.C, p.D}, {&s.D, p.D}} {
			x.l.Batch, x.l.Stride = p.Batch, int64(x.m.Batch)
		}
	}
	return s, epilogue(p, &s)
}

// rowMajor reports whether a matrix is stored column by column, and returns its leading dimension in elements.
func rowMajor(m gpu.Matrix) (transposed bool, ld int64) {
	if m.Col == 1 {
		return false, int64(m.Row)
	}
	return true, int64(m.Col)
}

func epilogue(p *gpu.Product, s *lt.MatmulSpec) error {
	half := p.D.Type == dtype.F16 || p.D.Type == dtype.BF16
	e := map[gpu.Activation]lt.Epilogue{gpu.None: lt.EpilogueNone, gpu.ReLU: lt.EpilogueRelu, gpu.GELUTanh: lt.EpilogueGelu}[p.Activation]
	switch {
	case e == 0:
		return Refuse("product with activation %d", p.Activation)
	case e == lt.EpilogueGelu && !half:
		return Refuse("gelu of %v: its tanh is good for types of 16 bits", p.D.Type)
	}
	if p.Bias != dtype.Invalid {
		t, ok := biasTypes[p.Bias]
		if !ok {
			return Refuse("bias of %v", p.Bias)
		}
		s.BiasType, s.BiasTyped = t, true
		if e == lt.EpilogueNone {
			e = 0
		}
		e |= lt.EpilogueBias
	}
	s.Epilogue = e
	return nil
}

// Products is a library with the interface of cuBLASLt as a gpu.Library: products of matrices with epilogues.
type Products struct {
	None
	o ProductOptions

	mu     sync.Mutex // guards the fields below
	handle *lt.Handle
}

// ProductOptions are the differences between libraries.
type ProductOptions struct {
	Name, Version string
	Device        *streams.GPU
	Lt            *lt.Lt
	// Classes are asked for algorithms in this order.
	Classes []Class
	// Refuse, if it is set, returns an error for products that the library computes wrongly. The library is not used for these products.
	Refuse func(p *gpu.Product) error
}

// Class is an alignment of addresses in bytes, at least the alignment of the type, and the number of algorithms to request for it.
type Class struct{ Align, Most int }

// NewProducts returns the library. The library creates its handle when the handle is first needed.
func NewProducts(o ProductOptions) *Products { return &Products{o: o} }

// Name implements gpu.Library.
func (l *Products) Name() string { return l.o.Name }

// Version implements gpu.Library.
func (l *Products) Version() string { return l.o.Version }

const (
	// ProductWorkspace is the largest workspace of a product, in bytes.
	ProductWorkspace = 32 << 20
	biasAlign        = 16 // no document says which alignment of a bias the heuristics assume (pytorch#194497)
)

// Product implements gpu.Library: the best algorithms for each class of addresses.
func (l *Products) Product(p gpu.Product) ([]gpu.Candidate, error) {
	spec, err := Spec(&p)
	if err == nil && l.o.Refuse != nil {
		err = l.o.Refuse(&p)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.o.Name, streams.Sentinel(err))
	}
	x := &product{library: l, p: p}
	x.run = lt.MatmulRun{Alpha: 1, WorkspaceSize: ProductWorkspace}
	if p.Residual {
		x.run.Beta = 1
	}
	var found []gpu.Candidate
	err = l.o.Device.Do("product", func() error {
		h, err := l.open()
		if err != nil {
			return err
		}
		if x.matmul, err = h.NewMatmul(spec); err != nil {
			return err
		}
		found, err = x.candidates()
		if len(found) == 0 {
			return errors.Join(err, x.matmul.Close())
		}
		return nil
	})
	return found, err
}

// open returns the handle, which the first call creates. The context is current.
func (l *Products) open() (*lt.Handle, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == nil {
		h, err := l.o.Lt.NewHandle()
		if err != nil {
			return nil, err
		}
		l.handle = h
	}
	return l.handle, nil
}

// Close releases the handle. The context is current.
func (l *Products) Close() error {
	if l.handle == nil {
		return nil
	}
	return l.handle.Close()
}

// product is a product with its descriptors, which its candidates share.
type product struct {
	library *Products
	p       gpu.Product

	mu     sync.Mutex // guards the fields below
	matmul *lt.Matmul
	run    lt.MatmulRun
	users  int
}

// candidates requests algorithms for each alignment.
func (x *product) candidates() ([]gpu.Candidate, error) {
	var found []gpu.Candidate
	var errs []error
	factors, result := x.p.A.Type.Size(), x.p.D.Type.Size()
	for _, c := range x.library.o.Classes {
		align := max(c.Align, factors)
		f := lt.Preference{Workspace: ProductWorkspace, AlignA: align, AlignB: align, AlignC: max(align, result), AlignD: max(align, result),
			Exact: x.p.D.Type == dtype.F16 || x.p.D.Type == dtype.BF16}
		x.run.Bias = 1<<20 + biasAlign
		algos, err := x.matmul.Heuristic(f, &x.run, c.Most)
		errs = append(errs, err)
		for i := range algos {
			if algos[i].Workspace > ProductWorkspace {
				continue
			}
			found = append(found, &matmul{product: x, algo: algos[i], align: align, number: i})
		}
	}
	x.users = len(found)
	return found, errors.Join(errs...)
}

// matmul is a candidate for a product.
type matmul struct {
	*product
	algo   lt.Algo
	align  int
	number int
}

// Name implements gpu.Candidate.
func (m *matmul) Name() string {
	p := &m.p
	return fmt.Sprintf("%s %v %dx%dx%dx%d, choice %d for addresses that are multiples of %d", m.library.o.Name, p.D.Type, p.Batch, p.M, p.N, p.K, m.number, m.align)
}

// Workspace implements gpu.Candidate.
func (m *matmul) Workspace() int64 { return int64(m.algo.Workspace) }

// Ready implements gpu.Candidate.
func (m *matmul) Ready(args []gpu.Ref) error {
	return Aligned(m.library.o.Name, args, func(i int) int {
		switch {
		case i == 3 && m.p.Bias != dtype.Invalid:
			return biasAlign
		case i >= 2:
			return max(m.align, m.p.D.Type.Size())
		}
		return m.align
	})
}

// Call implements gpu.Candidate.
func (m *matmul) Call(x gpu.Queue, args []gpu.Ref, workspace gpu.Ref) error {
	q := x.(*streams.Queue)
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &m.run
	r.A, r.B, r.D, r.C = streams.Address(args[1]), streams.Address(args[0]), streams.Address(args[2]), 0
	rest := args[3:]
	if m.p.Bias != dtype.Invalid {
		r.Bias, rest = streams.Address(rest[0]), rest[1:]
	}
	if m.p.Residual {
		r.C = streams.Address(rest[0])
	}
	r.Workspace, r.WorkspaceSize = streams.Address(workspace), m.algo.Workspace
	return q.Call(m.Name(), "a product of "+m.library.o.Name, func(s streams.Stream) error { return m.matmul.Run(s, r, &m.algo) })
}

// Close implements gpu.Candidate.
func (m *matmul) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users == 0 {
		_ = m.library.o.Device.Do("close", m.matmul.Close) // a lost device has no descriptors
	}
}
