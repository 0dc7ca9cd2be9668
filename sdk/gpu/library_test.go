package gpu

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// fakeLibrary computes products of f32 on the host. Tests say which candidates refuse and which fail.
type fakeLibrary struct {
	names  []string // of the candidates
	refuse func(name string, args []Ref) error
	fail   func(name string) error

	mu       sync.Mutex
	products []Product
	calls    map[string]int
	closed   atomic.Int64
}

func (l *fakeLibrary) Name() string    { return "fake" }
func (l *fakeLibrary) Version() string { return "1" }

func (l *fakeLibrary) Product(p Product) ([]Candidate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[string]int{}
	}
	if p.A.Type != dtype.F32 {
		return nil, core.ErrUnsupported
	}
	l.products = append(l.products, p)
	var cs []Candidate
	for _, n := range l.names {
		cs = append(cs, &fakeProduct{l, n, p})
	}
	return cs, nil
}

func (l *fakeLibrary) Convolution(Convolution) ([]Candidate, error) { return nil, core.ErrUnsupported }
func (l *fakeLibrary) Attention(Attention) ([]Candidate, error)     { return nil, core.ErrUnsupported }

type fakeProduct struct {
	l *fakeLibrary
	n string
	p Product
}

func (c *fakeProduct) Name() string     { return c.n }
func (c *fakeProduct) Workspace() int64 { return 1000 }
func (c *fakeProduct) Close()           { c.l.closed.Add(1) }

func (c *fakeProduct) Ready(args []Ref) error {
	if c.l.refuse != nil {
		return c.l.refuse(c.n, args)
	}
	return nil
}

func (c *fakeProduct) Call(q Queue, args []Ref, workspace Ref) error {
	c.l.mu.Lock()
	c.l.calls[c.n]++
	c.l.mu.Unlock()
	if c.l.fail != nil {
		if err := c.l.fail(c.n); err != nil {
			return err
		}
	}
	var m [][]float32
	for _, r := range args {
		b := r.bytes()
		m = append(m, unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4))
	}
	w := workspace.bytes()[:1000]
	return q.(*fakeQueue).do(func() error {
		for i := range w { // the workspace belongs to this call alone
			w[i] = 0xff
		}
		c.p.compute(m)
		return nil
	})
}

// compute computes a product on the operands of a call, as a library does.
func (p *Product) compute(m [][]float32) {
	at := func(x Matrix, b, i, j int) int { return b*x.Batch + i*x.Row + j*x.Col }
	rest := m[3:]
	for b := range p.Batch {
		for i := range p.M {
			for j := range p.N {
				s := float64(0)
				for k := range p.K {
					s += float64(m[0][at(p.A, b, i, k)]) * float64(m[1][at(p.B, b, k, j)])
				}
				r := rest
				if p.Bias != dtype.Invalid {
					s += float64(r[0][j])
					r = r[1:]
				}
				if p.Residual {
					s += float64(r[0][at(p.D, b, i, j)])
				}
				switch p.Activation {
				case ReLU:
					s = max(s, 0)
				case GELU:
					s = s / 2 * (1 + math.Erf(s/math.Sqrt2))
				}
				m[2][at(p.D, b, i, j)] = float32(s)
			}
		}
	}
}

// withLibrary returns a rig whose device has the library.
func withLibrary(t *testing.T, l *fakeLibrary) *rig {
	r := newRig(t, Options{}, func(d *fakeDevice) { d.libraries = []Library{l} })
	return r
}

func TestLibraryComputesProducts(t *testing.T) {
	l := &fakeLibrary{names: []string{"a"}}
	r := withLibrary(t, l)
	f := func(dims ...int) op.Desc { return op.DescOf(dtype.F32, dims...) }
	a, b := r.floats([]int{2, 3}, 1, 2, 3, 4, 5, 6), r.floats([]int{3, 2}, 1, 0, 0, 1, 1, 1)
	c := r.run(op.MatMul, ids(a, b), []op.Desc{f(2, 3), f(3, 2)}, 0)[0]
	require.Equal(t, []float32{4, 5, 10, 11}, r.read(c, 4))
	w := r.floats([]int{2, 3}, 1, 0, 1, 0, 1, 1)
	c = r.run(op.MatMul, ids(a, w), []op.Desc{f(2, 3), f(2, 3)}, 0, op.Flag("transpose_b", true))[0]
	require.Equal(t, []float32{4, 5, 10, 11}, r.read(c, 4))
	require.Equal(t, 2, l.calls["a"])
	require.Zero(t, r.fake.launches.Load())
}

// TestLibraryEpilogues checks which of the nodes behind a product become part of the call.
func TestLibraryEpilogues(t *testing.T) {
	l := &fakeLibrary{names: []string{"a"}}
	r := withLibrary(t, l)
	m := newMaker(t, "layer")
	x, w, bias, res := m.input(2, 3), m.input(3, 2), m.input(2), m.input(2, 2)
	y := m.node(op.Relu, ids(m.node(op.Add, ids(res, m.node(op.Add, ids(m.node(op.MatMul, ids(x, w)), bias))))))
	z := m.node(op.Neg, ids(m.node(op.Exp, ids(y))))
	m.p.Outputs = ids(z)
	p := r.define(m.p)
	out := r.call(p, 1, nil, r.floats([]int{2, 3}, 1, 2, 3, 4, 5, 6), r.floats([]int{3, 2}, 1, 0, 0, 1, 1, 1),
		r.floats([]int{2}, 100, -100), r.floats([]int{2, 2}, -103, 0, -110, 90))
	e := float32(math.E)
	got := r.read(out[0], 4)
	for i, want := range []float32{-e, -1, -1, -e} {
		require.InDelta(t, want, got[i], 1e-5)
	}
	require.Len(t, l.products, 1)
	require.True(t, l.products[0].Residual)
	require.Equal(t, dtype.F32, l.products[0].Bias)
	require.Equal(t, ReLU, l.products[0].Activation)
	require.EqualValues(t, 1, r.fake.launches.Load())
}

// refusals runs a program of three products with a library four times and compares the results with hand-computed ones.
func refusals(t *testing.T, l *fakeLibrary) *rig {
	r := withLibrary(t, l)
	m := newMaker(t, "products")
	x, w := m.input(2, 2), m.input(2, 2)
	y := m.node(op.Add, ids(x, w))
	for range 3 {
		y = m.node(op.MatMul, ids(y, w))
	}
	m.p.Outputs = ids(y)
	p := r.define(m.p)
	for range 4 {
		out := r.call(p, 1, nil, r.floats([]int{2, 2}, 1, 2, 3, 4), r.floats([]int{2, 2}, 0, 1, 1, 0))
		require.Equal(t, []float32{3, 1, 4, 4}, r.read(out[0], 4))
	}
	return r
}

func TestNextCandidateAfterARefusal(t *testing.T) {
	l := &fakeLibrary{names: []string{"a", "b"}, refuse: func(name string, _ []Ref) error {
		if name == "a" {
			return core.ErrUnsupported
		}
		return nil
	}}
	refusals(t, l)
	require.Zero(t, l.calls["a"])
	require.Equal(t, 12, l.calls["b"])
}

func TestNextCandidateAfterAFailure(t *testing.T) {
	l := &fakeLibrary{names: []string{"a", "b"}, fail: func(name string) error {
		if name == "a" {
			return errors.New("no")
		}
		return nil
	}}
	refusals(t, l)
	require.LessOrEqual(t, l.calls["a"], 3)
	require.Equal(t, 12, l.calls["b"])
}

func TestOwnKernelsWhereTheLibraryRefuses(t *testing.T) {
	never := errors.New("never")
	l := &fakeLibrary{names: []string{"a"}, refuse: func(string, []Ref) error { return never }}
	r := refusals(t, l)
	require.Zero(t, l.calls["a"])
	require.Positive(t, r.stats().Refusals)
	l = &fakeLibrary{names: []string{"a"}, fail: func(string) error { return never }}
	refusals(t, l)
	require.LessOrEqual(t, l.calls["a"], 3)
}
