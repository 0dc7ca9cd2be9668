package nn_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

// net has a tied weight, a list, buffers, modes and settings.
type net struct {
	Embed  *nn.Embedding
	Blocks []nn.Module
	Norm   *nn.BatchNorm
	Place  *nn.PositionalEncoding
	Drop   *nn.Dropout
	Head   *nn.Linear
	Size   []int
	Shared *nn.Linear `nn:"-"`
}

func newNet(d dev) *net {
	n := &net{Embed: nn.NewEmbedding(d, 5, 4, nn.EmbeddingConfig{Padding: ptr(0)}), Norm: nn.NewBatchNorm(d, 4, nn.BatchNormConfig{}),
		Place: nn.NewPositionalEncoding(d, 4, nn.PositionConfig{MaxLength: 3}), Drop: nn.NewDropout(0.1), Head: nn.NewLinear(d, 4, 5, nn.LinearConfig{}),
		Size: ints(1, 2), Shared: nn.NewLinear(d, 1, 1, nn.LinearConfig{})}
	n.Blocks = []nn.Module{nn.NewLinear(d, 4, 4, nn.LinearConfig{NoBias: true}), &nn.Gelu{Tanh: true}}
	n.Head.Weight = n.Embed.Weight
	return n
}

func (n *net) Forward(x tt) tt {
	y := n.Place.Forward(n.Embed.Forward(x))
	for _, b := range n.Blocks {
		y = b.Forward(y)
	}
	return n.Head.Forward(n.Drop.Forward(n.Norm.Forward(y.Transpose(1, 2)).Transpose(1, 2)))
}

func TestFormat(t *testing.T) {
	n := newNet(open(t))
	_, err := nn.Freeze(n, "head.bias")
	require.NoError(t, err)
	require.Equal(t, `net {
  embed: Embedding {weight: f32[5,4], params: 20}
  blocks: {
    0: Linear {weight: f32[4,4], params: 16}
    1: Gelu {tanh: true}
    params: 16
  }
  norm: BatchNorm {weight: f32[4], bias: f32[4], running_mean: f32[4], running_var: f32[4], epsilon: 1e-05, momentum: 0.1, params: 8 of 16}
  place: PositionalEncoding {table: f32[3,4], params: 0 of 12}
  drop: Dropout {p: 0.1}
  head: Linear {weight: f32[5,4], bias: f32[5] frozen, params: 20 of 25}
  size: [1,2]
  params: 44 of 69
}`, nn.Format(n))
	require.Equal(t, "MaxPool2d {window: [2,2], stride: [2,2], padding: [0,0], dilation: [1,1]}", nn.Format(nn.NewMaxPool2d([2]int{2, 2}, nn.PoolConfig{})))
	require.Equal(t, "Rnn {bias_hh_l0: f32[3], bias_ih_l0: f32[3], weight_hh_l0: f32[3,3], weight_ih_l0: f32[3,2], in: 2, hidden: 3, layers: 1, params: 21}",
		nn.Format(nn.NewRnn(open(t), 2, 3, nn.RecurrentConfig{})))
}

func TestStateDict(t *testing.T) {
	dev := open(t)
	a, b := newNet(dev), newNet(dev)
	x := tensor.From(dev, []int64{1, 2, 4}, 1, 3)
	a.Forward(x) // changes running statistics
	nn.Eval(a)
	nn.Eval(b)
	state := nn.StateDict(a)
	var names []string
	for _, e := range state {
		names = append(names, e.Name)
	}
	require.Equal(t, []string{"embed.weight", "blocks.0.weight", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var", "head.bias"}, names)
	want := floats(t, a.Forward(x))
	require.NotEqual(t, want, floats(t, b.Forward(x)))
	r, err := nn.LoadStateDict(t.Context(), b, nn.Entries(state), nn.LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, names, r.Loaded)
	require.Equal(t, want, floats(t, b.Forward(x)))
	require.Equal(t, want, floats(t, a.Forward(x)), "a keeps its own values")
	require.True(t, b.Head.Weight == b.Embed.Weight && b.Head.Weight.Value().Tracked())

	// A tied parameter is stored under each of its names, or only under the second.
	both := nn.Entries(state)
	both["head.weight"] = both["embed.weight"]
	_, err = nn.LoadStateDict(t.Context(), newNet(dev), both, nn.LoadOptions{})
	require.NoError(t, err)
	delete(both, "embed.weight")
	_, err = nn.LoadStateDict(t.Context(), b, both, nn.LoadOptions{})
	require.NoError(t, err)
	require.Equal(t, want, floats(t, b.Forward(x)))

	// The state is loaded onto another device and from another type.
	plain, err := tensor.Open(t.Context(), "cpu")
	require.NoError(t, err)
	defer func() { require.NoError(t, plain.Close()) }()
	c := newNet(plain)
	wide := nn.Clone(a)
	nn.Cast(wide, dtype.F64)
	_, err = nn.LoadStateDict(t.Context(), c, nn.Entries(nn.StateDict(wide)), nn.LoadOptions{})
	require.NoError(t, err)
	nn.Eval(c)
	require.Equal(t, want, floats(t, c.Forward(tensor.From(plain, []int64{1, 2, 4}, 1, 3))))
}

func TestLoadFaults(t *testing.T) {
	dev := open(t)
	n := newNet(dev)
	full := nn.Entries(nn.StateDict(newNet(dev)))
	before := floats(t, n.Blocks[0].(*nn.Linear).Weight.Value())
	delete(full, "norm.bias")
	full["head.bias"] = dev.Zeros(dtype.F32, 4)
	full["norm.num_batches_tracked"] = tensor.Scalar(dev, int64(1))
	r, err := nn.LoadStateDict(t.Context(), n, full, nn.LoadOptions{})
	require.ErrorIs(t, err, core.ErrShape)
	require.ErrorIs(t, err, core.ErrNotFound)
	for _, part := range []string{"1 missing: norm.bias", "1 unexpected: norm.num_batches_tracked", "1 of another shape: head.bias is [4], want [5]"} {
		require.ErrorContains(t, err, part)
	}
	require.Equal(t, []string{"norm.bias"}, r.Missing)
	require.Equal(t, before, floats(t, n.Blocks[0].(*nn.Linear).Weight.Value()), "nothing was replaced")
	delete(full, "norm.num_batches_tracked")
	_, err = nn.LoadStateDict(t.Context(), n, full, nn.LoadOptions{Partial: true})
	require.ErrorIs(t, err, core.ErrShape)
	require.NotErrorIs(t, err, core.ErrNotFound, "the names fit")
	full["norm.num_batches_tracked"] = tensor.Scalar(dev, int64(1))
	delete(full, "head.bias")
	_, err = nn.LoadStateDict(t.Context(), n, full, nn.LoadOptions{})
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NotErrorIs(t, err, core.ErrShape, "the shapes fit")
	_, err = full.Tensor(t.Context(), dev, "none")
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = nn.LoadStateDict(t.Context(), n, full, nn.LoadOptions{Partial: true, Ignore: []string{"*.num_batches_tracked"}})
	require.NoError(t, err)
	_, err = nn.LoadStateDict(t.Context(), n, full, nn.LoadOptions{Partial: true, Extra: true, Rename: func(s string) string { return "model." + s }})
	require.NoError(t, err, "no name fits, which Partial and Extra allow")
	_, err = nn.LoadStateDict(t.Context(), n, full, nn.LoadOptions{Partial: true, Ignore: []string{"["}})
	require.ErrorContains(t, err, "pattern")
}

// A tensor that cannot be cast is an error; what was read before is released, and no parameter changes.
func TestLoadFailsInCast(t *testing.T) {
	dev := open(t)
	n := newNet(dev)
	src := nn.Entries(nn.StateDict(newNet(dev)))
	before := floats(t, n.Norm.Weight.Value())
	lost := tensor.Scalar(dev, 1.5).Expand(src["norm.weight"].Shape()...)
	lost.Release()
	r, err := nn.LoadStateDict(t.Context(), n, released{src, "norm.weight", lost}, nn.LoadOptions{})
	require.ErrorContains(t, err, "nn: load norm.weight")
	require.Empty(t, r.Loaded)
	require.Equal(t, before, floats(t, n.Norm.Weight.Value()))
}

// released is a source in which one tensor was released.
type released struct {
	nn.Tensors
	name string
	lost *tensor.Tensor
}

func (s released) Tensor(ctx context.Context, d *tensor.Device, name string) (*tensor.Tensor, error) {
	if name == s.name {
		return s.lost, nil
	}
	return s.Tensors.Tensor(ctx, d, name)
}

func TestFreeze(t *testing.T) {
	dev := open(t)
	n := newNet(dev)
	k, err := nn.Freeze(n, "embed.*", "*.bias")
	require.NoError(t, err)
	require.Equal(t, 3, k)
	var names []string
	for _, p := range nn.Trained(n) {
		names = append(names, p.Name)
	}
	require.Equal(t, []string{"blocks.0.weight", "norm.weight"}, names)
	g, err := n.Forward(tensor.From(dev, []int64{1, 2, 4}, 1, 3)).Backward()
	require.NoError(t, err)
	require.Equal(t, 2, g.Len())
	_, err = nn.Unfreeze(n)
	require.NoError(t, err)
	require.Len(t, nn.Trained(n), 5)
	_, err = nn.Freeze(n, "tail.*")
	require.ErrorContains(t, err, "fits no parameter")
	_, err = nn.Freeze(n, "[")
	require.Error(t, err)
}

func TestClone(t *testing.T) {
	dev := open(t)
	n := newNet(dev)
	_, err := nn.Freeze(n, "norm.weight")
	require.NoError(t, err)
	nn.Eval(n)
	x := tensor.From(dev, []int64{1, 2, 4}, 1, 3)
	want := floats(t, n.Forward(x))
	c := nn.Clone(n)
	require.Equal(t, nn.Format(n), nn.Format(c))
	require.Equal(t, want, floats(t, c.Forward(x)), "inference mode is copied too")
	require.True(t, c.Head.Weight == c.Embed.Weight && c.Head.Weight != n.Head.Weight, "tied in the copy")
	require.True(t, c.Shared == n.Shared && c.Blocks[1] != n.Blocks[1])
	nn.Map(c, func(_ string, t tt) tt { return t.MulScalar(2) })
	c.Size[0] = 9
	c.Embed.Weight.Value().Release()
	require.Equal(t, want, floats(t, n.Forward(x)), "the original is not touched")
	require.Equal(t, 1, n.Size[0])

	plain, err := tensor.Open(t.Context(), "cpu")
	require.NoError(t, err)
	defer func() { require.NoError(t, plain.Close()) }()
	f, err := nn.Fork(t.Context(), n, plain)
	require.NoError(t, err)
	y := tensor.From(plain, []int64{1, 2, 4}, 1, 3)
	require.Equal(t, want, floats(t, f.Forward(y)))
	require.NoError(t, nn.To(t.Context(), f, dev))
	require.Equal(t, want, floats(t, f.Forward(x)))
	require.True(t, f.Head.Bias.Value().Tracked() && !f.Norm.Weight.Trainable())

	nn.Train(n)
	i := nn.Inference(n)
	require.Empty(t, nn.Trained(i))
	require.Equal(t, want, floats(t, i.Forward(x)))
	require.False(t, i.Forward(x).Tracked())
	s := nn.Clone(nn.Sequential{n.Head, &nn.Relu{}})
	require.NotSame(t, n.Head, s[0])
}

// Every kind of layer can be cloned: the copy has its own settings and parameters.
func TestCloneLayers(t *testing.T) {
	dev := open(t)
	for _, m := range []any{nn.NewMaxPool2d([2]int{2, 3}, nn.PoolConfig{}), nn.NewAvgPool1d(2, nn.PoolConfig{}), nn.NewAdaptiveAvgPool1d(3),
		nn.NewInterpolate1d(nn.InterpolateConfig{Scale: []float64{2}}), nn.NewUnfold4d([2]int{2, 2}, nn.UnfoldConfig{Stride: ints(2)}), nn.NewConv3d(dev, 1, 1, [3]int{1, 1, 1}, nn.ConvConfig{}),
		nn.NewConvTranspose1d(dev, 2, 2, 3, nn.ConvTransposeConfig{}), nn.NewLstm(dev, 2, 3, nn.RecurrentConfig{Bidirectional: true, Layers: 2}), nn.NewGroupNorm(dev, 1, 2, nn.NormConfig{}),
		nn.NewTransformerDecoder(dev, 2, 4, 2, nn.TransformerConfig{FeedForward: 4}), nn.NewCrossAttention(dev, 4, 4, 2, nn.AttentionConfig{}), nn.NewRotaryEncoding(dev, 4, nn.PositionConfig{MaxLength: 3}),
		nn.NewPRelu(dev, 2), nn.NewRRelu(), nn.CrossEntropyLoss{Weight: dev.Ones(dtype.F32, 2)}, &nn.Flatten{First: 2}} {
		c := nn.Clone(m)
		require.Equal(t, nn.Format(m), nn.Format(c))
		a, b := nn.Params(m), nn.Params(c)
		require.Len(t, b, len(a))
		for i := range a {
			require.Equal(t, a[i].Name, b[i].Name)
			require.NotSame(t, a[i].Param, b[i].Param)
			require.Equal(t, floats(t, a[i].Value()), floats(t, b[i].Value()))
		}
	}
	p := nn.NewMaxPool2d([2]int{2, 3}, nn.PoolConfig{})
	q := nn.Clone(p)
	q.Window[0] = 5
	require.Equal(t, ints(2, 3), p.Window)
}

// Concurrent forward passes of one module, as with several data loaders or servers.
func TestConcurrentForward(t *testing.T) {
	dev := open(t)
	n := nn.Inference(newNet(dev))
	x := tensor.From(dev, []int64{1, 2, 4}, 1, 3)
	want := floats(t, n.Forward(x))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				tensor.Scope(dev, func(d *tensor.Device) []tt {
					v, err := tensor.Data[float32](t.Context(), n.Forward(x.In(d)))
					if err != nil || !slices.Equal(v, want) {
						t.Errorf("forward: %v, %v", v, err)
					}
					return nil
				})
			}
		})
	}
	wg.Wait()
}
