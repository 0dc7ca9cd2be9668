package router_test

import (
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/internal/long"
)

// told collects the arguments of OnFallback.
type told struct {
	sync.Mutex
	list []router.Fallback
}

func (x *told) option() router.Option {
	return router.OnFallback(func(f router.Fallback) {
		x.Lock()
		x.list = append(x.list, f)
		x.Unlock()
	})
}

// Ops that the main member lacks run on the helper. Each such node is counted, and each class is reported once. Later nodes run on the main
// member again.
func TestFallback(t *testing.T) {
	for _, bare := range []bool{false, true} {
		var said told
		main := plant(t, "exp", "sort")
		main.bare = bare
		r := over(t, []*core.Place{place("main", main), place("helper", processor(t))}, said.option())
		for range 3 {
			x := r.write(r.s, 0, 0)
			far := r.do(r.s, op.Exp, x)
			far = r.do(r.s, op.Exp, far)
			back := r.do(r.s, op.Neg, far)
			require.InDelta(t, -2.718, r.read(r.s, back)[0], 0.01)
			r.free(r.s, x, far, back)
		}
		st := r.Stats()
		require.Equal(t, int64(6), st.Members[1].Nodes)
		require.Equal(t, int64(6), st.Members[1].Fallbacks)
		require.Equal(t, int64(3), st.Members[0].Nodes)
		require.Zero(t, st.Members[0].Fallbacks)
		require.Len(t, said.list, 1)
		f := said.list[0]
		require.Equal(t, router.Fallback{Op: "exp", Class: "f32 2^1", From: "main", To: "helper", Reason: f.Reason}, f)
		require.ErrorIs(t, f.Reason, core.ErrUnsupported)
		require.Contains(t, f.String(), "exp of f32 2^1 runs on helper, as main does not claim it: main: exp")
		r.do(r.s, op.Exp, r.write(r.s, 1, 2, 3, 4, 5))
		require.Len(t, said.list, 2)
		require.Equal(t, "f32 2^3", said.list[1].Class)
		require.Equal(t, []router.LinkStats{{From: "main", To: "helper", Tensors: 4, Bytes: 3*8 + 20}, {From: "helper", To: "main", Tensors: 3, Bytes: 24}}, r.Stats().Links)
	}
}

func TestStrict(t *testing.T) {
	main := plant(t, "exp")
	r := over(t, []*core.Place{place("main", main), place("helper", processor(t))}, router.Strict())
	_, claimed := r.Capabilities().Ops["exp"]
	require.False(t, claimed)
	n := r.node(op.Exp, []op.Desc{r.write(r.s, 1)})
	require.ErrorIs(t, core.TargetOf("router", r.Device).Supports(&n, []op.Desc{{DType: dtype.F32, Shape: []int{1}}}), core.ErrUnsupported)
	err := r.s.Submit([]op.Node{n}, nil)
	if err == nil {
		err = core.Sync(ctx, r.s)
	}
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.Zero(t, r.Stats().Members[1].Nodes)
}

// Without Strict, the device claims the ops that any member claims, and no others.
func TestUnion(t *testing.T) {
	r := over(t, []*core.Place{place("a", plant(t, "exp", "gelu")), place("b", plant(t, "sort", "gelu"))})
	ops := r.Capabilities().Ops
	require.Contains(t, ops, "exp")
	require.Contains(t, ops, "sort")
	require.NotContains(t, ops, "gelu")
	x := op.DescOf(dtype.F32, 4)
	target := core.TargetOf("router", r.Device)
	for _, c := range []op.Code{op.Exp, op.Neg} {
		n, err := op.New(c, []op.Desc{x})
		require.NoError(t, err)
		require.NoError(t, target.Supports(&n, []op.Desc{x}))
	}
	n, err := op.New(op.Gelu, []op.Desc{x})
	require.NoError(t, err)
	require.ErrorIs(t, target.Supports(&n, []op.Desc{x}), core.ErrUnsupported)
	_, selective := core.Extension[core.Selective](over(t, two(t)).Device)
	require.False(t, selective, "members with equal documents need no Selective")
}

// The conformance cases of every op of the table pass if the main member lacks that op.
func TestEveryOpLacked(t *testing.T) {
	sample := 60
	if long.Tests() {
		sample = 4
	}
	for _, c := range op.All() {
		name := op.Lookup(c).Name
		open := func() (core.Backend, error) {
			return router.New([]*core.Place{place("main", plant(t, name)), place("helper", processor(t))})
		}
		r, err := conformance.Check(t.Context(), open, conformance.Options{Run: "^" + regexp.QuoteMeta(name) + "/", Sample: sample, Shrink: -1})
		require.NoError(t, err, name)
		for _, x := range r.Results {
			if x.Status == conformance.Failed {
				t.Errorf("%s: %s", x.ID, x.Reason)
			}
		}
		require.Positive(t, r.Passed, name)
	}
}

// square returns a program: exp(x)·x + c, with intermediate results that cross members where one lacks exp, and outputs that
// repeat and pass an input on.
func square(t testing.TB, n int) *program.Program {
	x, c := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{n}}, op.Desc{ID: 2, DType: dtype.F32, Shape: []int{n}}
	last := op.TensorID(2)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Add, b.Do(op.Mul, b.Do(op.Exp, x), x), c)
	require.NoError(t, b.Err())
	return &program.Program{Name: "square", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID, y.ID, x.ID, c.ID}}
}

// A program runs partly on the helper if the main member lacks one of its ops. The results are right, and no tensors or programs remain.
func TestProgramFallback(t *testing.T) {
	for _, bare := range []bool{false, true} {
		main := plant(t, "exp")
		main.bare = bare
		r := over(t, []*core.Place{place("main", main), place("helper", processor(t))})
		p, ok := core.Extension[core.Programs](r.Device)
		require.True(t, ok)
		c := r.write(r.s, 100, 100)
		id, err := p.Define(ctx, r.s, square(t, 2), []op.TensorID{c.ID})
		require.NoError(t, err)
		r.free(r.s, c)
		require.ErrorIs(t, core.Read(ctx, r.s, c.ID, make([]byte, 8)), core.ErrUnknownTensor, "the host has freed it")
		for k := range 4 {
			x := r.write(r.s, 0, 1)
			var out []op.TensorID
			for range 4 {
				out = append(out, r.NewIDs(1))
			}
			require.NoError(t, p.Run(r.s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Donated: []bool{k%2 == 0}, Outputs: out}))
			for i, want := range [][]float32{{100, 102.71828}, {100, 102.71828}, {0, 1}, {100, 100}} {
				require.InDeltaSlice(t, want, r.read(r.s, op.Desc{ID: out[i], DType: dtype.F32, Shape: []int{2}}), 1e-4, "output %d", i)
			}
			if k%2 != 0 {
				out = append(out, x.ID)
			}
			require.NoError(t, r.s.Submit(nil, out))
		}
		require.NoError(t, core.Sync(ctx, r.s))
		if !bare {
			plan := r.Plans()[0].String()
			require.Contains(t, plan, "main lacks exp")
			require.Contains(t, plan, "helper")
		}
		require.NoError(t, p.Undefine(id))
		require.ErrorIs(t, p.Undefine(id), core.ErrNotFound)
		require.Empty(t, r.Plans())
		require.Equal(t, int64(0), r.live(r.s))
		require.Zero(t, main.programs.Load())
		require.ErrorIs(t, p.Run(r.s, core.Run{Program: id}), core.ErrNotFound)
	}
}

// If the parts of a program run on several members, a failed part poisons only the results that depend on it.
func TestFailedPart(t *testing.T) {
	r := over(t, []*core.Place{place("a", plant(t, "exp")), place("b", processor(t))})
	ps, ok := core.Extension[core.Programs](r.Device)
	require.True(t, ok)
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	x, at := op.Desc{ID: next(), DType: dtype.F32, Shape: []int{2}}, op.Desc{ID: next(), DType: dtype.I32, Shape: []int{2}}
	b := op.NewBuilder(next)
	good := b.Do(op.Exp, x)
	bad := b.With(op.Gather, []op.Desc{x, at}, op.Int("axis", 0), op.Int("batch", 0))
	behind := b.Do(op.Exp, bad)
	require.NoError(t, b.Err())
	id, err := ps.Define(ctx, r.s, &program.Program{Name: "parts", Inputs: []op.Desc{x, at}, Nodes: b.Nodes, Outputs: []op.TensorID{good.ID, bad.ID, behind.ID}}, nil)
	require.NoError(t, err)
	in := r.write(r.s, 0, 0)
	wrong := op.Desc{ID: r.NewIDs(1), DType: dtype.I32, Shape: []int{2}}
	require.NoError(t, r.s.Write(ctx, wrong, dtype.Bytes([]int32{0, 7})))
	first := r.NewIDs(3)
	out := []op.TensorID{first, first + 1, first + 2}
	require.NoError(t, ps.Run(r.s, core.Run{Program: id, Inputs: []op.TensorID{in.ID, wrong.ID}, Outputs: out}))
	require.Equal(t, []float32{1, 1}, r.read(r.s, op.Desc{ID: out[0], DType: dtype.F32, Shape: []int{2}}))
	for _, id := range out[1:] {
		require.ErrorIs(t, core.Read(ctx, r.s, id, make([]byte, 8)), core.ErrIndex)
	}
	require.Equal(t, []float32{0, 0}, r.read(r.s, in))
	require.ErrorIs(t, core.Sync(ctx, r.s), core.ErrIndex)
	require.NoError(t, core.Sync(ctx, r.s))
}
