package gpu

import (
	"context"
	"fmt"
	"sync"
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
	tensors "github.com/goburn/burn/tensor"
)

// digits is the network of the Burn Book's guide, with dropout.
type digits struct {
	Conv1, Conv2     *nn.Conv2d
	Linear1, Linear2 *nn.Linear
	Dropout          *nn.Dropout
}

func newDigits(d *tensors.Device) *digits {
	return &digits{nn.NewConv2d(d, 1, 8, [2]int{3, 3}, nn.ConvConfig{}), nn.NewConv2d(d, 8, 16, [2]int{3, 3}, nn.ConvConfig{}),
		nn.NewLinear(d, 16*8*8, 512, nn.LinearConfig{}), nn.NewLinear(d, 512, 10, nn.LinearConfig{}), nn.NewDropout(0.5)}
}

func (m *digits) Loss(x, y *tensors.Tensor) *tensors.Tensor {
	x = m.Dropout.Forward(m.Conv1.Forward(x))
	x = m.Dropout.Forward(m.Conv2.Forward(x)).Relu().AdaptiveAvgPool(8, 8).FlattenFrom(1, -1)
	x = m.Dropout.Forward(m.Linear1.Forward(x)).Relu()
	return m.Linear2.Forward(x).CrossEntropyLoss(y, tensors.ClassOptions{})
}

// trained is a training loop as applications write it: forward and backward pass in a scope, in mixed precision if narrow says so, and
// then the step of the optimiser.
type trained struct {
	t     testing.TB
	dev   *tensors.Device
	model interface {
		Loss(x, y *tensors.Tensor) *tensors.Tensor
	}
	batch  func() (x, y *tensors.Tensor)
	params []nn.Named
	opt    optim.Optimizer
	narrow dtype.DType
	fake   *fakeDevice
	device Statistics
	report fusion.Report
}

// dryLibrary returns a call that computes nothing for every problem. It is safe for concurrent use.
type dryLibrary struct {
	mu       *sync.Mutex
	products *[]Product
}

func (dryLibrary) Name() string    { return "dry" }
func (dryLibrary) Version() string { return "1" }

func (l dryLibrary) Product(p Product) ([]Candidate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.products = append(*l.products, p)
	return []Candidate{dryCall{}}, nil
}

func (dryLibrary) Convolution(Convolution) ([]Candidate, error) { return []Candidate{dryCall{}}, nil }
func (dryLibrary) Attention(Attention) ([]Candidate, error)     { return []Candidate{dryCall{}}, nil }

type dryCall struct{}

func (dryCall) Name() string                 { return "dry" }
func (dryCall) Workspace() int64             { return 4 << 20 }
func (dryCall) Ready([]Ref) error            { return nil }
func (dryCall) Call(Queue, []Ref, Ref) error { return nil }
func (dryCall) Close()                       {}

// newTrained opens a device of 140 GiB that computes nothing, with libraries whose calls in a graph refuse other operands.
func newTrained(t testing.TB, name string, products *[]Product) *trained {
	r := &trained{t: t, narrow: dtype.F32, opt: optim.NewAdamW(optim.AdamWConfig{})}
	f := &fakeDriver{memory: 140 << 30, setup: func(d *fakeDevice) {
		d.dry, d.limit, d.libraries, r.fake = true, 140<<30, []Library{dryLibrary{new(sync.Mutex), products}}, d
		d.refuse = func(s *Step) error {
			if s.Call != nil {
				return core.ErrUnsupported
			}
			return nil
		}
	}}
	b := &spied{New(f, Options{NoCache: true}), &r.device}
	dev, err := tensors.On(context.Background(), autodiff.Device(&core.Place{Backend: fusion.Wrap(b, fusion.With(&r.report), fusion.Idle(time.Hour)), Spec: "trained"}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	dev.Seed(7)
	r.dev = dev
	x, y := (*tensors.Tensor)(nil), (*tensors.Tensor)(nil)
	switch name {
	case "digits":
		r.model = newDigits(dev)
		x, y = dev.Uniform(dtype.F32, 0, 1, 64, 1, 28, 28), dev.RandomInt(dtype.I64, 0, 10, 64)
	case "gpt2":
		r.model, r.narrow = gpt2.New(dev, gpt2.Small), dtype.BF16
		x, y = dev.RandomInt(dtype.I64, 0, gpt2.Small.Vocabulary, 8, 1024), dev.RandomInt(dtype.I64, 0, gpt2.Small.Vocabulary, 8, 1024)
	}
	r.params, r.batch = nn.Trained(r.model), func() (*tensors.Tensor, *tensors.Tensor) { return x, y }
	return r
}

// step queues a training step and returns its loss.
func (r *trained) step() *tensors.Tensor {
	var grads *tensors.Gradients
	var mean *tensors.Tensor
	x, y := r.batch()
	tensors.Autocast(r.dev, r.narrow, func(d *tensors.Device) []*tensors.Tensor {
		l := r.model.Loss(x.In(d), y.In(d))
		var err error
		grads, err = l.Backward()
		require.NoError(r.t, err)
		for _, p := range r.params {
			grads.Of(p.Value()).Keep()
		}
		mean = l.Detach().Keep()
		return nil
	})
	require.NoError(r.t, r.opt.Step(1e-3, r.params, grads.GiveUp()))
	grads.Release()
	return mean
}

func (r *trained) read(l *tensors.Tensor) {
	_, err := l.Float64(context.Background())
	require.NoError(r.t, err)
	l.Release()
}

// counters holds the counters of the device and of fusion.
type counters struct {
	Stats
	fused fusion.Stats
}

func (r *trained) counters() counters { return counters{r.device.Stats(), r.report.Stats()[0]} }

// steady checks that the n steps since before ran as programs and graphs, with at most three launches outside of graphs for each.
func (r *trained) steady(before counters, n int64) {
	t, now := r.t, r.counters()
	require.Equal(t, n, now.fused.Hits-before.fused.Hits, "windows that ran as programs: %+v", now.fused)
	require.Zero(t, now.fused.Misses-before.fused.Misses, "windows that did not")
	require.Zero(t, now.fused.Compiled-before.fused.Compiled, "programs made")
	require.Zero(t, now.Nodes-before.Nodes, "nodes executed by themselves")
	require.Zero(t, now.NodePlans-before.NodePlans, "plans of nodes")
	require.Zero(t, now.Kernels.Compiled-before.Kernels.Compiled)
	require.Zero(t, now.Graphs-before.Graphs, "graphs made")
	require.Zero(t, now.GraphFailures)
	require.Equal(t, n, now.GraphRuns-before.GraphRuns)
	require.LessOrEqual(t, now.Steps-before.Steps, 3*n, "launches outside of graphs: those of the optimiser")
	require.Zero(t, now.Pool.DriverAllocs-before.Pool.DriverAllocs)
}

// TestTrainingSteps runs steps of the Book's CNN at batch 64, and of GPT-2 small with 8 x 1024 tokens in bf16. After the first few, each
// step is one run of a program, by one graph without patches and the launches of the optimiser.
func TestTrainingSteps(t *testing.T) {
	const warm, steps = 6, 20
	for _, name := range []string{"digits", "gpt2"} {
		t.Run(name, func(t *testing.T) {
			var products []Product
			r := newTrained(t, name, &products)
			for range warm {
				r.read(r.step())
			}
			before := r.counters()
			for range steps {
				r.read(r.step())
			}
			r.steady(before, steps)
			require.Zero(t, r.counters().GraphPatches-before.GraphPatches, "steps of graphs whose memory was changed")
			if r.narrow == dtype.BF16 {
				for _, p := range products {
					require.Equal(t, dtype.BF16, p.A.Type, "%+v", p)
				}
				r.memory()
			}
		})
	}
}

// memory compares the memory of a step of GPT-2 small with the least that it needs: parameters, moments of the optimiser, gradients, and
// scratch memory of the passes. PyTorch 2.11 reserves 9,748 MiB for the step.
func (r *trained) memory() {
	t, state := r.t, int64(0)
	for _, p := range r.params {
		state += 3 * 4 * int64(p.Value().Size())
	}
	s := r.counters().Pool
	const mib = 1 << 20
	needed := s.Scratch + state + state/3
	text := fmt.Sprintf("%d MiB are needed: scratch %d, state %d, gradients %d; %d are reserved, %d were at most", needed/mib, s.Scratch/mib, state/mib, state/3/mib, s.Reserved/mib, s.Most/mib)
	t.Log(text)
	require.InEpsilon(t, state, s.InUse, 0.01, "parameters and moments stay, and nothing else")
	require.Less(t, needed, int64(7000*mib), text)
	require.Less(t, s.Reserved, needed+128*mib, text)
	require.Less(t, s.Most, int64(9748*mib), text)
}

// TestTrainingStepsOnNewMemory trains on batches that are uploaded while the previous batch is in use, and reads losses later. The
// operands that calls of libraries read from this new memory are copied to fixed places.
func TestTrainingStepsOnNewMemory(t *testing.T) {
	r := newTrained(t, "digits", new([]Product))
	x, y := r.batch()
	var queue [][2]*tensors.Tensor
	upload := func() {
		queue = append(queue, [2]*tensors.Tensor{tensors.From(r.dev, make([]float32, x.Size()), x.Shape()...), tensors.From(r.dev, make([]int64, y.Size()), y.Shape()...)})
	}
	upload()
	upload()
	r.batch = func() (*tensors.Tensor, *tensors.Tensor) { return queue[0][0], queue[0][1] }
	var losses []*tensors.Tensor
	run := func(n int) {
		for range n {
			losses = append(losses, r.step())
			upload()
			for _, b := range queue[0] {
				b.Release()
			}
			queue = queue[1:]
			if len(losses) == 10 {
				for _, l := range losses {
					r.read(l)
				}
				losses = nil
			}
		}
	}
	run(30)
	before := r.counters()
	run(20)
	r.steady(before, 20)
	require.LessOrEqual(t, r.counters().GraphPatches-before.GraphPatches, int64(20*20), "kernels whose memory was changed in the graph")
}

// BenchmarkTrainingStep measures the host's time for a step on a device that computes nothing.
func BenchmarkTrainingStep(b *testing.B) {
	for _, name := range []string{"digits", "gpt2"} {
		b.Run(name, func(b *testing.B) {
			r := newTrained(b, name, new([]Product))
			for range 6 {
				r.read(r.step())
			}
			b.ReportAllocs()
			for b.Loop() {
				r.read(r.step())
			}
			b.ReportMetric(float64(r.counters().fused.Fused)/float64(r.counters().fused.Hits), "nodes/step")
		})
	}
}
