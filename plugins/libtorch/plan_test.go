package libtorch

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
)

// recorded returns the program that f records on a builder. Its inputs are like in, and its outputs are the results of f.
func recorded(t *testing.T, in []op.Desc, f func(b *op.Builder, in []op.Desc) []op.Desc) *program.Program {
	t.Helper()
	last := op.TensorID(0)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	p := &program.Program{Name: "recorded"}
	for _, d := range in {
		last++
		d.ID = last
		p.Inputs = append(p.Inputs, d)
	}
	for _, d := range f(b, p.Inputs) {
		p.Outputs = append(p.Outputs, d.ID)
	}
	require.NoError(t, b.Err())
	p.Nodes = b.Nodes
	require.NoError(t, p.Check())
	return p
}

// runs defines a program and returns a function that runs it.
func (r *rig) runs(p *program.Program) func(in ...op.Desc) []op.Desc {
	x, ok := core.Extension[core.Programs](r.d)
	require.True(r.t, ok)
	id, err := x.Define(r.t.Context(), r.s, p, nil)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = x.Undefine(id) })
	return func(in ...op.Desc) []op.Desc {
		c := core.Run{Program: id}
		for _, d := range in {
			c.Inputs = append(c.Inputs, d.ID)
		}
		out := p.OutputDescs()
		for i := range out {
			out[i].ID = r.d.NewIDs(1)
			c.Outputs = append(c.Outputs, out[i].ID)
		}
		require.NoError(r.t, x.Run(r.s, c))
		return out
	}
}

// TestPlanOutputs checks that outputs may be inputs or occur twice, and that each is a tensor of its own.
func TestPlanOutputs(t *testing.T) {
	r := newRig(t)
	p := recorded(t, []op.Desc{f32(2), f32(2)}, func(b *op.Builder, in []op.Desc) []op.Desc {
		sum := b.Do(op.Add, in[0], in[1])
		b.Do(op.Mul, sum, sum) // dead
		return []op.Desc{sum, in[0], sum, b.Reshape(sum, []int{2, 1})}
	})
	x, y := r.full(1, 2), r.full(2, 2)
	out := r.runs(p)(x, y)
	require.NoError(t, r.s.Submit(nil, []op.TensorID{x.ID, y.ID, out[0].ID}))
	for i, want := range []float32{3, 1, 3, 3} {
		if i == 0 {
			continue // freed
		}
		v, err := r.read(out[i])
		require.NoError(t, err)
		require.Equal(t, []float32{want, want}, v)
	}
}

// TestPlanFails checks that the error of a failed step names the op and the program, and that the program can run again.
func TestPlanFails(t *testing.T) {
	r := newRig(t)
	p := recorded(t, []op.Desc{f32(3), op.DescOf(dtype.I64, 1)}, func(b *op.Builder, in []op.Desc) []op.Desc {
		y := b.With(op.Gather, in, op.Int("axis", 0))
		return []op.Desc{in[0], b.Do(op.Neg, y)}
	})
	run := r.runs(p)
	x := r.full(5, 3)
	index := func(v int64) op.Desc {
		return r.node(op.Full, nil, op.ScalarInt("value", v), op.Type("dtype", dtype.I64), op.Ints("shape", 1))
	}
	out := run(x, index(7))
	for _, d := range out {
		_, err := r.read(d)
		require.ErrorIs(t, err, core.ErrIndex)
		require.ErrorContains(t, err, "gather")
		require.ErrorContains(t, err, "recorded")
	}
	_, err := r.read(run(out[0], index(0))[1]) // of a failed operand
	require.ErrorIs(t, err, core.ErrIndex)
	v, err := r.read(run(x, index(2))[1])
	require.NoError(t, err)
	require.Equal(t, []float32{-5}, v)
}

// TestPlanIsProfiled checks that a profile contains each step of a program.
func TestPlanIsProfiled(t *testing.T) {
	r := newRig(t)
	run := r.runs(lessons[8].program(t))
	profile, ok := core.Extension[core.Profiling](r.d)
	require.True(t, ok)
	require.NoError(t, profile.StartProfile(t.Context()))
	out := run(r.full(1, 2, 3, 4), r.full(2, 4), r.full(3, 4), r.full(1, 2, 3, 4))
	_, err := r.read(out[0])
	require.NoError(t, err)
	got, err := profile.StopProfile(t.Context())
	require.NoError(t, err)
	var steps []string
	for _, s := range got.Steps {
		if s.Program != "" && s.Index != core.WholeRun {
			steps = append(steps, s.Ops[0])
		}
	}
	require.Len(t, steps, 2)
	require.Equal(t, "layer_norm", steps[0])
}

// TestAttentionAside checks that the gradient of attention is the same with the sums of its forward pass and with recomputed sums.
func TestAttentionAside(t *testing.T) {
	r := newRig(t)
	if _, ok := r.d.Capabilities().Ops["attention_gradient"]; !ok {
		t.Skip("this torch has no attention that keeps no scores")
	}
	shape := []int{1, 2, 5, 4}
	at := 0.0
	wave := func() float64 { at++; return math.Sin(at) }
	q, k, v, dy := r.write(f32(shape...), wave), r.write(f32(shape...), wave), r.write(f32(shape...), wave), r.write(f32(shape...), wave)
	mask := r.node(op.Tril, []op.Desc{r.node(op.Full, nil, op.ScalarInt("value", 1), op.Type("dtype", dtype.Bool), op.Ints("shape", 5, 5))}, op.Int("offset", -1))
	for _, c := range []struct {
		mask  []op.Desc
		attrs []op.Attr
	}{{nil, nil}, {nil, []op.Attr{op.Flag("causal", true)}}, {nil, []op.Attr{op.Int("window", 2)}}, {[]op.Desc{mask}, nil}} {
		y := r.node(op.Attention, append([]op.Desc{q, k, v}, c.mask...), c.attrs...)
		again := r.node(op.Copy, []op.Desc{y})
		first := r.nodes(op.AttentionGradient, append([]op.Desc{q, k, v, y, dy}, c.mask...), c.attrs...)
		second := r.nodes(op.AttentionGradient, append([]op.Desc{q, k, v, again, dy}, c.mask...), c.attrs...)
		for i := range first {
			require.InDeltaSlice(t, r.fetched(second[i]), r.fetched(first[i]), 1e-6)
		}
	}
}

// TestWithoutFlash checks that, if torch lacks the function flashSymbol, attention keeps its scores and its gradient is decomposed.
func TestWithoutFlash(t *testing.T) {
	lib, place := library(t)
	old, err := torch.Load(lib.Folder, torch.Options{Hide: []string{flashSymbol}})
	require.NoError(t, err)
	part := newDriver(old, place, nil, true).open(0)
	require.False(t, part.flash)
	require.NotContains(t, part.caps.Ops, "attention_gradient")
	require.Contains(t, part.caps.Ops, "attention")
}
