package optim_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/optim"
	"github.com/goburn/burn/tensor"
)

// address returns the address of the elements of x.
func address(t *testing.T, x *tensor.Tensor) (at uintptr) {
	d := x.Device()
	require.NoError(t, d.Sync(ctx))
	s, err := d.Core().OpenStream(ctx)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	m, ok := core.Extension[core.HostMemory](d.Core())
	require.True(t, ok)
	require.NoError(t, m.View(ctx, s, x.Desc().ID, func(data []byte) error {
		at = uintptr(unsafe.Pointer(&data[0]))
		return nil
	}))
	return at
}

// squares returns the gradient of the sum of squares of p, without keeping anything else.
func squares(p *nn.Param) (g *tensor.Gradients, err error) {
	tensor.Scope(p.Value().Device(), func(d *tensor.Device) []*tensor.Tensor {
		if g, err = p.Value().In(d).Square().Sum().Backward(); err != nil {
			return nil
		}
		return []*tensor.Tensor{g.Of(p.Value())}
	})
	return g, err
}

// elsewhere lists optimisers whose last op on a parameter writes to the memory of another operand.
var elsewhere = map[string]bool{"adan_decoupled": true, "adafactor": true, "muon": true, "muon_match": true}

// A step donates the parameters and the optimiser's state, so that their new values are in the same memory.
func TestStepsReuseMemory(t *testing.T) {
	dev := open(t)
	const n = 64
	for name, o := range optimisers {
		t.Run(name, func(t *testing.T) {
			p := nn.NewParam(dev.Normal(dtype.F32, 0, 1, n, n))
			params, opt := []nn.Named{{Name: "p", Param: p}}, o.new()
			var before, peak core.Memory
			var at uintptr
			places := map[uintptr]bool{}
			for step := range 6 {
				g, err := squares(p)
				require.NoError(t, err)
				require.NoError(t, dev.Sync(ctx))
				old := p.Value()
				if step > 0 {
					at = address(t, old)
					before, _ = dev.Memory()
				}
				require.NoError(t, opt.Step(o.lr, params, g.GiveUp()))
				require.ErrorContains(t, tensor.Try(func() { old.Neg() }), "was released")
				require.ErrorContains(t, tensor.Try(func() { g.Of(old).Neg() }), "was released")
				require.NoError(t, dev.Sync(ctx))
				if step > 0 {
					places[at], places[address(t, p.Value())] = true, true
					peak, _ = dev.Memory()
					require.Less(t, peak.InUse, before.InUse)
				}
			}
			if !elsewhere[name] {
				require.Len(t, places, 1, "addresses of the parameter")
			}
		})
	}
}

// Other references to the memory of a parameter stay valid: a second tensor that shares it, and values that its gradient needs.
func TestStepsLeaveOthersAlone(t *testing.T) {
	dev := open(t)
	p := nn.NewParam(tensor.From(dev, []float64{1, 2, 3}))
	params := []nn.Named{{Name: "p", Param: p}}
	opt := optim.NewAdamW(optim.AdamWConfig{})
	shared := p.Value().Detach()
	loss := p.Value().Square().Sum() // its tape refers to p
	g, err := loss.Backward()
	require.NoError(t, err)
	grad := g.Of(p.Value())
	require.NoError(t, opt.Step(0.1, params, g))
	state := opt.State()
	moment := values(t, state.Tensors["p/mean"])
	next, err := p.Value().Square().Sum().Backward()
	require.NoError(t, err)
	require.NoError(t, opt.Step(0.1, params, next))
	require.Equal(t, []float64{1, 2, 3}, values(t, shared))
	require.Equal(t, moment, values(t, state.Tensors["p/mean"]), "a step does not change a state that was taken before")
	require.Equal(t, []float64{2, 4, 6}, values(t, grad), "a step does not change the caller's gradients")
	again, err := loss.Backward()
	require.NoError(t, err)
	require.Equal(t, 1, again.Len())
	require.NoError(t, again.Checked(ctx))
}
