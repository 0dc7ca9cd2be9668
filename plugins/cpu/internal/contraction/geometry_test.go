package contraction_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Unusual geometries for every strategy: padding wider than the input, padding that crops all of it on one side, windows that contain
// only padding, and strides beyond the input.
func TestConvGeometry(t *testing.T) {
	b := newBench(t)
	seeds := uint64(160)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 44))
		rank, depthwise := 1+r.IntN(3), r.IntN(3) == 0
		groups, channels, outputs := 1+r.IntN(2), 1+r.IntN(5), 1+r.IntN(6)
		if depthwise {
			groups, channels, outputs = 1+r.IntN(20), 1, 1
		}
		c := conv{x: []int{1 + r.IntN(2), groups * channels}, w: []int{groups * outputs, channels}, groups: groups}
		for range rank {
			k, d, stride, wide := 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(3), 1
			if r.IntN(4) == 0 {
				wide = 2 // input dilation
			}
			if seed%3 == 0 { // the geometry of Winograd, plane and depthwise kernels
				k, d, stride, wide = 3, 1, 1, 1
			}
			lo, hi := r.IntN(9)-4, r.IntN(9)-4
			n := 1 + r.IntN(9)
			for (n-1)*wide+1+lo+hi < (k-1)*d+1 { // until there is a result
				n++
			}
			c.x, c.w = append(c.x, n), append(c.w, k)
			c.lo, c.hi = append(c.lo, lo), append(c.hi, hi)
			c.strides, c.dilation, c.inputDilation = append(c.strides, stride), append(c.dilation, d), append(c.inputDilation, wide)
		}
		b.Check(op.Conv, list{random(r, dtype.F32, c.x...), random(r, dtype.F32, c.w...)}, c.attrs()...)
	}
}

// Unusual geometries of windows: maxima, sums, and means with an overhang.
func TestWindowGeometry(t *testing.T) {
	b := newBench(t)
	seeds := uint64(160)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 45))
		rank := 1 + r.IntN(3)
		dims := []int{1 + r.IntN(2), 1 + r.IntN(3)}
		var size, strides, lo, hi, dilation, overhang []int
		least := -4 * r.IntN(2) // means have no negative padding
		for range rank {
			k, d := 1+r.IntN(4), 1+r.IntN(2)
			l, h, n, s := least+r.IntN(9), least+r.IntN(9), 1+r.IntN(9), 1+r.IntN(3)
			for n+l+h < (k-1)*d+1 {
				n++
			}
			dims, size, strides, lo, hi, dilation = append(dims, n), append(size, k), append(strides, s), append(lo, l), append(hi, h), append(dilation, d)
			overhang = append(overhang, r.IntN(s))
		}
		geometry := []op.Attr{op.Ints("window", size...), op.Ints("strides", strides...), op.Ints("pad_lo", lo...), op.Ints("pad_hi", hi...), op.Ints("dilation", dilation...)}
		x := random(r, dtype.F32, dims...)
		for _, kind := range []string{"max", "sum"} {
			b.Check(op.WindowReduce, list{x}, append([]op.Attr{op.Str("reduce", kind)}, geometry...)...)
		}
		if slices.Min(lo) >= 0 && slices.Min(hi) >= 0 {
			b.Check(op.AvgPool, list{x}, append([]op.Attr{op.Flag("count_pad", r.IntN(2) == 0), op.Ints("overhang", overhang...)}, geometry...)...)
		}
	}
}
