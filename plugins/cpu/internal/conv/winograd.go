package conv

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

// winogradPlan returns nil if the algorithm does not fit or is not faster.
func (p *Plan) winogradPlan() *winograd.Plan {
	if len(p.axes) != 2 || p.outSize == 0 || p.batch == 0 || p.inSize == 0 {
		return nil
	}
	for _, a := range p.axes {
		if a.kernel != 3 || a.stride != 1 || a.kernelDilation != 1 || a.dilation != 1 || a.lo < 0 || a.hi < 0 {
			return nil
		}
	}
	y, x := &p.axes[0], &p.axes[1]
	return winograd.New(winograd.Shape{Channels: p.channels / p.groups, Outputs: p.outputs / p.groups, Height: y.in, Width: x.in,
		Top: y.lo, Left: x.lo, OutHeight: y.out, OutWidth: x.out})
}

// winogradTiles is Winograd's algorithm, for kernels of 3x3. It refuses input
// whose infinities would spread over a tile.
type winogradTiles[T micro.Number] struct{}

func (winogradTiles[T]) fits(p *Plan) bool { return p.winograd != nil && isFloat32[T]() }

func (winogradTiles[T]) pack(pool *par.Pool, p *Plan, w []T, use use) prepared[T] {
	if use != kept {
		return nil // the transform pays only over many runs
	}
	ready, plain, perGroup := &winogradWeights[T]{}, any(w).([]float32), p.outputs/p.groups
	for g := range p.groups {
		packed := p.winograd.Pack(pool, plain[g*perGroup*p.depth():][:perGroup*p.depth()])
		if packed == nil {
			return nil
		}
		ready.groups = append(ready.groups, packed)
	}
	return ready
}

// winogradWeights are transformed weights by group.
type winogradWeights[T micro.Number] struct {
	partial
	groups []*winograd.Weights
}

func (w *winogradWeights[T]) elements() int {
	n := 0
	for _, g := range w.groups {
		n += g.Elements()
	}
	return n
}

func (w *winogradWeights[T]) run(r *run[T]) bool {
	return r.plan.winograd.Run(r.pool, &winograd.Call{Batch: r.plan.batch, X: any(r.x).([]float32), Out: any(r.out).([]float32), Weights: w.groups,
		Accumulate: r.accumulate, Epilogue: any(r.epilogue).(*micro.Epilogue[float32])})
}
