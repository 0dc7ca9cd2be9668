package onnx_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

type values = map[string]onnx.Value

// reshaping returns a model that multiplies x by 2, reshapes it to the shape in s at run time, and adds 1.
func reshaping() *pb.Model {
	return modelOf(17, &pb.Graph{Name: "reshaping", Nodes: []*pb.Node{
		operator("Mul", ss("x", "two"), ss("a")),
		operator("Add", ss("s", "zero"), ss("shape")), // so that it is computed instead of given
		operator("Reshape", ss("a", "shape"), ss("b")),
		operator("Add", ss("b", "one"), ss("y")),
	}, Initializers: []*pb.Tensor{f32s("two", nil, 2), f32s("one", nil, 1), i64s("zero", nil, 0)},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, nil), decl("s", pb.Int64, nil)}, Outputs: bare("y")})
}

// A value that is read selects a branch of the plan. A new branch is traced, and the shared steps before it are not compiled again.
func TestBranchesByValue(t *testing.T) {
	h := open(t, reshaping())
	run := func(shape ...int64) {
		x, s := h.f32([]int{6}, 1, 2, 3, 4, 5, 6), h.i64([]int{len(shape)}, shape...)
		out := h.run(values{"x": x, "s": s})
		dims := make([]int, len(shape))
		for i, d := range shape {
			dims[i] = int(d)
		}
		h.want(out["y"], dims, 3, 5, 7, 9, 11, 13)
		out["y"].Release()
		x.Release()
		s.Release()
	}
	run(2, 3)
	require.Equal(t, onnx.Stats{Runs: 1, Misses: 1, Specialisations: 1, Steps: 4, Programs: 2}, h.s.Stats(),
		"program, read, program, finish")
	run(2, 3)
	require.Equal(t, 1, h.s.Stats().Hits)
	run(3, 2)
	require.Equal(t, onnx.Stats{Runs: 3, Hits: 1, Misses: 2, Specialisations: 1, Steps: 6, Programs: 3}, h.s.Stats(),
		"the first program and the read are shared")
	for range 2 {
		run(3, 2)
		run(2, 3)
	}
	require.Equal(t, 5, h.s.Stats().Hits)
	run(6, 1, 1)
	require.Equal(t, 2, h.s.Stats().Specialisations, "the shape of s is part of the signature")
}

func TestSessionHoldsNothingAfterClose(t *testing.T) {
	for name, m := range map[string]*pb.Model{"reshaping": reshaping(), "reshaping, forgetful": reshaping()} {
		t.Run(name, func(t *testing.T) {
			o := onnx.Options{}
			if name != "reshaping" {
				o = onnx.Options{MaxSteps: 3}
			}
			parsed, err := parse(m, o)
			require.NoError(t, err)
			h := &harness{t: t, dev: onStream(t, openRef(t))}
			before := h.memory()
			h.s, err = parsed.Open(h.dev)
			require.NoError(t, err)
			x, s, bad := h.f32([]int{6}, 1, 2, 3, 4, 5, 6), h.i64([]int{2}, 2, 3), h.i64([]int{2}, 4, 3)
			for range 3 {
				out := h.run(values{"x": x, "s": s})
				h.want(out["y"], []int{2, 3}, 3, 5, 7, 9, 11, 13)
				out["y"].Release()
				_, err := h.s.Run(t.Context(), values{"x": x, "s": bad})
				require.ErrorIs(t, err, onnx.ErrModel)
				var ne *onnx.NodeError
				require.ErrorAs(t, err, &ne)
				require.Equal(t, "Reshape", ne.Op)
				require.Equal(t, "b", ne.Node)
			}
			kept := h.s.Stats()
			if o.MaxSteps > 0 {
				require.LessOrEqual(t, kept.Steps, 3)
				require.Zero(t, kept.Hits, "a run whose steps are forgotten is traced again")
			} else {
				require.Equal(t, 2, kept.Hits)
			}
			x.Release()
			s.Release()
			bad.Release()
			during := h.memory()
			require.NoError(t, h.s.Close())
			require.NoError(t, h.s.Close())
			require.Equal(t, before, h.memory())
			require.NotEqual(t, before, during)
			_, err = h.s.Run(t.Context(), nil)
			require.Error(t, err)
			_, err = h.s.Run(t.Context(), values{"x": x, "s": s})
			require.ErrorIs(t, err, core.ErrClosed)
		})
	}
}

// A session keeps the most recently used signatures.
func TestForgets(t *testing.T) {
	h := openWith(t, reshaping(), onnx.Options{MaxSpecialisations: 2})
	run := func(n int) {
		v := make([]float32, n)
		h.run(values{"x": h.f32([]int{n}, v...), "s": h.i64([]int{1}, -1)})
	}
	for _, n := range []int{1, 2, 1, 3, 1} { // 3 evicts 2
		run(n)
	}
	require.Equal(t, 2, h.s.Stats().Specialisations)
	require.Equal(t, 2, h.s.Stats().Hits)
	run(2)
	require.Equal(t, 2, h.s.Stats().Hits)
}

func TestInputErrors(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Add", ss("a", "b"), ss("s")), operator("Add", ss("s", "bias"), ss("y"))},
		Inputs:       []*pb.ValueInfo{decl("a", pb.Float, "n", 2), decl("b", pb.Float, "n", 0), decl("bias", pb.Float)},
		Initializers: []*pb.Tensor{f32s("bias", nil, 100)}, Outputs: bare("y")})
	h := open(t, m)
	a, b := h.f32([]int{1, 2}, 1, 2), h.f32([]int{1, 2}, 3, 4)
	h.want(h.run(values{"a": a, "b": b})["y"], []int{1, 2}, 104, 106)
	h.want(h.run(values{"a": a, "b": b, "bias": h.f32(nil, 0)})["y"], []int{1, 2}, 4, 6)
	all := `; the model takes a: f32[n,2], b: f32[n,?], and 1 with defaults`
	for _, c := range []struct {
		name string
		in   values
		want string
	}{
		{"none", nil, `missing "a", "b"`},
		{"one", values{"b": b}, `missing "a"`},
		{"unknown", values{"a": a, "b": b, "c": b}, `unknown "c"`},
		{"rank", values{"a": h.f32([]int{2}, 1, 2), "b": b}, `"a" is f32[2], want f32[n,2]`},
		{"fixed dimension", values{"a": h.f32([]int{1, 1}, 1), "b": b}, `"a" is f32[1,1], want f32[n,2]`},
		{"type", values{"a": h.i64([]int{1, 2}, 1, 2), "b": b}, `"a" is i64[1,2], want f32[n,2]`},
		{"kind", values{"a": onnx.SequenceValue(dtype.F32, a), "b": b}, `"a" is sequence(f32[1,2]), want f32[n,2]`},
		{"symbol", values{"a": a, "b": h.f32([]int{2, 2}, 1, 2, 3, 4)}, `dimension 0 of "b" is 2, want "n" to be 1 as in "a"`},
		{"all at once", values{"a": h.f32([]int{1, 1}, 1), "c": b}, `missing "b"; unknown "c"; "a" is f32[1,1], want f32[n,2]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := h.s.Run(t.Context(), c.in)
			require.ErrorIs(t, err, onnx.ErrInput)
			require.EqualError(t, err, "onnx: inputs: "+c.want+all)
		})
	}
}

// Outputs belong to the caller alone, also if they are inputs, initializers or values with several names in the graph.
func TestOutputsAreNew(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Identity", ss("x"), ss("same")), operator("Neg", ss("x"), ss("n")),
		operator("Identity", ss("n"), ss("again"))},
		Initializers: []*pb.Tensor{f32s("w", []int64{2}, 5, 6)},
		Inputs:       []*pb.ValueInfo{decl("x", pb.Float, 2)}, Outputs: bare("x", "same", "n", "again", "w", "n")})
	h := open(t, m)
	x := h.f32([]int{2}, 1, 2)
	for range 2 {
		out := h.run(values{"x": x})
		require.Len(t, out, 5)
		for name, want := range map[string][]float64{"x": {1, 2}, "same": {1, 2}, "n": {-1, -2}, "again": {-1, -2}, "w": {5, 6}} {
			h.want(out[name], []int{2}, want...)
			out[name].Release()
		}
		h.want(x, []int{2}, 1, 2)
	}
	x.Release()
	require.NoError(t, h.s.Close())
	require.Zero(t, h.memory())
}

// A session that is opened and run inside a scope outlives it; its results do not.
func TestScopes(t *testing.T) {
	h := open(t, reshaping())
	parsed := h.s.Model()
	var s *onnx.Session
	var gone *tensor.Tensor
	var err error
	run := func(d *tensor.Device) *tensor.Tensor {
		x := d.Op(op.Full, nil, op.ScalarInt("value", 1), op.Type("dtype", dtype.F32), op.Ints("shape", 4))[0]
		shape := d.Op(op.Full, nil, op.ScalarInt("value", 2), op.Type("dtype", dtype.I64), op.Ints("shape", 2))[0]
		out, err := s.Run(t.Context(), values{"x": onnx.TensorValue(x), "s": onnx.TensorValue(shape)})
		require.NoError(t, err)
		return out["y"].Tensor()
	}
	kept := tensor.Scope(h.dev, func(d *tensor.Device) []*tensor.Tensor {
		s, err = parsed.Open(d)
		require.NoError(t, err)
		gone = run(d)
		return []*tensor.Tensor{run(d)}
	})
	h.want(onnx.TensorValue(kept[0]), []int{2, 2}, 3, 3, 3, 3)
	_, err = gone.Bytes(t.Context())
	require.ErrorIs(t, err, core.ErrUnknownTensor)
	h.want(onnx.TensorValue(run(h.dev)), []int{2, 2}, 3, 3, 3, 3)
	require.Equal(t, 2, s.Stats().Hits)
}

func TestConcurrentRuns(t *testing.T) {
	h := open(t, reshaping())
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for g := range errs {
		wg.Go(func() {
			for i := range 10 {
				n := int64(1 + (g+i)%4)
				in := values{"x": h.f32([]int{12}, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), "s": h.i64([]int{2}, n, 12/n)}
				out, err := h.s.Run(t.Context(), in)
				if err == nil {
					var b []byte
					b, err = out["y"].Tensor().Bytes(t.Context())
					if err == nil && (len(b) != 48 || out["y"].Tensor().Shape()[0] != int(n)) {
						err = fmt.Errorf("%d bytes of %v", len(b), out["y"])
					}
				}
				errs[g] = errors.Join(errs[g], err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	stats := h.s.Stats()
	require.Equal(t, 1, stats.Specialisations)
	require.Equal(t, 2+4*2, stats.Steps, "a program and a read, and for each value a program and a finish")
	require.Equal(t, 80, stats.Hits+stats.Misses)
	require.GreaterOrEqual(t, stats.Misses, 4)
	require.LessOrEqual(t, stats.Misses, stats.Steps, "each step was traced by one run")
}

func TestCancel(t *testing.T) {
	h := open(t, reshaping())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := values{"x": h.f32([]int{1}, 1), "s": h.i64([]int{1}, 1)}
	_, err := h.s.Run(ctx, in)
	require.ErrorIs(t, err, core.ErrCanceled)
	h.want(h.run(in)["y"], []int{1}, 3)

	// An endless loop.
	body := &pb.Graph{Nodes: []*pb.Node{operator("Add", ss("v", "v"), ss("w")), operator("Identity", ss("go"), ss("on"))},
		Inputs: bare("i", "go", "v"), Outputs: bare("on", "w")}
	m := wrap(operator("Loop", ss("", "", "x"), ss("y"), graphAttr("body", body)))
	h = open(t, m)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	x := h.f32([]int{1}, 1)
	_, err = h.s.Run(ctx, values{"x": x})
	require.ErrorIs(t, err, core.ErrCanceled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	h = openWith(t, m, onnx.Options{MaxIterations: 100})
	_, err = h.s.Run(t.Context(), values{"x": h.f32([]int{1}, 1)})
	require.ErrorIs(t, err, onnx.ErrLimit)
}

func TestLimits(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Expand", ss("x", "s"), ss("y"))},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float), decl("s", pb.Int64, nil)}, Outputs: bare("y")})
	h := openWith(t, m, onnx.Options{MaxTensorBytes: 400})
	out := h.run(values{"x": h.f32(nil, 1), "s": h.i64([]int{1}, 100)})
	require.Equal(t, 100, out["y"].Tensor().Size())
	_, err := h.s.Run(t.Context(), values{"x": h.f32(nil, 1), "s": h.i64([]int{1}, 101)})
	require.ErrorIs(t, err, onnx.ErrLimit)
	_, err = h.s.Run(t.Context(), values{"x": h.f32(nil, 1), "s": h.i64([]int{2}, 1<<40, 1<<40)})
	require.Error(t, err)
}

// Constants that depend only on the model are computed once per session.
func TestConstantsAreShared(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{
		operator("MatMul", ss("w", "w"), ss("ww")), operator("Exp", ss("ww"), ss("e")), operator("Add", ss("x", "e"), ss("y"))},
		Initializers: []*pb.Tensor{f32s("w", []int64{8, 8}, make([]float32, 64)...)},
		Inputs:       []*pb.ValueInfo{decl("x", pb.Float, nil, 8)}, Outputs: bare("y")})
	h := open(t, m)
	run := func(n int) {
		x := h.f32([]int{n, 8}, make([]float32, 8*n)...)
		y := h.run(values{"x": x})["y"]
		stream := y.Tensor().Device()
		y.Release()
		x.Release()
		require.NoError(t, stream.Sync(t.Context()))
	}
	run(8)
	level := h.memory()
	run(8)
	require.Equal(t, level, h.memory())
	for range 3 {
		run(1)
		run(8)
	}
	require.Equal(t, level.Tensors, h.memory().Tensors, "another signature allocates no tensor")
	require.Equal(t, 2, h.s.Stats().Specialisations)
}

func TestExplain(t *testing.T) {
	m := modelOf(17, &pb.Graph{Nodes: []*pb.Node{operator("Relu", ss("x"), ss("a")), operator("Exp", ss("a"), ss("b")),
		operator("Exp", ss("b"), ss("c")), operator("Shape", ss("x"), ss("s")), operator("Reshape", ss("c", "s"), ss("y"))},
		Inputs: []*pb.ValueInfo{decl("x", pb.Float, "n", nil, 2)}, Outputs: bare("y")})
	parsed, err := parse(m, onnx.Options{})
	require.NoError(t, err)
	b := &lacking{Backend: openRef(t).Backend, native: map[op.Code]bool{op.Max: true, op.Full: true, op.Exp: true, op.Copy: true}}
	h := &harness{t: t, dev: onStream(t, &core.Place{Backend: b, Spec: "builtin:lacking:0"})}
	h.s, err = parsed.Open(h.dev)
	require.NoError(t, err)
	r, err := h.s.Explain(t.Context(), map[string]int{"n": 5, "x.1": 3})
	require.NoError(t, err)
	require.NoError(t, r.Partial)
	require.Equal(t, []string{"x: f32[5,3,2]"}, r.Inputs)
	require.Equal(t, []onnx.OpUse{{Op: op.Exp, DType: dtype.F32, Support: onnx.Native, Count: 2}, {Op: op.Relu, DType: dtype.F32, Support: onnx.Decomposed, Count: 1}},
		r.Ops)
	require.Equal(t, []onnx.OperatorUse{{Op: "Exp", Count: 2}, {Op: "Relu", Count: 1, Support: onnx.Decomposed}, {Op: "Reshape", Count: 1}, {Op: "Shape", Count: 1}},
		r.Operators)
	require.Zero(t, h.s.Stats().Steps, "the session remembers no step of Explain")
	require.NoError(t, h.s.Close())
	delete(b.native, op.Exp)
	h.dev = onStream(t, &core.Place{Backend: b, Spec: "builtin:lacking:0"})
	h.s, err = parsed.Open(h.dev)
	require.NoError(t, err)
	r, err = h.s.Explain(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorIs(t, r.Partial, core.ErrUnsupported)
	require.Equal(t, onnx.Missing, r.Ops[0].Support)
	_, err = h.s.Run(t.Context(), values{"x": h.f32([]int{1, 1, 2}, 1, 2)})
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, `onnx: Exp node "b": exp has no kernel`)
	require.NoError(t, h.s.Close())
}

// lacking is a backend that supports few ops.
type lacking struct {
	core.Backend
	native map[op.Code]bool
}

func (l *lacking) Open(ctx context.Context, device int) (core.Device, error) {
	d, err := l.Backend.Open(ctx, device)
	return lackingDevice{d, l.native}, err
}

type lackingDevice struct {
	core.Device
	native map[op.Code]bool
}

func (d lackingDevice) Capabilities() *core.Capabilities {
	c := *d.Device.Capabilities()
	c.Ops = map[string]core.OpCapability{}
	for code := range d.native {
		name := op.Lookup(code).Name
		c.Ops[name] = d.Device.Capabilities().Ops[name]
	}
	return &c
}
