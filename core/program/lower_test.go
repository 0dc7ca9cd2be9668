package program_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

func primitivesOnly() core.Backend {
	return ref.New(ref.Claiming(func(c op.Code) bool { return op.Lookup(c).Class == op.Primitive }))
}

// target returns the target of the backend's only device.
func target(b core.Backend) program.Target {
	d, err := b.Open(context.Background(), 0)
	if err != nil {
		panic(err)
	}
	return core.TargetOf(b.Info().Name, d)
}

func described(id op.TensorID, dims ...int) op.Desc {
	return op.Desc{ID: id, DType: dtype.F32, Shape: dims}
}

func TestLowerLeavesSupportedNodes(t *testing.T) {
	x := described(1, 2, 3)
	n, err := op.New(op.Softmax, []op.Desc{x}, op.Int("axis", 1))
	require.NoError(t, err)
	n.Drop = 1
	nodes, free, err := program.LowerNode(target(ref.New()), &n, []op.Desc{x}, nil)
	require.NoError(t, err)
	require.Empty(t, free)
	require.Equal(t, []op.Node{n}, nodes)
}

// Lowered nodes compute the result of the node, and leave no more tensors than it does.
func TestLowerRuns(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		op    op.Code
		in    []op.Desc
		attrs []op.Attr
	}{
		{op.Softmax, []op.Desc{described(1, 2, 3)}, []op.Attr{op.Int("axis", 1)}},
		{op.LayerNorm, []op.Desc{described(1, 2, 3), described(2, 3), described(3, 3)}, []op.Attr{op.Int("axis", 1)}},
		{op.TopK, []op.Desc{described(1, 2, 3)}, []op.Attr{op.Int("axis", 1), op.Int("k", 2)}},
		{op.IsInf, []op.Desc{described(1, 4)}, []op.Attr{op.Flag("positive", false), op.Flag("negative", false)}}, // does not read its operand
		{op.Square, []op.Desc{described(1, 4)}, nil},                                                              // reads it twice
	} {
		for _, drop := range []uint64{0, 1, 1<<len(c.in) - 1} {
			t.Run(c.op.String(), func(t *testing.T) {
				n, err := op.New(c.op, c.in, c.attrs...)
				require.NoError(t, err)
				n.Drop = drop
				last := op.TensorID(10)
				next := func() op.TensorID { last++; return last }
				for i := range n.Outputs {
					n.Outputs[i].ID = next()
				}
				b := primitivesOnly()
				d, err := b.Open(ctx, 0)
				require.NoError(t, err)
				s, err := d.OpenStream(ctx)
				require.NoError(t, err)
				var in []ref.Tensor
				for _, d := range c.in {
					x := ref.Zeros(d)
					for i := range x.F {
						x.F[i] = float64(i*7%5) - 1
					}
					in = append(in, x)
					require.NoError(t, s.Write(ctx, d, x.Bytes()))
				}
				nodes, free, err := program.LowerNode(target(b), &n, c.in, next)
				require.NoError(t, err)
				require.NoError(t, s.Submit(nodes, free))
				require.NoError(t, core.Sync(ctx, s))
				want, err := ref.Eval(&n, in)
				require.NoError(t, err)
				for i, d := range n.Outputs {
					data := make([]byte, d.Bytes())
					require.NoError(t, core.Read(ctx, s, d.ID, data))
					got, err := ref.FromBytes(d, data)
					require.NoError(t, err)
					require.Equal(t, want[i].I, got.I)
					require.InDeltaSlice(t, append([]float64{0}, want[i].F...), append([]float64{0}, got.F...), 1e-6)
				}
				memory, ok := core.Extension[core.MemoryStats](d)
				require.True(t, ok)
				kept := 0
				for i := range c.in {
					if drop>>i&1 == 0 {
						kept++
					}
				}
				require.Equal(t, int64(kept+len(n.Outputs)), memory.Memory().Tensors)
			})
		}
	}
}

func TestLowerRefuses(t *testing.T) {
	x := described(1, 2)
	n, err := op.New(op.Erf, []op.Desc{x})
	require.NoError(t, err)
	n.Outputs[0].ID = 2
	b := ref.New(ref.Claiming(func(c op.Code) bool { return c != op.Erf }))
	_, _, err = program.LowerNode(target(b), &n, []op.Desc{x}, func() op.TensorID { return 3 })
	require.ErrorIs(t, err, core.ErrUnsupported)
	g, err := op.New(op.Gelu, []op.Desc{x})
	require.NoError(t, err)
	g.Outputs[0].ID = 2
	last := op.TensorID(2)
	b = ref.New(ref.Claiming(func(c op.Code) bool { return c != op.Erf && c != op.Gelu }))
	_, _, err = program.LowerNode(target(b), &g, []op.Desc{x}, func() op.TensorID { last++; return last })
	require.ErrorIs(t, err, core.ErrUnsupported, "a primitive inside is missing")
	require.ErrorContains(t, err, "erf")
}

func TestLowerProgram(t *testing.T) {
	x := described(1, 2, 3)
	id := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { id++; return id })
	y := b.Do(op.Relu, b.Un(op.Softmax, x, op.Int("axis", 1)))
	require.NoError(t, b.Err())
	p := &program.Program{Name: "p", Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}
	low, err := program.Lower(target(primitivesOnly()), p)
	require.NoError(t, err)
	require.NoError(t, low.Check())
	require.Len(t, p.Nodes, 2, "Lower does not change the program that it is given")
	for i := range low.Nodes {
		require.Equal(t, op.Primitive, op.Lookup(low.Nodes[i].Op).Class)
	}
	require.Equal(t, p.Outputs, low.Outputs)
	_, err = program.Lower(target(ref.New(ref.Claiming(func(op.Code) bool { return false }))), p)
	require.ErrorIs(t, err, core.ErrUnsupported)
}
