package emulated_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/decorators/autodiff"
	"github.com/goburn/burn/decorators/fusion"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/nn/gpt2"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/emulated"
	"github.com/goburn/burn/tensor"
)

const mib = 1 << 20

// spied stores the device that is opened, because decorators hide its extensions.
type spied struct {
	core.Backend
	device *core.Device
}

func (s spied) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := s.Backend.Open(ctx, index)
	*s.device = d
	return d, err
}

// TestMemoryOfTraining bounds the memory of training steps of GPT-2 small, 8 x 1024 tokens in bf16 with AdamW, on a device of 140 GiB that
// computes nothing, with batches of another size in between. With -v it lists the memory after each step, and the tensors that programs need
// it for. PyTorch 2.11 reserves 9,748 MiB for the step on an H200.
func TestMemoryOfTraining(t *testing.T) {
	ctx := context.Background()
	var device core.Device
	b := spied{gpu.New(emulated.New(emulated.Options{Dry: true, Memory: 140 << 30}), gpu.Options{NoCache: true}), &device}
	dev, err := tensor.On(ctx, autodiff.Device(&core.Place{Backend: fusion.Wrap(b, fusion.Idle(time.Hour)), Spec: "dry"}))
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.Close()) }()
	stats, ok := core.Extension[gpu.Statistics](device)
	require.True(t, ok)
	needs, ok := core.Extension[gpu.Needs](device)
	require.True(t, ok)

	m, opt := gpt2.New(dev, gpt2.Small), optim.NewAdamW(optim.AdamWConfig{})
	params, state := nn.Trained(m), int64(0)
	for _, p := range params {
		state += 3 * 4 * int64(p.Value().Size())
	}
	x, y := tokens(dev, 8), tokens(dev, 8)
	odd := [2]*tensor.Tensor{tokens(dev, 7), tokens(dev, 7)}
	step := func(what string, x, y *tensor.Tensor) gpu.PoolStats {
		var grads *tensor.Gradients
		var mean *tensor.Tensor
		tensor.Autocast(dev, dtype.BF16, func(d *tensor.Device) []*tensor.Tensor {
			l := m.Loss(x.In(d), y.In(d))
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
		_, err := mean.Float64(ctx)
		require.NoError(t, err)
		mean.Release()
		p := stats.Stats().Pool
		t.Logf("%-12s %6d MiB in use, %6d scratch, %6d reserved, %6d reserved at most", what, p.InUse/mib, p.Scratch/mib, p.Reserved/mib, p.Most/mib)
		return p
	}
	var p gpu.PoolStats
	for i := range 5 {
		p = step(fmt.Sprint("step ", i+1), x, y)
	}
	needed := p.Scratch + state + state/3 // gradients
	require.InEpsilon(t, state, p.InUse, 0.01, "parameters and moments stay, and nothing else")
	require.Less(t, needed, int64(6700*mib))
	require.Less(t, p.Reserved, needed+256*mib)
	require.Less(t, p.Most, int64(9748*mib))
	for range 4 {
		step("another size", odd[0], odd[1])
		p = step("step", x, y)
	}
	require.Less(t, p.Most, int64(10500*mib), "single nodes take the scratch memory of programs")
	t.Log(listed(needs.Needs()))
}

// tokens returns random tokens of shape [rows, context].
func tokens(d *tensor.Device, rows int) *tensor.Tensor {
	return d.RandomInt(dtype.I64, 0, gpt2.Small.Vocabulary, rows, gpt2.Small.Context)
}

// listed returns a list of the tensors that programs need memory for.
func listed(all []gpu.ProgramNeeds) string {
	var b strings.Builder
	for _, n := range all {
		fmt.Fprintf(&b, "\nprogram %s: %d steps, inputs %d MiB, outputs %d (%d in the place of inputs), scratch %d, %d live at step %d\n", n.Name, n.Steps,
			n.Inputs/mib, n.Outputs/mib, n.Reused/mib, n.Scratch/mib, n.Live/mib, n.Peak)
		for _, x := range n.Tensors {
			if whole := int64(x.Count) * x.Bytes; whole >= mib {
				fmt.Fprintf(&b, "%7.1f MiB %4d x %6.1f, steps %d to %d (%s): %s\n", float64(whole)/mib, x.Count, float64(x.Bytes)/mib, x.First, x.Last, x.Read, x.Made)
			}
		}
	}
	return b.String()
}
