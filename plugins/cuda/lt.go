package cuda

import (
	"errors"
	"fmt"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// lt is cuBLASLt as a gpu.Library: products of matrices, with what an epilogue adds.
type lt struct {
	none
	device *device

	mu     sync.Mutex // guards what follows
	handle *nv.LtHandle
}

// none implements gpu.Library's methods without candidates.
type none struct{}

func (none) Product(gpu.Product) ([]gpu.Candidate, error)         { return nil, nil }
func (none) Convolution(gpu.Convolution) ([]gpu.Candidate, error) { return nil, nil }
func (none) Attention(gpu.Attention) ([]gpu.Candidate, error)     { return nil, nil }

// Name implements gpu.Library.
func (l *lt) Name() string { return "cuBLASLt" }

// Version implements gpu.Library.
func (l *lt) Version() string { return l.device.libs.Report.Row("cublaslt").Version }

// ltTypes says which products there are, by the types of factors and result: how they are computed, in the types of cuBLASLt.
var ltTypes = map[[2]dtype.DType]struct {
	factors, result nv.DataType
	compute         nv.Compute
	scale           nv.DataType
}{
	{dtype.F32, dtype.F32}:   {nv.F32, nv.F32, nv.ComputeF32, nv.F32},
	{dtype.F64, dtype.F64}:   {nv.F64, nv.F64, nv.ComputeF64, nv.F64},
	{dtype.F16, dtype.F16}:   {nv.F16, nv.F16, nv.ComputeF32, nv.F32},
	{dtype.F16, dtype.F32}:   {nv.F16, nv.F32, nv.ComputeF32, nv.F32},
	{dtype.BF16, dtype.BF16}: {nv.BF16, nv.BF16, nv.ComputeF32, nv.F32},
	{dtype.BF16, dtype.F32}:  {nv.BF16, nv.F32, nv.ComputeF32, nv.F32},
	{dtype.I8, dtype.I32}:    {nv.I8, nv.I32, nv.ComputeI32, nv.I32},
}

var ltBias = map[dtype.DType]nv.DataType{dtype.F32: nv.F32, dtype.F64: nv.F64, dtype.F16: nv.F16, dtype.BF16: nv.BF16}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), nv.ErrUnsupported)
}

// productSpec describes a product to cuBLASLt, whose matrices are column-major: the operands are exchanged.
func productSpec(p *gpu.Product) (nv.MatmulSpec, error) {
	t, ok := ltTypes[[2]dtype.DType{p.A.Type, p.D.Type}]
	if !ok || p.A.Type != p.B.Type {
		return nv.MatmulSpec{}, refuse("product of %v and %v to %v", p.A.Type, p.B.Type, p.D.Type)
	}
	transA, lda := rowMajor(p.A)
	transB, ldb := rowMajor(p.B)
	s := nv.RowMajor(int64(p.M), int64(p.N), int64(p.K), t.factors, t.factors, transA, transB, lda, ldb, t.result, int64(p.D.Row))
	s.Compute, s.Scale = t.compute, t.scale
	if p.TF32 && p.A.Type == dtype.F32 {
		s.Compute = nv.ComputeTF32
	}
	if p.Batch > 1 {
		for _, x := range []struct {
			l *nv.Layout
			m gpu.Matrix
		}{{&s.A, p.B}, {&s.B, p.A}, {&s.C, p.D}, {&s.D, p.D}} {
			x.l.Batch, x.l.Stride = p.Batch, int64(x.m.Batch)
		}
	}
	return s, epilogue(p, &s)
}

// rowMajor reports whether a matrix lies column by column, and the elements of a line.
func rowMajor(m gpu.Matrix) (transposed bool, ld int64) {
	if m.Col == 1 {
		return false, int64(m.Row)
	}
	return true, int64(m.Col)
}

func epilogue(p *gpu.Product, s *nv.MatmulSpec) error {
	half := p.D.Type == dtype.F16 || p.D.Type == dtype.BF16
	e := map[gpu.Activation]nv.Epilogue{gpu.None: nv.EpilogueNone, gpu.ReLU: nv.EpilogueRelu, gpu.GELUTanh: nv.EpilogueGelu}[p.Activation]
	switch {
	case e == 0:
		return refuse("product with activation %d", p.Activation)
	case e == nv.EpilogueGelu && !half:
		return refuse("gelu of %v: its tanh is good for types of 16 bits", p.D.Type)
	}
	if p.Bias != dtype.Invalid {
		t, ok := ltBias[p.Bias]
		if !ok {
			return refuse("bias of %v", p.Bias)
		}
		s.BiasType, s.BiasTyped = t, true
		if e == nv.EpilogueNone {
			e = 0
		}
		e |= nv.EpilogueBias
	}
	s.Epilogue = e
	return nil
}

const (
	ltWorkspace = 32 << 20
	biasAlign   = 16 // of the heuristics nothing says what they take a bias for (pytorch#194497)
)

// Product implements gpu.Library: the best algorithms for addresses that are multiples of 256, as those of tensors are, and of less for
// those that begin within one.
func (l *lt) Product(p gpu.Product) ([]gpu.Candidate, error) {
	spec, err := productSpec(&p)
	if err != nil {
		return nil, named("product", err)
	}
	x := &product{device: l.device, p: p}
	x.run = nv.MatmulRun{Alpha: 1, WorkspaceSize: ltWorkspace}
	if p.Residual {
		x.run.Beta = 1
	}
	var found []gpu.Candidate
	err = l.device.Do("product", func() error {
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

// open returns the handle, made when it is first wanted. The context is current.
func (l *lt) open() (*nv.LtHandle, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handle == nil {
		h, err := l.device.libs.Lt.NewHandle()
		if err != nil {
			return nil, err
		}
		l.handle = h
	}
	return l.handle, nil
}

// close releases the handle. The context is current.
func (l *lt) close() error {
	if l.handle == nil {
		return nil
	}
	return l.handle.Close()
}

// product is a product whose descriptors are made, shared by its candidates.
type product struct {
	device *device
	p      gpu.Product

	mu     sync.Mutex // guards what follows
	matmul *nv.Matmul
	run    nv.MatmulRun
	users  int
}

// candidates asks for algorithms, by alignment.
func (x *product) candidates() ([]gpu.Candidate, error) {
	var found []gpu.Candidate
	var errs []error
	for _, c := range []struct{ align, most int }{{256, 3}, {16, 1}, {x.p.A.Type.Size(), 1}} {
		f := nv.Preference{Workspace: ltWorkspace, AlignA: c.align, AlignB: c.align, AlignC: max(c.align, x.p.D.Type.Size()), AlignD: max(c.align, x.p.D.Type.Size()),
			Exact: x.p.D.Type == dtype.F16 || x.p.D.Type == dtype.BF16}
		x.run.Bias = 1<<20 + biasAlign
		algos, err := x.matmul.Heuristic(f, &x.run, c.most)
		errs = append(errs, err)
		for i := range algos {
			found = append(found, &matmul{product: x, algo: algos[i], align: c.align, number: i})
		}
	}
	x.users = len(found)
	return found, errors.Join(errs...)
}

// matmul is a candidate for a product.
type matmul struct {
	*product
	algo   nv.Algo
	align  int
	number int
}

// Name implements gpu.Candidate.
func (m *matmul) Name() string {
	p := &m.p
	return fmt.Sprintf("cuBLASLt %v %dx%dx%dx%d, choice %d for addresses that are multiples of %d", p.D.Type, p.Batch, p.M, p.N, p.K, m.number, m.align)
}

// Workspace implements gpu.Candidate.
func (m *matmul) Workspace() int64 { return int64(m.algo.Workspace) }

// Ready implements gpu.Candidate.
func (m *matmul) Ready(args []gpu.Ref) error {
	for i, r := range args {
		align := nv.Ptr(m.align)
		switch {
		case i == 3 && m.p.Bias != dtype.Invalid:
			align = biasAlign
		case i >= 2:
			align = max(align, nv.Ptr(m.p.D.Type.Size()))
		}
		if at := streams.Address(r); at%align != 0 {
			return refuse("cuBLASLt: operand %d at %#x, want a multiple of %d", i, uintptr(at), align)
		}
	}
	return nil
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
	return q.Call(m.Name(), "a product of cuBLASLt", func(s nv.Stream) error { return m.matmul.Run(s, r, &m.algo) })
}

// Close implements gpu.Candidate.
func (m *matmul) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.users--; m.users == 0 {
		_ = m.device.Do("close", m.matmul.Close)
	}
}
