package conv

import (
	"math"

	"github.com/goburn/burn/plugins/cpu/internal/par"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// Windows returns a plan for MaxWindows and SumWindows: its patches are the windows of each of the given number of planes. Both functions
// are in assembly; on processors without them, Windows returns nil and no error.
func Windows(planes int, plane, window []int, params Params) (*Plan, error) {
	if !vector.Has() || planes == 0 || len(plane) == 0 || len(plane) > MaxRank {
		return nil, nil
	}
	params.Groups = planes
	p, err := New(append([]int{1, planes}, plane...), append([]int{planes, 1}, window...), params)
	if err != nil || p.outSize == 0 || p.taps == 0 || p.lastAxis().advance != 1 {
		return nil, err
	}
	return p, nil
}

// MaxWindows writes the maximum of each window; a window with a NaN results in NaN. Padding counts as minus infinity.
func MaxWindows(pool *par.Pool, p *Plan, x, out []float32) {
	p.reduceWindows(pool, x, out, float32(math.Inf(-1)), vector.Most)
}

// SumWindows writes the sum of each window. Padding counts as zero.
func SumWindows(pool *par.Pool, p *Plan, x, out []float32) {
	ones := make([]float32, p.taps)
	for i := range ones {
		ones[i] = 1
	}
	inf := float32(math.Inf(1))
	p.reduceWindows(pool, x, out, 0, func(r vector.Rows, dst, src []float32, offsets []int) {
		vector.Taps(r, dst, src, offsets, ones, 0, -inf, inf)
	})
}

func (p *Plan) reduceWindows(pool *par.Pool, x, out []float32, padding float32, reduce func(r vector.Rows, dst, src []float32, offsets []int)) {
	x, out = x[:p.channels*p.inSize], out[:p.channels*p.outSize]
	pool.For(p.channels, minWork()/(p.outSize*p.taps)+1, func(lo, hi int) {
		in := takeInput[float32](p)
		in.padding = padding
		for i := lo; i < hi; i++ {
			in.set(x[i*p.inSize:][:p.inSize])
			p.eachPlane(out[i*p.outSize:][:p.outSize], in.source(), 0, func(r vector.Rows, dst, src []float32) { reduce(r, dst, src, p.offsets) })
		}
		giveInput(in, false)
	})
}
