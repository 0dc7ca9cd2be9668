package gpu_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/tensor"
)

// parameters returns the parameters of a transformer: an embedding of 37 rows, 12 parameters for each of the layers, whose width is size,
// the weight and bias of a last norm, and a vector of one element.
func parameters(d *tensor.Device, layers, size int) []nn.Named {
	var all []nn.Named
	add := func(name string, shape ...int) {
		v := make([]float32, 0)
		n := 1
		for _, s := range shape {
			n *= s
		}
		for i := range n {
			v = append(v, float32((i*7+len(all))%23)/16-0.5)
		}
		all = append(all, nn.Named{Name: name, Param: nn.NewParam(tensor.From(d, v, shape...))})
	}
	add("embedding", 37, size)
	for i := range layers {
		for _, p := range []struct {
			name  string
			shape []int
		}{{"norm1", []int{size}}, {"in", []int{size, 3 * size}}, {"out", []int{size, size}}, {"norm2", []int{size}}, {"up", []int{size, 4 * size}}, {"down", []int{4 * size, size}}} {
			add(fmt.Sprintf("%d.%s.weight", i, p.name), p.shape...)
			add(fmt.Sprintf("%d.%s.bias", i, p.name), p.shape[len(p.shape)-1])
		}
	}
	add("norm.weight", size)
	add("norm.bias", size)
	add("temperature", 1)
	return all
}

// optimized runs steps of opt with gradients computed from the parameters, and returns the values of the parameters. It calls after at
// the end of each step.
func optimized(t *testing.T, b core.Backend, opt optim.Optimizer, layers, size, steps int, after func(step int)) [][]float32 {
	ctx := context.Background()
	dev, err := tensor.On(ctx, &core.Place{Backend: b, Spec: "optimized"})
	require.NoError(t, err)
	defer dev.Close()
	params := parameters(dev, layers, size)
	for step := range steps {
		g := &tensor.Gradients{}
		for _, p := range params {
			g.Set(p.Value(), p.Value().MulScalar(0.5).AddScalar(0.25))
		}
		require.NoError(t, dev.Sync(ctx))
		require.NoError(t, opt.Step(1e-2, params, g.GiveUp()))
		require.NoError(t, dev.Sync(ctx))
		after(step)
	}
	var all [][]float32
	for _, p := range params {
		v, err := tensor.Data[float32](ctx, p.Value())
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

// TestOptimizerLaunches checks that a step of AdamW over 148 parameters takes at most 5 launches, whose members update all parameters in
// place, and that the results equal the reference in every execution order.
func TestOptimizerLaunches(t *testing.T) {
	const layers, size, steps = 12, 8, 3
	adamw := func() optim.Optimizer { return optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01}) }
	want := optimized(t, ref.New(), adamw(), layers, size, steps, func(int) {})
	require.Len(t, want, 148)
	for _, order := range []interp.Order{interp.Forward, interp.Backward, interp.Shuffled} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			var mu sync.Mutex
			var launches, members, inPlace int
			o := emulated.Options{Order: order, Seed: 3, Launched: func(l ir.Launch) error {
				if l.Kernel.Members == 0 && !strings.Contains(l.Kernel.Name, "sqrt") {
					return nil // the gradients
				}
				mu.Lock()
				defer mu.Unlock()
				all, err := l.Members()
				require.NoError(t, err)
				launches, members = launches+1, members+len(all)
				for _, x := range all {
					if sharesMemory(x) {
						inPlace++
					}
				}
				return nil
			}}
			b := gpu.New(emulated.New(o), gpu.Options{NoCache: true})
			got := optimized(t, b, adamw(), layers, size, steps, func(step int) {
				if step > 0 { // the first step creates the optimizer state
					require.LessOrEqual(t, launches, 5)
					require.Equal(t, 148, members)
					require.Equal(t, 148, inPlace)
				}
				launches, members, inPlace = 0, 0, 0
			})
			for i := range want {
				require.InDeltaSlice(t, want[i], got[i], 1e-6, "parameter %d", i)
			}
			require.NoError(t, b.Close())
		})
	}
}

// sharesMemory reports whether a launch writes where it reads.
func sharesMemory(l ir.Launch) bool {
	for i, p := range l.Kernel.Params {
		for k, q := range l.Kernel.Params {
			if p.Access == ir.Write && q.Access == ir.Read && l.Args[i] == l.Args[k] {
				return true
			}
		}
	}
	return false
}

// TestOneParameter: a step of AdamW over one tensor is one launch.
func TestOneParameter(t *testing.T) {
	ctx := context.Background()
	launches := map[string]int{}
	b := gpu.New(emulated.New(emulated.Options{Launched: func(l ir.Launch) error {
		launches[l.Kernel.Name]++
		return nil
	}}), gpu.Options{NoCache: true})
	defer b.Close()
	dev, err := tensor.On(ctx, &core.Place{Backend: b, Spec: "one"})
	require.NoError(t, err)
	defer dev.Close()
	params := []nn.Named{{Name: "p", Param: nn.NewParam(dev.Full(dtype.F32, 0.5, 33, 17))}}
	opt := optim.NewAdamW(optim.AdamWConfig{WeightDecay: 0.01})
	for range 3 {
		g := &tensor.Gradients{}
		g.Set(params[0].Value(), dev.Full(dtype.F32, 0.25, 33, 17))
		require.NoError(t, dev.Sync(ctx))
		clear(launches)
		require.NoError(t, opt.Step(1e-2, params, g.GiveUp()))
		require.NoError(t, dev.Sync(ctx))
	}
	require.Len(t, launches, 1, "%v", launches)
}

// TestOneNorm checks that a layer norm of bf16 with bf16 weights is one launch.
func TestOneNorm(t *testing.T) {
	ctx := context.Background()
	launches := map[string]int{}
	b := gpu.New(emulated.New(emulated.Options{Launched: func(l ir.Launch) error {
		launches[l.Kernel.Name]++
		return nil
	}}), gpu.Options{NoCache: true})
	defer b.Close()
	dev, err := tensor.On(ctx, &core.Place{Backend: b, Spec: "one"})
	require.NoError(t, err)
	defer dev.Close()
	x, w, bias := dev.Full(dtype.BF16, 0.5, 5, 1024), dev.Full(dtype.BF16, 2, 1024), dev.Full(dtype.BF16, 0.25, 1024)
	require.NoError(t, dev.Sync(ctx))
	clear(launches)
	y := x.LayerNorm(1, w, bias, 1e-5)
	require.NoError(t, dev.Sync(ctx))
	require.Len(t, launches, 1, "%v", launches)
	v, err := tensor.DataAs[float32](ctx, y)
	require.NoError(t, err)
	require.InDelta(t, 0.25, v[77], 1e-3)
}
