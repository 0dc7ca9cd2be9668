package optim_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// scalerFixture is testdata/scaler.json, which testdata/scaler.py writes.
type scalerFixture struct {
	Interval int
	Planted  []int
	Runs     []struct {
		Precision, Optimizer string
		Clip, Initial        float64
		Steps                []struct {
			Scale   float64
			Good    int
			Skipped bool
			Params  [][]float64
		}
	}
}

// wave returns the sines in scaler.py.
func wave(d *tensor.Device, a, b, times float64, shape ...int) *tensor.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(times) * float32(math.Sin(float64(i)*a+b))
	}
	return tensor.From(d, v, shape...)
}

// network returns the network in scaler.py.
func network(d *tensor.Device) []nn.Named {
	var params []nn.Named
	for i, p := range []struct {
		name  string
		shape []int
	}{{"0.weight", []int{8, 4}}, {"0.bias", []int{8}}, {"2.weight", []int{1, 8}}, {"2.bias", []int{1}}} {
		params = append(params, nn.Named{Name: p.name, Param: nn.NewParam(wave(d, 1.7, float64(i), 0.5, p.shape...))})
	}
	return params
}

// trainStep runs one training step with a scaled loss, on the batch with the number step. The gradients of a planted step overflow.
func (f *scalerFixture) trainStep(t *testing.T, s *optim.Scaler, params []nn.Named, precision string, clip float64, opt optim.Optimizer, step int, planted bool) {
	times := 1.0
	if planted {
		times = map[string]float64{"f32": 1e36, "f16": 60000}[precision]
	}
	narrow := map[string]dtype.DType{"f32": dtype.F32, "f16": dtype.F16}[precision]
	var grads *tensor.Gradients
	tensor.Autocast(params[0].Value().Device(), narrow, func(d *tensor.Device) []*tensor.Tensor {
		at := func(i int) *tensor.Tensor { return params[i].Value().In(d) }
		x := wave(d, 0.9, float64(step), 1, 16, 4).Linear(at(0).Transpose(0, 1), at(1)).Tanh().Linear(at(2).Transpose(0, 1), at(3))
		loss := x.Cast(dtype.F32).Sub(wave(d, 1.3, 2*float64(step), times, 16, 1)).Square().Mean()
		g, err := s.Scale(loss).Backward()
		require.NoError(t, err)
		grads = g
		var keep []*tensor.Tensor
		for _, p := range params {
			keep = append(keep, g.Of(p.Value()))
		}
		return keep
	})
	if clip > 0 {
		require.NoError(t, s.Unscale(params, grads))
		norm, err := (&optim.Clip{Norm: clip}).Apply(params, grads)
		require.NoError(t, err)
		norm.Release()
	}
	require.NoError(t, s.Step(opt, 0.03, params, grads.GiveUp()))
}

// blocking hides the Guarded methods of an optimiser.
type blocking struct{ optim.Optimizer }

// The same steps are skipped as in PyTorch, the factor is the same after each, and the parameters are equal up to rounding.
func TestScalerAsPyTorch(t *testing.T) {
	b, err := os.ReadFile("testdata/scaler.json")
	require.NoError(t, err)
	f := &scalerFixture{}
	require.NoError(t, json.Unmarshal(b, f))
	dev := open(t)
	planted := map[int]bool{}
	for _, step := range f.Planted {
		planted[step] = true
	}
	for _, r := range f.Runs {
		for name, wrap := range map[string]func(o optim.Optimizer) optim.Optimizer{
			"on the device": func(o optim.Optimizer) optim.Optimizer { return o },
			"waited for":    func(o optim.Optimizer) optim.Optimizer { return blocking{o} },
			"in groups": func(o optim.Optimizer) optim.Optimizer {
				return optim.Groups{{Match: optim.Matching("0"), Optimizer: o}, {Optimizer: o}}
			},
		} {
			t.Run(r.Precision+" "+r.Optimizer+" "+name, func(t *testing.T) {
				params := network(dev)
				opt := wrap(map[string]optim.Optimizer{"adamw": optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.1}), "sgd": optim.NewSGD(optim.SGDConfig{Momentum: 0.9})}[r.Optimizer])
				s, err := optim.NewScaler(dev, optim.ScalerConfig{Initial: r.Initial, Interval: f.Interval})
				require.NoError(t, err)
				skipped := 0
				tolerance := map[string]float64{"f32": 1e-5, "f16": 4e-3}[r.Precision]
				for i, want := range r.Steps {
					f.trainStep(t, s, params, r.Precision, r.Clip, opt, i, planted[i])
					got, err := s.Scaling(ctx)
					require.NoError(t, err)
					if want.Skipped {
						skipped++
					}
					require.Equal(t, optim.Scaling{Factor: want.Scale, Good: want.Good, Skipped: skipped}, got, "step %d", i)
					for k, p := range params {
						require.InDeltaSlice(t, want.Params[k], values(t, p.Value()), tolerance, "step %d, %s", i, p.Name)
					}
				}
				require.Greater(t, skipped, 3)
			})
		}
	}
}

// Skipped steps do not change the state: it is bitwise equal to the state after the other steps alone, whether or not the host
// waits in between, and a run can continue from it.
func TestScalerState(t *testing.T) {
	dev := open(t)
	f := &scalerFixture{}
	const steps = 100 // more than may be unsettled
	skipped := func(i int) bool { return i%7 == 3 || i < 2 }
	train := func(o optim.Optimizer, params []nn.Named, s *optim.Scaler, from, to int, all bool) {
		for i := from; i < to; i++ {
			if all || !skipped(i) {
				f.trainStep(t, s, params, "f32", 0, o, i, skipped(i))
			}
		}
	}
	config := optim.ScalerConfig{Initial: 65536, Backoff: math.Nextafter(1, 0), Interval: 1 << 20} // so that the factor rounds to itself
	scaler := func() *optim.Scaler {
		s, err := optim.NewScaler(dev, config)
		require.NoError(t, err)
		return s
	}
	state := func(o optim.Optimizer) (map[string]float64, map[string][]float64) {
		s := o.State()
		defer s.Release()
		m := map[string][]float64{}
		for k, x := range s.Tensors {
			m[k] = values(t, x)
		}
		return s.Numbers, m
	}
	for name, make := range map[string]func() optim.Optimizer{
		"adamw": func() optim.Optimizer { return optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.1, AMSGrad: true}) },
		"sgd":   func() optim.Optimizer { return optim.NewSGD(optim.SGDConfig{Momentum: 0.9, Dampening: 0.5}) },
		"lion":  func() optim.Optimizer { return optim.NewLion(optim.LionConfig{}) },
		"groups": func() optim.Optimizer {
			return optim.Groups{{Match: optim.Matrices(), Optimizer: optim.NewMuon(optim.MuonConfig{})}, {Optimizer: optim.NewAdafactor(optim.AdafactorConfig{})}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, plain := make(), network(dev)
			train(want, plain, scaler(), 0, steps, false)
			numbers, tensors := state(want)

			got, params, s := make(), network(dev), scaler()
			train(got, params, s, 0, steps/2, true)
			kept := got.State()
			at, err := s.Scaling(ctx)
			require.NoError(t, err)
			got, s = make(), scaler()
			require.NoError(t, got.Restore(kept))
			kept.Release()
			s.Restore(at)
			train(got, params, s, steps/2, steps, true)
			n, m := state(got)
			require.Equal(t, numbers, n)
			require.Equal(t, tensors, m)
			for i := range params {
				require.Equal(t, values(t, plain[i].Value()), values(t, params[i].Value()))
			}
			at, err = s.Scaling(ctx)
			require.NoError(t, err)
			require.Equal(t, optim.Scaling{Factor: 65536, Good: 5, Skipped: 16}, at)
		})
	}
}

// A parameter that has gradients in only some of the steps has its own step count, to which skipped steps do not add.
func TestScalerCountsByParameter(t *testing.T) {
	dev := open(t)
	run := func(guarded bool) []float64 {
		params, _ := pair(t, dev, []float32{1, 2}, []float32{3})
		opt := optim.NewAdamW(optim.AdamWConfig{})
		s, err := optim.NewScaler(dev, optim.ScalerConfig{Initial: 1})
		require.NoError(t, err)
		for i := range 12 {
			g := &tensor.Gradients{}
			v := float32(i%5) - 1.5
			bad := guarded && i%4 == 1
			if bad {
				v = float32(math.Inf(1))
			}
			if !guarded && i%4 == 1 {
				continue
			}
			g.Set(params[0].Value(), tensor.From(dev, []float32{v, 1}))
			if i%3 == 0 {
				g.Set(params[1].Value(), tensor.From(dev, []float32{0.5}))
			}
			if guarded {
				s.Restore(optim.Scaling{Factor: 1})
				require.NoError(t, s.Step(opt, 0.1, params, g.GiveUp()))
			} else {
				require.NoError(t, opt.Step(0.1, params, g.GiveUp()))
			}
		}
		st := opt.State()
		defer st.Release()
		return append(append(values(t, params[0].Value()), values(t, params[1].Value())...), st.Numbers["a/step"], st.Numbers["b/step"])
	}
	require.Equal(t, run(false), run(true))
}

func TestScalerRefuses(t *testing.T) {
	dev := open(t)
	for _, c := range []optim.ScalerConfig{{Initial: -1}, {Initial: 1e300}, {Growth: 0.5}, {Backoff: 2}, {Interval: -1}} {
		_, err := optim.NewScaler(dev, c)
		require.ErrorIs(t, err, core.ErrAttr)
	}
	s, err := optim.NewScaler(dev, optim.ScalerConfig{})
	require.NoError(t, err)
	params, g := pair(t, dev, []float32{1}, []float32{1})
	require.NoError(t, s.Unscale(params, g))
	require.ErrorIs(t, s.Unscale(params, g), core.ErrAttr)
	opt := optim.NewSGD(optim.SGDConfig{})
	require.ErrorIs(t, opt.StepUnless(0.1, params, g, optim.Guard{}), core.ErrAttr)
	require.ErrorIs(t, opt.StepUnless(0.1, params, g, optim.Guard{Skip: tensor.From(dev, []bool{true})}), core.ErrAttr)
}

// The factor stops growing at the limit of f32.
func TestScalerGrowsToTheEnd(t *testing.T) {
	dev := open(t)
	s, err := optim.NewScaler(dev, optim.ScalerConfig{Initial: 0x1p126, Interval: 1})
	require.NoError(t, err)
	params, _ := pair(t, dev, []float32{1}, []float32{1})
	opt := optim.NewSGD(optim.SGDConfig{})
	for _, want := range []float64{0x1p127, 0x1p127} {
		require.NoError(t, s.Step(opt, 0, params, gradsOf(t, params, []float32{1}, []float32{1})))
		got, err := s.Scaling(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got.Factor)
	}
}
