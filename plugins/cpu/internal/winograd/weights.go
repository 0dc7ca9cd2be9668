package winograd

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// Weights are transformed weights of a group, packed for the matrix product. They are immutable, safe for concurrent use and refer to no
// other memory.
type Weights struct {
	outputs, channels int
	kernel            *micro.Kernel[float32]
	height            int       // outputs of a panel
	data              []float32 // [panel][element][channel][output of the panel]
	limit             float32   // greatest magnitude of inputs for which no sum overflows
}

// Elements returns the number of elements of the transformed weights.
func (p *Weights) Elements() int { return len(p.data) }

// kernelTransform is the matrix G of the package comment.
var kernelTransform = func() (g [reach][3]float64) {
	points := []float64{0, math.Sqrt2 / 2, -math.Sqrt2 / 2, math.Sqrt2, -math.Sqrt2}
	for i, p := range points {
		scale := 1.0
		for j, q := range points {
			if i != j {
				scale /= p - q
			}
		}
		g[i] = [3]float64{scale, p * scale, p * p * scale}
	}
	g[reach-1][2] = 1
	return g
}()

// growth bounds the factor by which the transforms increase the greatest magnitude: the product of the squares of the greatest absolute row
// sums of B and of A.
const growth = (3 * (1 + math.Sqrt2/2)) * (3 * (1 + math.Sqrt2/2)) * 7.4 * 7.4

// Pack transforms weights [Outputs, Channels, 3, 3] for the plan, and for all other plans with the same numbers of outputs and channels. It
// returns nil if there are no kernels for this processor, or if the weights are not finite or too large.
func (plan *Plan) Pack(pool *par.Pool, w []float32) *Weights {
	kernel := micro.Active[float32]()
	if !usable(kernel) {
		return nil
	}
	outputs, channels := plan.Outputs, plan.Channels
	p := &Weights{outputs: outputs, channels: channels, kernel: kernel, height: ceil(outputs, ceil(outputs, kernel.MR))}
	if plan.units == 1 && active.product[0] != nil {
		panels, threads := ceil(outputs, tallRows), pool.Threads()
		if even := ceil(panels, threads) * threads; outputs >= even*shortRows {
			panels = even // the same number of panels for each thread
		}
		p.height = ceil(ceil(outputs, panels), 2) * 2
	}
	panels := p.panels()
	p.data = make([]float32, panels*p.height*channels*elements)
	sums := make([]float64, panels) // the greatest sum of each panel
	pool.For(panels, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sums[i] = p.pack(i, w)
		}
	})
	most := 0.0
	for _, s := range sums {
		most = math.Max(most, s) // a NaN stays
	}
	limit := math.MaxFloat32 / 2 / (1 + growth*most)
	if !(limit > 1) { // or NaN
		return nil
	}
	p.limit = float32(limit)
	return p
}

// pack transforms panel i and returns the greatest sum of magnitudes over the
// channels.
func (p *Weights) pack(i int, w []float32) (most float64) {
	size := p.height * p.channels
	panel := p.data[i*size*elements:][:size*elements]
	for y := range min(p.height, p.outputs-i*p.height) {
		var sums [elements]float64
		for c := range p.channels {
			g := w[((i*p.height+y)*p.channels+c)*9:][:9]
			var half [reach][3]float64
			for a := range reach {
				for b := range 3 {
					t := &kernelTransform[a]
					half[a][b] = t[0]*float64(g[b]) + t[1]*float64(g[3+b]) + t[2]*float64(g[6+b])
				}
			}
			for e := range elements {
				t, h := &kernelTransform[e%reach], &half[e/reach]
				v := t[0]*h[0] + t[1]*h[1] + t[2]*h[2]
				panel[e*size+c*p.height+y] = float32(v)
				sums[e] += math.Abs(v)
			}
		}
		for _, s := range sums {
			most = math.Max(most, s)
		}
	}
	return most
}

// shortRows is the least number of rows of panels when they are shortened to balance threads.
const shortRows = 8

// panels returns the number of panels.
func (p *Weights) panels() int { return ceil(p.outputs, p.height) }
