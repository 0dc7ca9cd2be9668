package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/conv"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

func random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = r.Float32()*2 - 1
	}
	return v
}

// sketch builds a program with one input and random constants.
type sketch struct {
	*op.Builder
	p    program.Program
	next op.TensorID
	data [][]float32
}

func newSketch(dims ...int) (*sketch, op.Desc) {
	k := &sketch{}
	id := func() op.TensorID { k.next++; return k.next }
	k.Builder = op.NewBuilder(id)
	x := op.Desc{ID: id(), DType: dtype.F32, Shape: dims}
	k.p.Inputs = list(x)
	return k, x
}

func (k *sketch) constant(dims ...int) op.Desc {
	k.next++
	d := op.Desc{ID: k.next, DType: dtype.F32, Shape: dims}
	k.p.Consts = append(k.p.Consts, d)
	v := random(uint64(d.ID), d.Shape.Size())
	for i := range v {
		v[i] = v[i]*0.5 + 0.75 // positive, for variances
	}
	k.data = append(k.data, v)
	return d
}

func (k *sketch) conv(x, w op.Desc, groups int) op.Desc {
	return k.With(op.Conv, list(x, w), op.Ints("strides", 1, 1), op.Ints("pad_lo", 1, 1), op.Ints("pad_hi", 1, 1),
		op.Ints("kernel_dilation", 1, 1), op.Ints("input_dilation", 1, 1), op.Int("groups", groups))
}

// bind writes the constants to a stream and defines the program.
func (k *sketch) bind(t testing.TB, b *bed, outputs ...op.Desc) (core.ProgramID, []op.Desc) {
	require.NoError(t, k.Err())
	k.p.Name, k.p.Nodes = t.Name(), k.Nodes
	for _, o := range outputs {
		k.p.Outputs = append(k.p.Outputs, o.ID)
	}
	b.last = 1000
	var consts []op.Desc
	var ids []op.TensorID
	for i, d := range k.p.Consts {
		consts = append(consts, put(b, k.data[i], d.Shape...))
		ids = append(ids, consts[i].ID)
	}
	id, err := b.Define(ctx, &k.p, ids)
	require.NoError(t, err)
	return id, consts
}

// plainly submits the nodes of the program one by one and reads an output.
func (k *sketch) plainly(b *bed, x op.Desc, consts []op.Desc, out op.Desc) []float32 {
	ids := map[op.TensorID]op.TensorID{k.p.Inputs[0].ID: x.ID}
	for i, d := range k.p.Consts {
		ids[d.ID] = consts[i].ID
	}
	for _, n := range k.Nodes {
		in, outs := make([]op.TensorID, len(n.Inputs)), make([]op.Desc, len(n.Outputs))
		for i, id := range n.Inputs {
			in[i] = ids[id]
		}
		for i, d := range n.Outputs {
			ids[d.ID] = b.id()
			outs[i] = d
			outs[i].ID = ids[d.ID]
		}
		n.Inputs, n.Outputs = in, outs
		require.NoError(b.t, b.Submit([]op.Node{n}))
	}
	out.ID = ids[out.ID]
	return get[float32](b, out)
}

func TestFusion(t *testing.T) {
	zero := op.ScalarFloat("min", -0.25)
	for name, c := range map[string]struct {
		input shape.Shape
		build func(k *sketch, x op.Desc) op.Desc
		steps int
	}{
		"conv bias relu": {shape.Of(2, 3, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			y := k.conv(x, k.constant(5, 3, 3, 3), 1)
			return k.Do(op.Relu, k.Do(op.Add, y, k.constant(1, 5, 1, 1)))
		}, 1},
		"conv norm clamp": {shape.Of(2, 4, 6, 6), func(k *sketch, x op.Desc) op.Desc {
			y := k.conv(x, k.constant(4, 2, 3, 3), 2)
			y = k.Do(op.BatchNorm, y, k.constant(4), k.constant(4), k.constant(4), k.constant(4))
			return k.Un(op.Clamp, y, zero, op.ScalarFloat("max", 0.5))
		}, 1},
		"conv bias norm": {shape.Of(1, 4, 6, 6), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Add, k.constant(6, 1, 1), k.conv(x, k.constant(6, 4, 3, 3), 1))
			return k.Do(op.BatchNorm, y, k.constant(6), k.constant(6), k.constant(6), k.constant(6))
		}, 1},
		"conv sum relu": {shape.Of(2, 6, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Add, k.conv(x, k.constant(6, 6, 3, 3), 1), k.constant(6, 1, 1))
			return k.Do(op.Relu, k.Do(op.Add, x, y))
		}, 1},
		"conv of what is added": {shape.Of(1, 6, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.Exp, x)
			return k.Do(op.Add, k.conv(y, k.constant(6, 6, 3, 3), 1), y)
		}, 2},
		"sum in place": {shape.Of(1, 6, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.conv(x, k.constant(6, 6, 3, 3), 1), k.Do(op.Exp, x))
		}, 2},
		"sum of two convs": {shape.Of(1, 6, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Relu, k.Do(op.Add, k.conv(x, k.constant(6, 6, 3, 3), 1), k.conv(x, k.constant(6, 6, 3, 3), 1)))
		}, 2},
		"sum that is permuted": {shape.Of(5, 5), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.Do(op.MatMul, x, k.constant(5, 5)), k.Permute(x, 1, 0))
		}, 2},
		"concatenation": {shape.Of(1, 6, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			y := k.conv(x, k.constant(5, 6, 3, 3), 1)
			z := k.Do(op.Relu, k.conv(x, k.constant(6, 6, 3, 3), 1))
			return k.With(op.Concat, list(y, x, z), op.Int("axis", 1))
		}, 4},
		"concatenation of what is added": {shape.Of(1, 6, 7, 8), func(k *sketch, x op.Desc) op.Desc {
			y := k.conv(x, k.constant(6, 6, 3, 3), 1)
			z := k.Do(op.Add, k.conv(x, k.constant(6, 6, 3, 3), 1), y)
			w := k.conv(y, k.constant(6, 6, 3, 3), 1)
			return k.Do(op.Add, k.Do(op.Exp, k.With(op.Concat, list(z, y, w, y), op.Int("axis", 1))), k.constant(24, 1, 1))
		}, 6},
		"concatenation within rows": {shape.Of(3, 4), func(k *sketch, x op.Desc) op.Desc {
			return k.With(op.Concat, list(k.Do(op.MatMul, x, k.constant(4, 4)), x), op.Int("axis", 1))
		}, 2},
		"depthwise sum": {shape.Of(1, 6, 6, 6), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.conv(x, k.constant(6, 1, 3, 3), 6), x)
		}, 2},
		"depthwise": {shape.Of(1, 6, 6, 6), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Relu, k.Do(op.Add, k.conv(x, k.constant(6, 1, 3, 3), 6), k.constant(6, 1, 1)))
		}, 1},
		"linear relu": {shape.Of(3, 5, 7), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Relu, k.With(op.Linear, list(x, k.constant(9, 7), k.constant(9)), op.Flag("transpose_w", true)))
		}, 1},
		"matmul of a transposed constant": {shape.Of(5, 7), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.Do(op.MatMul, x, k.Permute(k.constant(9, 7), 1, 0)), k.constant(1, 9))
		}, 1},
		"one row": {shape.Of(1, 7), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Relu, k.Do(op.Add, k.Do(op.MatMul, x, k.constant(7, 9)), k.constant(9)))
		}, 1},
		"a bias that is computed": {shape.Of(4, 4), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.Do(op.MatMul, x, k.constant(4, 4)), k.Reduce(op.Sum, x, false, 0))
		}, 2},
		"no bias": {shape.Of(4, 4), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.MatMul, x, k.constant(4, 4))
			return k.Do(op.Add, y, k.constant(4, 1)) // by rows
		}, 2},
		"used twice": {shape.Of(4, 4), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.MatMul, x, k.constant(4, 4))
			return k.Do(op.Add, k.Do(op.Relu, y), y)
		}, 2},
		"bias of itself": {shape.Of(4, 4), func(k *sketch, x op.Desc) op.Desc {
			y := k.Do(op.MatMul, x, k.constant(4, 4))
			return k.Do(op.Add, y, y)
		}, 2},
		"sum of two products": {shape.Of(1, 7), func(k *sketch, x op.Desc) op.Desc { // either could be the other's bias
			return k.Do(op.Add, k.Do(op.MatMul, x, k.constant(7, 9)), k.Do(op.MatMul, x, k.constant(7, 9)))
		}, 2},
		"bias that widens": {shape.Of(1, 4), func(k *sketch, x op.Desc) op.Desc {
			return k.Do(op.Add, k.Do(op.MatMul, x, k.constant(4, 4)), k.constant(3, 4))
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			k, x := newSketch(c.input...)
			y := c.build(k, x)
			id, consts := k.bind(t, b, y)
			require.Len(t, b.w.last.steps, c.steps)
			in := put(b, random(7, x.Shape.Size()), x.Shape...)
			want := k.plainly(b, in, consts, y)
			for range 2 {
				out := y
				out.ID = b.id()
				require.NoError(t, b.Run(id, []op.TensorID{in.ID}, []op.TensorID{out.ID}))
				require.InDeltaSlice(t, want, get[float32](b, out), 1e-4)
			}
			concurrently(b, id, in, y)
		})
	}
}

func TestProgramHoldsAndGivesBack(t *testing.T) {
	b := newBed(t)
	k, x := newSketch(8, 8)
	w := k.constant(8, 8)
	h := k.Do(op.Tanh, k.Do(op.MatMul, x, w))
	y := k.Do(op.Sub, h, k.Do(op.Exp, k.constant(8)))
	id, consts := k.bind(t, b, y, x, w, y) // an input, a constant and a result twice
	for _, c := range consts {
		require.NoError(t, b.Free([]op.TensorID{c.ID}))
	}
	in := put(b, random(3, 64), 8, 8)
	var outs []op.TensorID
	for range 4 {
		outs = append(outs, b.id())
	}
	require.NoError(t, b.Run(id, []op.TensorID{in.ID}, outs))
	require.NoError(t, b.Free([]op.TensorID{in.ID}))
	read := func(i int) []float32 {
		return get[float32](b, op.Desc{ID: outs[i], DType: dtype.F32, Shape: shape.Of(8, 8)})
	}
	require.Equal(t, random(3, 64), read(1))
	require.Equal(t, k.data[0], read(2))
	require.Equal(t, read(0), read(3))
	require.NoError(t, b.Undefine(id))
	require.Equal(t, k.data[0], read(2), "results outlive the program")
	require.NoError(t, b.Free(outs))
	require.NoError(t, b.Sync(ctx))
	require.Zero(t, b.Memory().InUse)
	require.ErrorIs(t, b.Undefine(id), core.ErrNotFound)
}

func TestProgramFaults(t *testing.T) {
	b := newBed(t)
	k, x := newSketch(4)
	idx := k.With(op.Cast, list(x), op.Type("dtype", dtype.I64))
	y := k.Do(op.Neg, k.With(op.Gather, list(x, idx), op.Int("axis", 0)))
	id, _ := k.bind(t, b, y)
	run := func(in op.Desc) op.Desc {
		out := op.Desc{ID: b.id(), DType: dtype.F32, Shape: shape.Of(4)}
		require.NoError(t, b.Run(id, []op.TensorID{in.ID}, []op.TensorID{out.ID}))
		return out
	}
	require.InDeltaSlice(t, []float32{0, -1, -2, -3}, get[float32](b, run(put(b, []float32{3, 2, 1, 0}, 4))), 0)
	bad := run(put(b, []float32{0, 1, 2, 9}, 4))
	var node *core.NodeError
	require.ErrorAs(t, b.Read(ctx, bad.ID, make([]byte, 16)), &node)
	require.Equal(t, "gather", node.Op)
	require.ErrorIs(t, node, core.ErrIndex)
	after := run(bad)
	require.ErrorIs(t, b.Read(ctx, after.ID, make([]byte, 16)), core.ErrIndex)
	require.ErrorIs(t, b.Sync(ctx), core.ErrIndex)
	wrong := run(put(b, []float32{1}, 1))
	require.ErrorIs(t, b.Read(ctx, wrong.ID, make([]byte, 16)), core.ErrShape)
	require.ErrorIs(t, b.Sync(ctx), core.ErrShape)
	_, err := b.Define(ctx, &program.Program{Outputs: []op.TensorID{5}}, nil)
	require.ErrorIs(t, err, core.ErrAttr)
}

// TestPackedWeightsAreOnTheAccount defines a convolution whose packed weights take several times the memory of the weights,
// and asserts that they are counted.
func TestPackedWeightsAreOnTheAccount(t *testing.T) {
	const channels, outputs, side = 32, 48, 28
	b := newBed(t)
	k, x := newSketch(1, channels, side, side)
	y := k.conv(x, k.constant(outputs, channels, 3, 3), 1)
	id, consts := k.bind(t, b, y)
	for _, c := range consts {
		require.NoError(t, b.Free([]op.TensorID{c.ID}))
	}
	require.NoError(t, b.Sync(ctx))
	plan, err := conv.New([]int{1, channels, side, side}, []int{outputs, channels, 3, 3}, conv.Params{PadLo: []int{1, 1}, PadHi: []int{1, 1}})
	require.NoError(t, err)
	kept := conv.PackWeights(b.w.pool, plan, make([]float32, outputs*channels*9)).Bytes()
	require.GreaterOrEqual(t, kept, 4*outputs*channels*9)
	if winograd.New(winograd.Shape{Channels: channels, Outputs: outputs, Height: side, Width: side, Top: 1, Left: 1, OutHeight: side, OutWidth: side}) != nil {
		require.GreaterOrEqual(t, kept, 4*outputs*channels*(36+9), "transformed weights beside the plain ones")
	}
	require.EqualValues(t, kept, b.Memory().InUse)
	require.NoError(t, b.Undefine(id))
	require.NoError(t, b.Sync(ctx))
	require.Zero(t, b.Memory().InUse)
}
