package burn_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/internal/bench"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/nn/gpt2"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// orders returns the orders in docs/COMPOSITION.md, each from the outermost to the innermost decorator.
func orders(t *testing.T) (all [][]string) {
	doc, err := os.ReadFile("docs/COMPOSITION.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \|`).FindAllStringSubmatch(string(doc), -1) {
		switch m[1] {
		case "order":
		case "plugin":
			all = append(all, nil)
		default:
			all = append(all, strings.Split(m[1], ", "))
		}
	}
	require.Greater(t, len(all), 15)
	return all
}

// composed returns a backend with the decorators of order over the cpu backend. faults receives the faults that verify finds.
func composed(order []string, faults *verify.Log) (core.Backend, error) {
	if len(order) == 0 {
		return cpu.New(core.Config{Threads: 1})
	}
	var below []*core.Place
	for range 1 + btoi(order[0] == "router") {
		b, err := composed(order[1:], faults)
		if err != nil {
			return nil, err
		}
		below = append(below, &core.Place{Backend: b, Spec: fmt.Sprint("member ", len(below))})
	}
	b := below[0].Backend
	switch order[0] {
	case "autodiff":
		return autodiff.Wrap(b), nil
	case "fusion":
		return fusion.Wrap(b), nil
	case "verify":
		return verify.Wrap(b, verify.OnFault(faults.Add)), nil
	case "router":
		return router.New(below)
	}
	return nil, fmt.Errorf("no decorator %q", order[0])
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// each runs f as a subtest for every order.
func each(t *testing.T, f func(t *testing.T, order []string)) {
	for _, o := range orders(t) {
		name := strings.Join(o, " over ")
		if name == "" {
			name = "plugin"
		}
		t.Run(name, func(t *testing.T) { f(t, o) })
	}
}

// refusals returns the ids of the cases that fail in an order because a decorator reports their error at the call. The contract
// expects the error at the next event.
func refusals(order []string) (ids []string) {
	if slices.Contains(order, "autodiff") || slices.Contains(order, "verify") {
		ids = append(ids, "lifecycle/double-free")
	}
	if slices.Contains(order, "verify") {
		ids = append(ids, "stream/free", "stream/free-unknown", "donation/gone", "refused/free")
		if !slices.Contains(order, "router") { // the router has no collectives
			ids = append(ids, "collective/shapes")
		}
	}
	return ids
}

func TestCompositionConforms(t *testing.T) {
	sample := 3000
	if long.Tests() {
		sample = 20
	}
	each(t, func(t *testing.T, order []string) {
		for _, p := range []conformance.Profile{conformance.Core, conformance.Training} {
			var log verify.Log
			r, err := conformance.Check(t.Context(), func() (core.Backend, error) { return composed(order, &log) },
				conformance.Options{Profile: p, Sample: sample, Shrink: -1, Expect: refusals(order)})
			require.NoError(t, err)
			for _, x := range r.Results {
				if x.Status == conformance.Failed {
					t.Errorf("%s: %s", x.ID, x.Reason)
				}
			}
			require.NoError(t, r.Err(), "%s", p)
			require.Positive(t, r.Passed)
		}
	})
}

// gradients adds autodiff on top of an order that has none, to train the models.
func gradients(order []string) []string {
	if len(order) > 0 && order[0] == "autodiff" {
		return order
	}
	return append([]string{"autodiff"}, order...)
}

// In every order, the losses of ten steps equal the losses on the cpu backend alone, and verify finds no fault.
func TestCompositionTrains(t *testing.T) {
	ctx := context.Background()
	train := func(t *testing.T, order []string, make func(d *tensor.Device) (model any, loss func(d *tensor.Device) *tensor.Tensor)) (losses []float64) {
		var log verify.Log
		b, err := composed(gradients(order), &log)
		require.NoError(t, err)
		dev, err := tensor.Own(ctx, &core.Place{Backend: b, Spec: "composed"})
		require.NoError(t, err)
		dev.Seed(1)
		model, loss := make(dev)
		params, opt := nn.Trained(model), optim.NewAdam(optim.AdamConfig{})
		for range 10 {
			var grads *tensor.Gradients
			var mean *tensor.Tensor
			tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
				l := loss(d)
				grads, err = l.Backward()
				require.NoError(t, err)
				for _, p := range params {
					grads.Of(p.Value()).Keep()
				}
				mean = l.Detach().Keep()
				return nil
			})
			require.NoError(t, opt.Step(1e-3, params, grads.GiveUp()))
			grads.Release()
			v, err := mean.Float64(ctx)
			require.NoError(t, err)
			mean.Release()
			losses = append(losses, v)
		}
		require.NoError(t, dev.Close())
		faults, _ := log.Report()
		require.Empty(t, faults)
		return losses
	}
	for name, make := range map[string]func(d *tensor.Device) (any, func(d *tensor.Device) *tensor.Tensor){
		"cnn": func(d *tensor.Device) (any, func(d *tensor.Device) *tensor.Tensor) {
			m := newSmall(d, 0.25)
			x, y := d.Uniform(dtype.F32, 0, 1, 4, 1, 28, 28), d.RandomInt(dtype.I64, 0, 10, 4)
			return m, func(d *tensor.Device) *tensor.Tensor { return m.loss(x.In(d), y.In(d)) }
		},
		"gpt2": func(d *tensor.Device) (any, func(d *tensor.Device) *tensor.Tensor) {
			m := gpt2.New(d, gpt2.Config{Layers: 2, Heads: 2, Size: 16, Vocabulary: 17, Context: 8})
			x, y := d.RandomInt(dtype.I64, 0, 17, 2, 8), d.RandomInt(dtype.I64, 0, 17, 2, 8)
			return m, func(d *tensor.Device) *tensor.Tensor { return m.Loss(x.In(d), y.In(d)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := train(t, nil, make)
			require.Less(t, want[9], want[0])
			each(t, func(t *testing.T, order []string) {
				require.InDeltaSlice(t, want, train(t, order, make), 1e-4)
			})
		})
	}
}

// In every order of decorators, four runs of an image model return the same outputs as the cpu backend alone. The host runs programs, and
// in a second pass, on a device that does not offer programs, it submits nodes.
func TestCompositionInfers(t *testing.T) {
	ctx := context.Background()
	const path = "examples/digits/digits.onnx"
	m, err := onnx.Load(path, onnx.Options{})
	require.NoError(t, err)
	feed, _, err := bench.Inputs(m, path, 3)
	require.NoError(t, err)
	infer := func(t *testing.T, order []string, bare bool) (got []onnxtest.Value) {
		var log verify.Log
		b, err := composed(order, &log)
		require.NoError(t, err)
		if bare {
			b = nodes{b}
		}
		dev, err := tensor.Own(ctx, &core.Place{Backend: b, Spec: "composed"})
		require.NoError(t, err)
		s, err := m.Open(dev)
		require.NoError(t, err)
		in := map[string]onnx.Value{}
		for name, v := range feed {
			in[name], err = onnxtest.Upload(ctx, dev, v)
			require.NoError(t, err)
		}
		for range 4 {
			out, err := s.Run(ctx, in)
			require.NoError(t, err)
			for _, o := range m.Outputs() {
				v, err := onnxtest.Download(ctx, out[o.Name])
				require.NoError(t, err)
				got = append(got, v)
			}
		}
		require.NoError(t, s.Close())
		require.NoError(t, dev.Close())
		faults, _ := log.Report()
		require.Empty(t, faults)
		return got
	}
	want := infer(t, nil, false)
	each(t, func(t *testing.T, order []string) {
		for _, bare := range []bool{false, true} {
			got := infer(t, order, bare)
			require.Len(t, got, len(want))
			for i := range got {
				require.Nil(t, onnxtest.CompareValues("output", got[i], want[i], &onnxtest.Tolerance{Rel: 1e-4, Abs: 1e-5}))
			}
		}
	})
}

// nodes is a backend whose devices do not offer core.Programs, so that the host submits nodes.
type nodes struct{ core.Backend }

func (n nodes) Open(ctx context.Context, i int) (core.Device, error) {
	d, err := n.Backend.Open(ctx, i)
	return nodesDevice{d}, err
}

type nodesDevice struct{ core.Device }

func (d nodesDevice) Extend(target any) bool {
	_, ok := target.(*core.Programs)
	return !ok && d.Device.Extend(target)
}

// A decorator above autodiff hides core.Gradients. The table in docs/COMPOSITION.md omits these orders for this reason.
func TestCompositionHidesGradients(t *testing.T) {
	for _, top := range []string{"fusion", "router", "verify"} {
		b, err := composed([]string{top, "autodiff"}, &verify.Log{})
		require.NoError(t, err)
		d, err := b.Open(t.Context(), 0)
		require.NoError(t, err)
		_, ok := core.Extension[core.Gradients](d)
		require.False(t, ok, top)
		require.NoError(t, b.Close())
	}
}
