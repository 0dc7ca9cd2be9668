package autodiff_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/autodiff"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

// open returns a device of the cpu backend, wrapped in autodiff levels times.
func open(t testing.TB, levels int, options ...autodiff.Option) *tensor.Device {
	t.Helper()
	d, err := core.OpenPlace("cpu", core.Config{Threads: 1})
	require.NoError(t, err)
	for range levels {
		d = autodiff.Device(d, options...)
	}
	dev, err := tensor.On(context.Background(), d)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, dev.Close())
		require.NoError(t, d.Close())
	})
	return dev
}

func values(t testing.TB, x *tensor.Tensor) []float64 {
	t.Helper()
	require.NotNil(t, x)
	v, err := tensor.Data[float64](context.Background(), x)
	require.NoError(t, err)
	return v
}

func backward(t testing.TB, x *tensor.Tensor) *tensor.Gradients {
	t.Helper()
	g, err := x.Backward()
	require.NoError(t, err)
	return g
}

func TestProductRule(t *testing.T) {
	dev := open(t, 1)
	x := tensor.From(dev, []float64{1, 2, 3}, 3).RequireGrad()
	y := tensor.From(dev, []float64{4, 5, 6}, 3).RequireGrad()
	c := tensor.From(dev, []float64{7, 8, 9}, 3)
	assert.True(t, x.Mul(y).Tracked())
	assert.False(t, c.Tracked())
	g := backward(t, x.Mul(y).Mul(c).Add(x.Detach()))
	assert.Equal(t, []float64{28, 40, 54}, values(t, g.Of(x)))
	assert.Equal(t, []float64{7, 16, 27}, values(t, g.Of(y)))
	assert.Nil(t, g.Of(c))
	assert.Equal(t, 2, g.Len())
	assert.False(t, g.Of(x).Tracked())
}

// Gradients are right if a tensor has several uses and a result is an operand twice. Two equal gradients are separate tensors.
func TestSharedUses(t *testing.T) {
	dev := open(t, 1)
	x := tensor.From(dev, []float64{3}, 1).RequireGrad()
	y := tensor.From(dev, []float64{5}, 1).RequireGrad()
	s := x.Add(y)
	g := backward(t, s.Mul(s).Add(x).Add(s)) // (x+y)²+x+(x+y)
	assert.Equal(t, []float64{18}, values(t, g.Of(x)))
	assert.Equal(t, []float64{17}, values(t, g.Of(y)))
	g = backward(t, s)
	gx, gy := g.Of(x), g.Of(y)
	gx.Release()
	assert.Equal(t, []float64{1}, values(t, gy), "each gradient is a tensor of its own")
}

func TestBackwardOfSelectedTensors(t *testing.T) {
	dev := open(t, 1)
	x := tensor.From(dev, []float64{2}, 1).RequireGrad()
	y := tensor.From(dev, []float64{3}, 1).RequireGrad()
	other := tensor.From(dev, []float64{3}, 1).RequireGrad()
	m := x.Mul(y)
	z := m.Mul(m)
	g, err := tensor.Backward([]*tensor.Tensor{z}, nil, m, x, other)
	require.NoError(t, err)
	assert.Equal(t, []float64{12}, values(t, g.Of(m)), "an intermediate tensor")
	assert.Equal(t, []float64{36}, values(t, g.Of(x)))
	assert.Nil(t, g.Of(other))
	assert.Nil(t, g.Of(y), "not asked for")
	seed := tensor.From(dev, []float64{10}, 1)
	g, err = tensor.Backward([]*tensor.Tensor{z, m}, []*tensor.Tensor{seed, nil}, x)
	require.NoError(t, err)
	assert.Equal(t, []float64{363}, values(t, g.Of(x)))
	assert.Equal(t, []float64{10}, values(t, seed), "a seed stays the caller's")
}

func TestSecondDerivative(t *testing.T) {
	dev := open(t, 2)
	x := tensor.From(dev, []float64{0.5, -1.5}, 2).RequireGrad()
	y := x.Mul(x).Mul(x).Add(x.Sin())
	g := backward(t, y).Of(x)
	require.True(t, g.Tracked(), "the level below recorded the backward pass")
	h := backward(t, g).Of(x)
	for i, v := range []float64{0.5, -1.5} {
		assert.InDelta(t, 3*v*v+math.Cos(v), values(t, g)[i], 1e-12)
		assert.InDelta(t, 6*v-math.Sin(v), values(t, h)[i], 1e-12)
	}
}

func TestNoGrad(t *testing.T) {
	dev := open(t, 1)
	w := tensor.From(dev, []float64{2}, 1).RequireGrad()
	out := tensor.NoGrad(dev, func(d *tensor.Device) []*tensor.Tensor {
		x := tensor.From(d, []float64{3}, 1)
		y := x.Mul(w)
		assert.False(t, y.Tracked())
		return []*tensor.Tensor{y}
	})
	assert.True(t, out[0].Mul(w).Tracked(), "what left the scope is an ordinary constant")
	g := backward(t, out[0].Mul(w))
	assert.Equal(t, []float64{6}, values(t, g.Of(w)))
}

func TestErrorsSayWhatToDo(t *testing.T) {
	plain := open(t, 0)
	x := tensor.From(plain, []float64{1}, 1)
	_, err := x.Backward()
	require.ErrorIs(t, err, core.ErrUnsupported)
	assert.ErrorContains(t, err, "burn.WithGradients()")
	err = tensor.Try(func() { x.RequireGrad() })
	assert.ErrorContains(t, err, "burn.WithGradients()")

	dev := open(t, 1)
	_, err = tensor.From(dev, []float64{1}, 1).Backward()
	assert.ErrorContains(t, err, "was not computed from a tracked tensor")
	err = tensor.Try(func() { tensor.From(dev, []int64{1}, 1).RequireGrad() })
	require.ErrorIs(t, err, core.ErrDType)
	w := tensor.From(dev, []float64{1}, 1).RequireGrad()
	w.Release()
	_, err = tensor.Backward([]*tensor.Tensor{w}, []*tensor.Tensor{tensor.From(dev, []float64{1}, 1)})
	require.ErrorIs(t, err, core.ErrUnknownTensor)
}

// Neither a forward pass without a backward pass nor one with it leaves tensors on the device.
func TestNothingStays(t *testing.T) {
	for _, c := range []autodiff.Checkpointing{autodiff.KeepAll, autodiff.Balanced, autodiff.Budget(1)} {
		dev := open(t, 1, autodiff.WithCheckpointing(c))
		w := tensor.From(dev, make([]float64, 64), 8, 8).RequireGrad()
		step := func(back bool) {
			tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
				x := tensor.From(d, make([]float64, 64), 8, 8)
				for range 5 {
					x = x.MatMul(w).Exp().Tanh().Add(x)
				}
				if loss := x.Sum(); back {
					assert.NotNil(t, backward(t, loss).Of(w))
				}
				return nil
			})
			require.NoError(t, dev.Sync(context.Background()))
		}
		step(true)
		before, ok := dev.Memory()
		require.True(t, ok)
		for i := range 20 {
			step(i%2 == 0)
		}
		after, _ := dev.Memory()
		assert.Equal(t, before.Tensors, after.Tensors)
		assert.Equal(t, before.InUse, after.InUse)
	}
}

// The three modes of checkpointing compute bitwise equal gradients. Balanced and Budget hold fewer bytes between the passes than KeepAll.
func TestCheckpointing(t *testing.T) {
	run := func(c autodiff.Checkpointing) ([]float64, int64) {
		dev := open(t, 1, autodiff.WithCheckpointing(c))
		w := tensor.From(dev, ramp(32*32), 32, 32).RequireGrad()
		x := tensor.From(dev, ramp(64*32), 64, 32)
		var held int64
		var out []float64
		tensor.Scope(dev, func(d *tensor.Device) []*tensor.Tensor {
			y := tensor.Scope(d, func(d *tensor.Device) []*tensor.Tensor { // handles of intermediate tensors end here
				y := x.In(d)
				for range 12 {
					y = y.MatMul(w).Sigmoid().Mul(y).Softmax(-1).Add(y)
				}
				return []*tensor.Tensor{y.Sum()}
			})[0]
			require.NoError(t, dev.Sync(context.Background()))
			m, _ := dev.Memory()
			held = m.InUse
			out = values(t, backward(t, y).Of(w))
			return nil
		})
		return out, held
	}
	all, most := run(autodiff.KeepAll)
	balanced, less := run(autodiff.Balanced)
	budget, least := run(autodiff.Budget(64 << 10))
	assert.Equal(t, all, balanced)
	assert.Equal(t, all, budget)
	t.Logf("held between the passes: all %d, balanced %d, budget of 64 KiB %d bytes", most, less, least)
	assert.Less(t, less, most*3/4)
	assert.Less(t, least, most/2)
}

func ramp(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Sin(float64(i)) / 4
	}
	return v
}

// Goroutines that run forward and backward passes on one device at once each get their own answers.
func TestConcurrentBackward(t *testing.T) {
	dev := open(t, 1)
	w := tensor.From(dev, []float64{2}, 1).RequireGrad()
	shared := w.Mul(w)
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for k := range 8 {
		wg.Go(func() {
			for i := range 50 {
				v := float64(k*50 + i)
				g, err := shared.MulScalar(v).Backward()
				if err == nil {
					var got []float64
					if got, err = tensor.Data[float64](context.Background(), g.Of(w)); err == nil && got[0] != 4*v {
						err = fmt.Errorf("got %g, want %g", got[0], 4*v)
					}
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestCustomGradient(t *testing.T) {
	f := tensor.Function{
		Name: "cube",
		Forward: func(x []*tensor.Tensor) (y, saved []*tensor.Tensor) {
			return []*tensor.Tensor{x[0].Mul(x[0]).Mul(x[0])}, x
		},
		Backward: func(saved, grads []*tensor.Tensor) []*tensor.Tensor { // ten times the true gradient, so that the test can tell them apart
			return []*tensor.Tensor{saved[0].Mul(saved[0]).MulScalar(30).Mul(grads[0])}
		},
	}
	dev := open(t, 2)
	x := tensor.From(dev, []float64{2, 3}, 2).RequireGrad()
	g := backward(t, f.Apply(x.MulScalar(1))[0])
	assert.Equal(t, []float64{120, 270}, values(t, g.Of(x)))
	plain := open(t, 0)
	assert.Equal(t, []float64{8}, values(t, f.Apply(tensor.From(plain, []float64{2}, 1))[0]))
}

func TestHook(t *testing.T) {
	dev := open(t, 1)
	x := tensor.From(dev, []float64{2}, 1).RequireGrad()
	calls := 0
	y := x.Mul(x).Hook(func(g *tensor.Tensor) *tensor.Tensor { calls++; return g.MulScalar(-1) })
	y = y.Hook(func(*tensor.Tensor) *tensor.Tensor { calls++; return nil })
	assert.Equal(t, []float64{-4}, values(t, backward(t, y).Of(x)))
	assert.Equal(t, 2, calls)
}

func TestPrograms(t *testing.T) {
	dev := open(t, 1)
	last := op.TensorID(10)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	in := op.Desc{ID: 1, DType: dtype.F64, Shape: []int{2}}
	c := op.Desc{ID: 2, DType: dtype.F64, Shape: []int{2}}
	y := b.Do(op.Exp, b.Do(op.Mul, in, c))
	require.NoError(t, b.Err())
	p := &program.Program{Name: "exp", Inputs: []op.Desc{in}, Consts: []op.Desc{c}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}
	k := tensor.From(dev, []float64{2, 3}, 2)
	e, err := dev.Compile(context.Background(), p, []*tensor.Tensor{k})
	require.NoError(t, err)
	x := tensor.From(dev, []float64{0, 1}, 2)
	out, err := e.Run([]*tensor.Tensor{x})
	require.NoError(t, err)
	assert.False(t, out[0].Tracked())
	x.RequireGrad()
	out, err = e.Run([]*tensor.Tensor{x})
	require.NoError(t, err)
	g := values(t, backward(t, out[0]).Of(x))
	assert.InDeltaSlice(t, []float64{2, 3 * math.Exp(3)}, g, 1e-12)
	require.NoError(t, e.Close())
}

// A backward pass that fails half-way frees the tensors that it has created, and the device remains usable.
func TestFailedPassFrees(t *testing.T) {
	dev := open(t, 1)
	broken := tensor.Function{
		Name:    "broken",
		Forward: func(x []*tensor.Tensor) (y, saved []*tensor.Tensor) { return []*tensor.Tensor{x[0].Exp()}, nil },
		Backward: func(_, grads []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{grads[0].Reshape(7)} // panics
		},
	}
	x := tensor.From(dev, []float64{1, 2}, 2).RequireGrad()
	y := broken.Apply(x.Mul(x))[0].Sin().Mul(x)
	require.NoError(t, dev.Sync(context.Background()))
	before, _ := dev.Memory()
	for range 3 {
		_, err := y.Backward()
		require.ErrorIs(t, err, core.ErrShape)
		require.ErrorContains(t, err, "gradient of broken")
	}
	require.NoError(t, dev.Sync(context.Background()))
	after, _ := dev.Memory()
	assert.Equal(t, before.Tensors, after.Tensors)
	assert.Equal(t, []float64{2, 4}, values(t, backward(t, x.Mul(x)).Of(x)))
}
