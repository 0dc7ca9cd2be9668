package optim_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/record"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// pair returns two parameters, whose elements are 1, and gradients with the given numbers.
func pair(t *testing.T, d *tensor.Device, a, b []float32) ([]nn.Named, *tensor.Gradients) {
	params := []nn.Named{{Name: "a", Param: nn.NewParam(d.Ones(dtype.F32, len(a)))}, {Name: "b", Param: nn.NewParam(d.Ones(dtype.F32, len(b)))}}
	return params, gradsOf(t, params, a, b)
}

func gradsOf(t *testing.T, params []nn.Named, vs ...[]float32) *tensor.Gradients {
	var roots []*tensor.Tensor
	for i, v := range vs {
		if v != nil {
			roots = append(roots, params[i].Value().Mul(tensor.From(params[i].Value().Device(), v)).Sum())
		}
	}
	g, err := tensor.Backward(roots, nil)
	require.NoError(t, err)
	return g
}

func TestClip(t *testing.T) {
	dev := open(t)
	for _, c := range []struct {
		clip optim.Clip
		norm float64
		a, b []float64
	}{ // 3, 4 and 12 have the norm 13; PyTorch divides by the norm + 1e-6
		{optim.Clip{}, 13, []float64{3, -4}, []float64{12}},
		{optim.Clip{Value: 4}, math.Sqrt(41), []float64{3, -4}, []float64{4}},
		{optim.Clip{Norm: 26}, 13, []float64{3, -4}, []float64{12}},
		{optim.Clip{Norm: 1.3}, 13, []float64{0.3, -0.4}, []float64{1.2}},
		{optim.Clip{Value: 12, Norm: 6.5}, 13, []float64{1.5, -2}, []float64{6}},
	} {
		params, g := pair(t, dev, []float32{3, -4}, []float32{12})
		for range 2 { // compiled, then from the cache
			_, g = params, gradsOf(t, params, []float32{3, -4}, []float32{12})
			norm, err := c.clip.Apply(params, g)
			require.NoError(t, err)
			require.InDelta(t, c.norm, values(t, norm)[0], 1e-5)
			require.InDeltaSlice(t, c.a, values(t, g.Of(params[0].Value())), 1e-5)
			require.InDeltaSlice(t, c.b, values(t, g.Of(params[1].Value())), 1e-5)
		}
	}
	params, g := pair(t, dev, []float32{1}, []float32{1})
	_, err := (&optim.Clip{Norm: -1}).Apply(params, g)
	require.ErrorIs(t, err, core.ErrAttr)
	norm, err := (&optim.Clip{Norm: 1}).Apply(nil, g)
	require.NoError(t, err)
	require.Nil(t, norm)
}

// A Clip serves one device, and then another: a run continues after its backend was lost.
func TestClipMovesOn(t *testing.T) {
	clip := optim.Clip{Norm: 1.3}
	for range 2 {
		params, g := pair(t, open(t), []float32{3, -4}, []float32{12})
		norm, err := clip.Apply(params, g)
		require.NoError(t, err)
		require.InDelta(t, 13, values(t, norm)[0], 1e-5)
		require.InDeltaSlice(t, []float64{0.3, -0.4}, values(t, g.Of(params[0].Value())), 1e-5)
	}
}

func TestAccumulator(t *testing.T) {
	dev := open(t)
	params, first := pair(t, dev, []float32{1, 2}, nil)
	var acc optim.Accumulator
	_, err := acc.Take(params, true)
	require.Error(t, err)
	for _, mean := range []bool{true, false} {
		if !mean {
			first = gradsOf(t, params, []float32{1, 2}, nil)
		}
		require.NoError(t, acc.Add(params, first))
		require.NoError(t, acc.Add(params, gradsOf(t, params, []float32{10, 20}, nil)))
		require.Equal(t, 2, acc.Len())
		g, err := acc.Take(params, mean)
		require.NoError(t, err)
		want := []float64{11, 22}
		if mean {
			want = []float64{5.5, 11}
		}
		require.Equal(t, want, values(t, g.Of(params[0].Value())))
	}
}

func TestAccumulatorUnion(t *testing.T) {
	dev := open(t)
	params, first := pair(t, dev, []float32{1}, []float32{2})
	first.Set(params[1].Value(), nil)
	var acc optim.Accumulator
	require.NoError(t, acc.Add(params, first))
	require.NoError(t, acc.Add(params, gradsOf(t, params, nil, []float32{6})))
	g, err := acc.Take(params, true)
	require.NoError(t, err)
	require.Equal(t, []float64{0.5}, values(t, g.Of(params[0].Value())))
	require.Equal(t, []float64{3}, values(t, g.Of(params[1].Value())))
}

func TestGroups(t *testing.T) {
	dev := open(t)
	params, g := pair(t, dev, []float32{1}, []float32{1})
	params = append(params, nn.Named{Name: "c", Param: nn.NewParam(dev.Ones(dtype.F32, 1))})
	gs := optim.Groups{
		{Match: optim.Matching("^a$"), Optimizer: optim.NewSGD(optim.SGDConfig{Momentum: 0.5}), Scale: 0.1},
		{Match: optim.Matching("b"), Optimizer: optim.NewSGD(optim.SGDConfig{}), Rate: func() float64 { return 0.25 }},
	}
	require.NoError(t, gs.Step(1, params, g))
	for i, want := range []float64{0.9, 0.75, 1} {
		require.InDelta(t, want, values(t, params[i].Value())[0], 1e-6)
	}
	s := gs.State()
	require.Equal(t, []string{"0/a/momentum"}, s.Names())
	require.Equal(t, map[string]float64{"0/a/step": 1, "1/b/step": 1}, s.Numbers)
	require.NoError(t, gs.Restore(s))
	s.Numbers["7/b/step"] = 1
	require.Error(t, gs.Restore(s))
	matrices := optim.Matrices("embed")
	m := nn.NewParam(dev.Ones(dtype.F32, 2, 2))
	require.True(t, matrices(nn.Named{Name: "w", Param: m}))
	require.False(t, matrices(nn.Named{Name: "embed.w", Param: m}))
	require.False(t, matrices(params[0]))
}

func TestFaults(t *testing.T) {
	dev := open(t)
	params, g := pair(t, dev, []float32{1}, []float32{1})
	before := values(t, params[0].Value())
	opt := optim.NewAdam(optim.AdamConfig{})
	require.ErrorContains(t, opt.Step(math.NaN(), params, g), "learning rate")
	require.ErrorContains(t, opt.Step(1, append(params, params[0]), g), `two parameters are named "a"`)
	require.ErrorContains(t, optim.NewMuon(optim.MuonConfig{}).Step(1, params, g), "want a matrix")
	g.Set(params[0].Value(), tensor.From(dev, []float32{1, 2}))
	require.ErrorIs(t, opt.Step(1, params, g), core.ErrShape)
	require.Equal(t, before, values(t, params[0].Value()))
	// The state of another model is refused.
	params, g = pair(t, dev, []float32{1}, []float32{1})
	require.NoError(t, opt.Step(1, params, g))
	other, g2 := pair(t, dev, []float32{1, 2}, []float32{1})
	require.ErrorContains(t, opt.Step(1, other, g2), "does not fit")
	// Frozen parameters and those without a gradient do not change.
	params[0].SetTrainable(false)
	v := params[0].Value()
	require.NoError(t, optim.NewSGD(optim.SGDConfig{}).Step(1, params, gradsOf(t, params[1:], []float32{1})))
	require.Same(t, v, params[0].Value())
}

// TestHalf trains a bf16 parameter: it stays bf16, and the optimiser's state is f32.
func TestHalf(t *testing.T) {
	dev := open(t)
	p := nn.NewParam(dev.Ones(dtype.BF16, 4))
	params := []nn.Named{{Name: "w", Param: p}}
	opt := optim.NewAdamW(optim.AdamWConfig{})
	for range 3 {
		g, err := p.Value().MulScalar(1e-5).Sum().Backward()
		require.NoError(t, err)
		require.NoError(t, opt.Step(0.125, params, g))
	}
	require.Equal(t, dtype.BF16, p.DType())
	s := opt.State()
	require.Equal(t, dtype.F32, s.Tensors["w/mean"].DType())
	require.InDelta(t, 0.625, values(t, p.Value())[0], 0.01) // three steps of the learning rate
}

// TestMemory checks that steps leave no tensors behind.
func TestMemory(t *testing.T) {
	dev := open(t)
	p := nn.NewParam(dev.Ones(dtype.F32, 64, 64))
	params := []nn.Named{{Name: "w", Param: p}}
	opt, clip := optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.1}), &optim.Clip{Norm: 1}
	var first int64
	for i := range 20 {
		loss := p.Value().Sum()
		g, err := loss.Backward()
		require.NoError(t, err)
		norm, err := clip.Apply(params, g)
		require.NoError(t, err)
		require.NoError(t, opt.Step(0.1, params, g))
		g.Release()
		norm.Release()
		loss.Release()
		require.NoError(t, dev.Sync(ctx))
		m, ok := dev.Memory()
		require.True(t, ok)
		if i == 2 {
			first = m.InUse
		}
		if i > 2 {
			require.Equal(t, first, m.InUse)
		}
	}
}

// TestStateFile saves a state and continues from the file.
func TestStateFile(t *testing.T) {
	f := load(t)
	dev := open(t)
	for _, format := range []record.Format{record.Record, record.Safetensors} {
		opt := optim.NewAdan(optim.AdanConfig{})
		params := f.params(dev, dtype.F32, f.Trajectories["adan"][0])
		for step := range 3 {
			require.NoError(t, opt.Step(0.0123, params, f.gradients(t, params, step)))
		}
		s := opt.State()
		b, err := record.Bytes(ctx, s.Entries(), record.Options{Format: format, Metadata: s.Metadata()})
		require.NoError(t, err)
		r, err := record.Parse(b)
		require.NoError(t, err)
		back, err := optim.ReadState(ctx, dev, r, r.Metadata())
		require.NoError(t, err)
		require.Equal(t, s.Numbers, back.Numbers)
		require.Equal(t, s.Names(), back.Names())
		require.NoError(t, optim.NewAdan(optim.AdanConfig{}).Restore(back))
		for n, x := range s.Tensors {
			require.Equal(t, values(t, x), values(t, back.Tensors[n]))
		}
		_, err = optim.ReadState(ctx, dev, r, map[string]string{"a/step": "x"})
		require.Error(t, err)
	}
}

// A step without parameters, or with nil arguments, is an error.
func TestNothingToTrain(t *testing.T) {
	ctx := context.Background()
	dev := open(t)
	params, g := pair(t, dev, []float32{1}, []float32{1})
	frozen, _ := pair(t, dev, []float32{1}, []float32{1})
	for _, p := range frozen {
		p.SetTrainable(false)
	}
	for name, opt := range map[string]optim.Optimizer{"adam": optim.NewAdam(optim.AdamConfig{}), "groups": optim.Groups{{Optimizer: optim.NewSGD(optim.SGDConfig{})}}} {
		err := opt.Step(1, nil, g)
		require.ErrorIs(t, err, core.ErrAttr, name)
		require.ErrorContains(t, err, "no parameters", name)
		require.ErrorContains(t, opt.Step(1, frozen, g), "none of 2 parameters is trained", name)
		require.ErrorIs(t, opt.Step(1, params, nil), core.ErrAttr, name)
		require.ErrorIs(t, opt.Step(1, []nn.Named{{Name: "a"}}, g), core.ErrAttr, name)
		require.ErrorIs(t, opt.Step(1, append([]nn.Named{{Name: "x"}}, params...), g), core.ErrAttr, name)
	}
	// A group that matches nothing does not count.
	require.NoError(t, optim.Groups{{Match: optim.Matching("^none$"), Optimizer: optim.NewSGD(optim.SGDConfig{})}, {Optimizer: optim.NewSGD(optim.SGDConfig{})}}.Step(1, params, g))
	empty := optim.Groups{{}}
	require.ErrorIs(t, empty.Step(1, params, g), core.ErrAttr)
	require.ErrorIs(t, empty.Restore(optim.NewState()), core.ErrAttr)
	require.Empty(t, empty.State().Tensors)
	var sum optim.Accumulator
	require.ErrorIs(t, sum.Add(params, nil), core.ErrAttr)
	require.ErrorIs(t, sum.Add([]nn.Named{{Name: "a"}}, g), core.ErrAttr)
	_, err := (&optim.Clip{Norm: 1}).Apply(params, nil)
	require.ErrorIs(t, err, core.ErrAttr)
	l := optim.NewLBFGS(optim.LBFGSConfig{})
	f := func() (*tensor.Tensor, *tensor.Gradients, error) { return nil, nil, nil }
	_, err = l.Step(ctx, 1, params, nil)
	require.ErrorIs(t, err, core.ErrAttr)
	_, err = l.Step(nil, 1, params, f) //nolint:staticcheck // as a caller may do
	require.ErrorIs(t, err, core.ErrAttr)
	_, err = l.Step(ctx, 1, params, f)
	require.ErrorIs(t, err, core.ErrAttr)
	_, err = l.Step(ctx, 1, nil, f)
	require.ErrorIs(t, err, core.ErrAttr)
}
