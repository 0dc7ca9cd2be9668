package optim_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

var ctx = context.Background()

func open(t testing.TB) *tensor.Device {
	t.Helper()
	d, err := core.OpenPlace("cpu", core.Config{Threads: 2})
	require.NoError(t, err)
	dev, err := tensor.On(ctx, autodiff.Device(d))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, dev.Close())
		require.NoError(t, d.Close())
	})
	return dev
}

// fixture is testdata/trajectories.json, which testdata/trajectories.py writes.
type fixture struct {
	Shapes       map[string][]int
	Start, Scale map[string][]float64
	Keep         []int
	Trajectories map[string][]map[string][]float64
	LBFGS        map[string][]struct {
		Loss float64
		X    []float64
	} `json:"lbfgs"`
}

func load(t testing.TB) *fixture {
	b, err := os.ReadFile("testdata/trajectories.json")
	require.NoError(t, err)
	f := &fixture{}
	require.NoError(t, json.Unmarshal(b, f))
	return f
}

func make1(d *tensor.Device, dt dtype.DType, v []float64, shape ...int) *tensor.Tensor {
	t := tensor.From(d, v, shape...)
	if dt == dtype.F64 {
		return t
	}
	return t.Cast(dt)
}

// params returns the parameters of the fixture that occur in a trajectory.
func (f *fixture) params(d *tensor.Device, dt dtype.DType, of map[string][]float64) []nn.Named {
	var list []nn.Named
	for _, name := range []string{"matrix", "wide", "vector"} {
		if _, ok := of[name]; ok {
			list = append(list, nn.Named{Name: name, Param: nn.NewParam(make1(d, dt, f.Start[name], f.Shapes[name]...))})
		}
	}
	return list
}

func values(t testing.TB, x *tensor.Tensor) []float64 {
	v, err := tensor.DataAs[float64](ctx, x)
	require.NoError(t, err)
	return v
}

// gradients returns the gradients of a step by the formula of the script, through a loss that is linear in the parameters.
func (f *fixture) gradients(t testing.TB, params []nn.Named, step int) *tensor.Gradients {
	var roots []*tensor.Tensor
	for _, p := range params {
		v := values(t, p.Value())
		for i, x := range v {
			v[i] = math.Sin(3*x+0.37*float64(step))*f.Scale[p.Name][i] + 0.3*x
		}
		roots = append(roots, p.Value().Mul(make1(p.Value().Device(), p.DType(), v, p.Shape()...)).Sum())
	}
	g, err := tensor.Backward(roots, nil)
	require.NoError(t, err)
	return g
}

var optimisers = map[string]struct {
	lr  float64
	new func() optim.Optimizer
}{
	"sgd": {0.05, func() optim.Optimizer { return optim.NewSGD(optim.SGDConfig{}) }},
	"sgd_momentum": {0.05, func() optim.Optimizer {
		return optim.NewSGD(optim.SGDConfig{Momentum: 0.9, Dampening: 0.3, WeightDecay: 0.01})
	}},
	"sgd_nesterov": {0.05, func() optim.Optimizer { return optim.NewSGD(optim.SGDConfig{Momentum: 0.8, Nesterov: true}) }},
	"adam":         {0.02, func() optim.Optimizer { return optim.NewAdam(optim.AdamConfig{WeightDecay: 0.03}) }},
	"adam_amsgrad": {0.02, func() optim.Optimizer {
		return optim.NewAdam(optim.AdamConfig{Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-6, AMSGrad: true})
	}},
	"adamw": {0.02, func() optim.Optimizer { return optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.1}) }},
	"adagrad": {0.1, func() optim.Optimizer {
		return optim.NewAdaGrad(optim.AdaGradConfig{RateDecay: 0.02, WeightDecay: 0.01, Start: 0.1})
	}},
	"rmsprop": {0.01, func() optim.Optimizer { return optim.NewRMSProp(optim.RMSPropConfig{WeightDecay: 0.01}) }},
	"rmsprop_centered": {0.01, func() optim.Optimizer {
		return optim.NewRMSProp(optim.RMSPropConfig{Alpha: 0.9, Momentum: 0.7, Centered: true, Epsilon: 1e-4})
	}},
	"adafactor": {0.05, func() optim.Optimizer { return optim.NewAdafactor(optim.AdafactorConfig{WeightDecay: 0.02}) }},
	"muon":      {0.02, func() optim.Optimizer { return optim.NewMuon(optim.MuonConfig{WeightDecay: 0.1}) }},
	"muon_match": {0.01, func() optim.Optimizer {
		return optim.NewMuon(optim.MuonConfig{Plain: true, Momentum: 0.9, Adjust: optim.MatchAdamW})
	}},
	"lion": {0.01, func() optim.Optimizer { return optim.NewLion(optim.LionConfig{WeightDecay: 0.1}) }},
	"adan": {0.02, func() optim.Optimizer { return optim.NewAdan(optim.AdanConfig{WeightDecay: 0.05}) }},
	"adan_decoupled": {0.02, func() optim.Optimizer {
		return optim.NewAdan(optim.AdanConfig{Beta1: 0.9, Beta2: 0.8, Beta3: 0.95, Epsilon: 1e-6, WeightDecay: 0.05, Decoupled: true})
	}},
}

func TestTrajectories(t *testing.T) {
	f := load(t)
	require.Len(t, optimisers, len(f.Trajectories))
	dev := open(t)
	for name, want := range f.Trajectories {
		o, ok := optimisers[name]
		require.True(t, ok, name)
		for dt, tolerance := range map[dtype.DType]float64{dtype.F64: 1e-9, dtype.F32: 1e-5} {
			t.Run(name+"/"+dt.String(), func(t *testing.T) {
				params, opt := f.params(dev, dt, want[0]), o.new()
				at := 0
				for step := range f.Keep[len(f.Keep)-1] + 1 {
					g := f.gradients(t, params, step)
					require.NoError(t, opt.Step(o.lr, params, g))
					g.Release()
					if f.Keep[at] != step {
						continue
					}
					for _, p := range params {
						require.InDeltaSlice(t, want[at][p.Name], values(t, p.Value()), tolerance, "%s after step %d", p.Name, step)
					}
					at++
				}
				require.Len(t, want, at)
			})
		}
	}
}

// TestResume continues a run halfway from the state of another, and compares bits.
func TestResume(t *testing.T) {
	f := load(t)
	dev := open(t)
	for name, o := range optimisers {
		t.Run(name, func(t *testing.T) {
			of := f.Trajectories[name][0]
			whole, first := f.params(dev, dtype.F32, of), o.new()
			var resumed []nn.Named
			second := o.new()
			for step := range 8 {
				if step == 4 {
					for _, p := range whole {
						resumed = append(resumed, nn.Named{Name: p.Name, Param: nn.NewParam(p.Value().Detach())})
					}
					s := first.State()
					require.NoError(t, second.Restore(s))
					s.Release()
				}
				require.NoError(t, first.Step(o.lr, whole, f.gradients(t, whole, step)))
				if step >= 4 {
					require.NoError(t, second.Step(o.lr, resumed, f.gradients(t, resumed, step)))
				}
			}
			for i, p := range whole {
				require.Equal(t, values(t, p.Value()), values(t, resumed[i].Value()))
			}
			require.Error(t, second.Restore(optim.State{Numbers: map[string]float64{"matrix/step": 0.5}}))
			if name == "sgd" { // which keeps only step counts
				return
			}
			require.Error(t, second.Restore(optim.State{Numbers: map[string]float64{"matrix/step": 1}}), "no tensors")
		})
	}
}

var wavyConfig = optim.LBFGSConfig{Iterations: 10, Evaluations: 40, History: 4}

func TestLBFGS(t *testing.T) {
	f := load(t)
	for name, c := range map[string]struct {
		lr  float64
		cfg optim.LBFGSConfig
	}{"wolfe": {1, optim.LBFGSConfig{Iterations: 8, History: 5}}, "fixed": {0.01, optim.LBFGSConfig{Iterations: 12, Fixed: true}},
		"far":    {40, optim.LBFGSConfig{Iterations: 12, History: 4}},
		"wavy_1": {1, wavyConfig}, "wavy_7": {7, wavyConfig}, "wavy_30": {30, wavyConfig}} {
		t.Run(name, func(t *testing.T) {
			dev := open(t)
			a := nn.NewParam(tensor.From(dev, []float64{-1.2, 1}))
			b := nn.NewParam(tensor.From(dev, []float64{0.7, -0.4}))
			params := []nn.Named{{Name: "a", Param: a}, {Name: "b", Param: b}}
			closure := func() (loss *tensor.Tensor, g *tensor.Gradients, err error) {
				kept := tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
					x := tensor.Concat(0, a.Value().In(d), b.Value().In(d))
					hi, lo := x.Narrow(0, 1, 3), x.Narrow(0, 0, 3)
					loss := hi.Sub(lo.Square()).Square().MulScalar(100).Add(lo.RSubScalar(1).Square()).Sum()
					if strings.HasPrefix(name, "wavy") {
						loss = x.Square().MulScalar(0.05).Add(x.MulScalar(5).Sin()).Add(x.Square().AddScalar(0.001).Sqrt()).Sum()
						loss = loss.Add(x.Sum().Square().MulScalar(0.1))
					}
					g, err = loss.Backward()
					return []*tensor.Tensor{loss, g.Of(a.Value()), g.Of(b.Value())}
				})
				return kept[0], g, err
			}
			opt := optim.NewLBFGS(c.cfg)
			for i, want := range f.LBFGS[name] {
				if i == 2 { // a new optimiser continues with the state
					next := optim.NewLBFGS(c.cfg)
					require.NoError(t, next.Restore(opt.State()))
					opt = next
				}
				loss, err := opt.Step(ctx, c.lr, params, closure)
				require.NoError(t, err)
				require.InDelta(t, want.Loss, loss, 1e-7, "step %d", i)
				require.NoError(t, dev.Sync(ctx))
				m, _ := dev.Memory()
				require.Less(t, m.Tensors, int64(60+24*i), "two optimisers with their histories, and nothing else")
				require.InDeltaSlice(t, want.X, append(values(t, a.Value()), values(t, b.Value())...), 1e-7, "step %d", i)
			}
		})
	}
}
