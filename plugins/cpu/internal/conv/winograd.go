package conv

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/winograd"
)

// layTiles lays out a convolution by tiles, nil where it cannot be computed so
// or is not faster.
func (p *Plan) layTiles() *winograd.Plan {
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

// tiledWeights transforms the weights for tiles, nil where they are not used.
func tiledWeights[T gemm.Number](pool *par.Pool, p *Plan, w []T) (all []*winograd.Weights) {
	plain, ok := any(w).([]float32)
	if p.tiled == nil || !ok {
		return nil
	}
	perGroup := p.outputs / p.groups
	for g := range p.groups {
		one := p.tiled.Pack(pool, plain[g*perGroup*p.depth():][:perGroup*p.depth()])
		if one == nil {
			return nil
		}
		all = append(all, one)
	}
	return all
}

// runTiled computes everything by tiles. It reports false, and has done
// nothing, where that is not possible.
func (r *run[T]) runTiled() bool {
	x, ok := any(r.x).([]float32)
	if !ok || r.plan.tiled == nil {
		return false
	}
	return r.plan.tiled.Run(r.pool, &winograd.Call{Batch: r.plan.batch, X: x, Out: any(r.out).([]float32), Weights: r.weights.tiled,
		Accumulate: r.accumulate, Epilogue: any(r.epilogue).(*gemm.Epilogue[float32])})
}
