package program_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// primitives is a target that supports no composite.
var primitives = program.Target{Name: "plain", Supports: func(n *op.Node, _ []op.Desc) error {
	if op.Lookup(n.Op).Class != op.Primitive {
		return fmt.Errorf("no kernel: %w", op.ErrUnsupported)
	}
	return nil
}}

func vector(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: dtype.F32, Shape: []int{4}} }

// listed returns a program with inputs 1 and 2 and constant 3, all f32[4], and the nodes and outputs of build.
func listed(build func(b *op.Builder) []op.TensorID) *program.Program {
	last := op.TensorID(3)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	p := &program.Program{Name: "p", Inputs: []op.Desc{vector(1), vector(2)}, Consts: []op.Desc{vector(3)}}
	p.Outputs = build(b)
	p.Nodes = b.Nodes
	return p
}

func TestCompile(t *testing.T) {
	p := listed(func(b *op.Builder) []op.TensorID {
		x := vector(1)
		b.Do(op.Softsign, x) // dead
		y := b.Do(op.Mul, x, b.Do(op.Sigmoid, x))
		return []op.TensorID{y.ID, 2}
	})
	codes := func(p *program.Program) (codes []op.Code) {
		for i := range p.Nodes {
			codes = append(codes, p.Nodes[i].Op)
		}
		return codes
	}
	before := codes(p)
	c, err := program.Compile(p, program.Target{}, program.Options{})
	require.NoError(t, err)
	require.Equal(t, []op.Code{op.Sigmoid, op.Mul}, codes(c.Program))
	require.True(t, c.Outputs[0].SameType(vector(0)) && c.Outputs[1].ID == 2)

	c, err = program.Compile(p, program.Target{}, program.Options{Rewrite: true})
	require.NoError(t, err)
	require.Equal(t, []op.Code{op.Silu}, codes(c.Program))

	c, err = program.Compile(p, primitives, program.Options{Rewrite: true})
	require.NoError(t, err)
	require.NoError(t, c.Program.Check())
	for _, code := range codes(c.Program) {
		require.Equal(t, op.Primitive, op.Lookup(code).Class)
	}
	require.Equal(t, before, codes(p), "Compile does not change the program that it is given")
}

func TestCompileRefuses(t *testing.T) {
	bad := listed(func(b *op.Builder) []op.TensorID { return []op.TensorID{9} })
	_, err := program.Compile(bad, program.Target{}, program.Options{})
	require.ErrorIs(t, err, op.ErrAttr)

	p := listed(func(b *op.Builder) []op.TensorID { return []op.TensorID{b.Do(op.Gelu, vector(1)).ID} })
	_, err = program.Compile(p, program.Target{Name: "bare", Supports: func(n *op.Node, _ []op.Desc) error { return op.ErrUnsupported }}, program.Options{})
	var missing *program.MissingError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "bare", missing.Backend)
	require.ErrorContains(t, err, `program "p": node 0`)

	broken := errors.New("broken")
	_, err = program.Compile(p, program.Target{Supports: func(n *op.Node, _ []op.Desc) error { return broken }}, program.Options{})
	require.ErrorIs(t, err, broken)
}

// counter returns a function that returns the ids from 1001 on.
func counter() func() op.TensorID {
	last := op.TensorID(1000)
	return func() op.TensorID { last++; return last }
}

// Instances compute the expected outputs on the reference. They leave only the outputs, the inputs that were not donated, and the constant.
func TestInstantiate(t *testing.T) {
	for name, c := range map[string]struct {
		build  func(b *op.Builder) []op.TensorID
		want   func(x, y, w float64) []float64 // outputs
		copies int
	}{
		"a result": {func(b *op.Builder) []op.TensorID {
			return []op.TensorID{b.Do(op.Add, b.Do(op.Mul, vector(1), vector(2)), vector(3)).ID}
		}, func(x, y, w float64) []float64 { return []float64{x*y + w} }, 0},
		"an intermediate result too": {func(b *op.Builder) []op.TensorID {
			y := b.Do(op.Mul, vector(1), vector(2))
			return []op.TensorID{y.ID, b.Do(op.Add, y, y).ID}
		}, func(x, y, w float64) []float64 { return []float64{x * y, 2 * x * y} }, 0},
		"a result twice": {func(b *op.Builder) []op.TensorID {
			y := b.Do(op.Neg, vector(1))
			return []op.TensorID{y.ID, y.ID, y.ID}
		}, func(x, y, w float64) []float64 { return []float64{-x, -x, -x} }, 2},
		"inputs and a constant": {func(b *op.Builder) []op.TensorID {
			return []op.TensorID{1, 3, b.Do(op.Neg, vector(1)).ID, 1}
		}, func(x, y, w float64) []float64 { return []float64{x, w, -x, x} }, 3},
		"no nodes": {func(b *op.Builder) []op.TensorID { return []op.TensorID{2} },
			func(x, y, w float64) []float64 { return []float64{y} }, 1},
		"nothing": {func(b *op.Builder) []op.TensorID { return nil }, func(x, y, w float64) []float64 { return nil }, 0},
		"a result that nobody reads": {func(b *op.Builder) []op.TensorID {
			s := b.All(op.Sort, []op.Desc{vector(1)}, op.Int("axis", 0))
			return []op.TensorID{s[0].ID}
		}, func(x, y, w float64) []float64 { return []float64{x} }, 0},
		"more operands than bits": {func(b *op.Builder) []op.TensorID {
			xs := []op.Desc{}
			for range 70 {
				xs = append(xs, vector(1))
			}
			xs = append(xs, vector(2), b.Do(op.Neg, vector(1)))
			return []op.TensorID{b.Narrow(b.Concat(0, xs...), 0, 280, 4).ID}
		}, func(x, y, w float64) []float64 { return []float64{y} }, 0},
	} {
		for _, donated := range [][]bool{nil, {false, false}, {true, false}, {true, true}} {
			t.Run(fmt.Sprintf("%s/%v", name, donated), func(t *testing.T) {
				p := listed(c.build)
				compiled, err := program.Compile(p, program.Target{}, program.Options{})
				require.NoError(t, err)
				ctx := context.Background()
				d, err := ref.New().Open(ctx, 0)
				require.NoError(t, err)
				s, err := d.OpenStream(ctx)
				require.NoError(t, err)
				memory, ok := core.Extension[core.MemoryStats](d)
				require.True(t, ok)
				fill := func(id op.TensorID, v float64) {
					x := ref.Zeros(vector(id))
					for i := range x.F {
						x.F[i] = v
					}
					require.NoError(t, s.Write(ctx, x.Desc, x.Bytes()))
				}
				fill(103, 7)
				for run := range op.TensorID(2) { // an instance leaves the template as it was
					in := []op.TensorID{201 + 10*run, 202 + 10*run}
					fill(in[0], 3)
					fill(in[1], 5)
					var outs []op.TensorID
					for i := range p.Outputs {
						outs = append(outs, 301+op.TensorID(i)+10*run)
					}
					next := counter()
					nodes, free, err := compiled.Instantiate(in, donated, []op.TensorID{103}, outs, func() op.TensorID { return next() + 100*run })
					require.NoError(t, err)
					copies := 0
					for i := range nodes {
						if nodes[i].Op == op.Copy {
							copies++
						}
					}
					require.Equal(t, c.copies, copies)
					require.NoError(t, s.Submit(nodes, free))
					require.NoError(t, core.Sync(ctx, s))
					for i, want := range c.want(3, 5, 7) {
						data := make([]byte, 16)
						require.NoError(t, core.Read(ctx, s, outs[i], data))
						got, err := ref.FromBytes(vector(outs[i]), data)
						require.NoError(t, err)
						require.Equal(t, []float64{want, want, want, want}, got.F)
					}
					for i, id := range in {
						if donated == nil || !donated[i] {
							require.NoError(t, s.Submit(nil, []op.TensorID{id}), "what was not donated is there")
						}
					}
					require.NoError(t, s.Submit(nil, outs))
					require.NoError(t, core.Sync(ctx, s))
					require.Equal(t, int64(1), memory.Memory().Tensors, "the constant")
				}
			})
		}
	}
}

// A tensor that is bound to both inputs is dropped only if both are donated and it is not a constant too.
func TestInstantiateSharedInputs(t *testing.T) {
	p := listed(func(b *op.Builder) []op.TensorID {
		y := b.Do(op.Neg, vector(1))
		return []op.TensorID{b.Do(op.Add, y, vector(2)).ID}
	})
	c, err := program.Compile(p, program.Target{}, program.Options{})
	require.NoError(t, err)
	for _, k := range []struct {
		donated []bool
		consts  op.TensorID
		drops   []uint64
	}{
		{[]bool{true, true}, 50, []uint64{0, 3}}, // once, at the later use, beside the intermediate result
		{[]bool{true, false}, 50, []uint64{0, 1}},
		{[]bool{false, true}, 50, []uint64{0, 1}},
		{[]bool{true, true}, 60, []uint64{0, 1}}, // it is a constant too
	} {
		nodes, free, err := c.Instantiate([]op.TensorID{60, 60}, k.donated, []op.TensorID{k.consts}, []op.TensorID{70}, counter())
		require.NoError(t, err)
		require.Empty(t, free)
		require.Equal(t, k.drops, []uint64{nodes[0].Drop, nodes[1].Drop})
	}
}

func TestInstantiateUnused(t *testing.T) {
	p := listed(func(b *op.Builder) []op.TensorID { return []op.TensorID{b.Do(op.Neg, vector(1)).ID} })
	c, err := program.Compile(p, program.Target{}, program.Options{})
	require.NoError(t, err)
	nodes, free, err := c.Instantiate([]op.TensorID{60, 61}, []bool{true, true}, []op.TensorID{62}, []op.TensorID{70}, counter())
	require.NoError(t, err)
	require.Equal(t, []op.TensorID{61}, free, "nobody reads it")
	require.Equal(t, uint64(1), nodes[0].Drop)
}

func TestInstantiateRefuses(t *testing.T) {
	c, err := program.Compile(listed(func(b *op.Builder) []op.TensorID { return []op.TensorID{1} }), program.Target{}, program.Options{})
	require.NoError(t, err)
	one, two := []op.TensorID{50}, []op.TensorID{50, 51}
	for _, k := range []struct {
		in, consts, outs []op.TensorID
		donated          []bool
	}{{one, one, one, nil}, {two, two, one, nil}, {two, one, two, nil}, {two, one, one, []bool{true}}} {
		_, _, err := c.Instantiate(k.in, k.donated, k.consts, k.outs, counter())
		require.ErrorIs(t, err, op.ErrAttr)
	}
}
