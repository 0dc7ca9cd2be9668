package main

import (
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/data/source"
)

// image is a picture with a margin of one black pixel, from 0 to 1.
type image [side + 2][side + 2]float32

// distort returns a variation of a digit that imitates different hands, pens and scanners. It does not change the pixels of p.
func distort(rng *rand.Rand, p source.Picture) (source.Picture, error) {
	var in image
	for y := range side {
		for x := range side {
			in[y+1][x+1] = float32(p.Pixels[y*side+x]) / 255
		}
	}
	moved := affine(&in, rng)
	inked := thickness(&moved, rng)
	return source.Picture{Pixels: tone(&inked, rng), Label: p.Label}, nil
}

func uniform(rng *rand.Rand, low, high float64) float64 { return low + (high-low)*rng.Float64() }

// affine rotates by up to 15 degrees, scales by 0.75 to 1.25, stretches one axis and compresses the other by up to 12 %, shears
// by up to 0.2 and shifts by up to 3 pixels, with bilinear interpolation.
func affine(in *image, rng *rand.Rand) (out image) {
	angle, scale := uniform(rng, -math.Pi/12, math.Pi/12), uniform(rng, 0.75, 1.25)
	aspect, shear := uniform(rng, 0.88, 1.12), uniform(rng, -0.2, 0.2)
	dx, dy := uniform(rng, -3, 3), uniform(rng, -3, 3)
	// The inverse map: for each pixel of the result, its position in the source.
	sin, cos := math.Sincos(angle)
	sin, cos = sin/scale, cos/scale
	a, b := cos*aspect, (sin+shear*cos)*aspect
	c, d := -sin/aspect, (cos-shear*sin)/aspect
	const centre, last = float64(side-1) / 2, side + 1 - 0.001
	for y := range side {
		for x := range side {
			u, v := float64(x)-centre, float64(y)-centre
			// Positions outside are clamped to the margin.
			sx := min(max(a*u+b*v+centre+dx+1, 0), last)
			sy := min(max(c*u+d*v+centre+dy+1, 0), last)
			x0, y0 := int(sx), int(sy)
			fx, fy := float32(sx)-float32(x0), float32(sy)-float32(y0)
			top := in[y0][x0]*(1-fx) + in[y0][x0+1]*fx
			bottom := in[y0+1][x0]*(1-fx) + in[y0+1][x0+1]*fx
			out[y+1][x+1] = top*(1-fy) + bottom*fy
		}
	}
	return out
}

// thickness moves each pixel towards the greatest value among it and its four neighbours, by up to 100 % of the difference, or towards the
// least value, by up to 60 %. One image in six is not changed.
func thickness(in *image, rng *rand.Rand) (out image) {
	amount := uniform(rng, -1.2, 1.2)
	amount = math.Copysign(max(math.Abs(amount)-0.2, 0), amount)
	thick, thin := float32(max(amount, 0)), float32(0.6*max(-amount, 0))
	for y := 1; y <= side; y++ {
		for x := 1; x <= side; x++ {
			v, n, s, w, e := in[y][x], in[y-1][x], in[y+1][x], in[y][x-1], in[y][x+1]
			out[y][x] = v + thick*(max(v, n, s, w, e)-v) + thin*(min(v, n, s, w, e)-v)
		}
	}
	return out
}

// tone applies a gamma of 0.7 to 1.4 and a gain of 0.8 to 1.25, and adds grey noise to one image in four. It returns the pixels
// as bytes.
func tone(in *image, rng *rand.Rand) []byte {
	gamma, gain, noise := uniform(rng, 0.7, 1.4), uniform(rng, 0.8, 1.25), 0.
	if rng.Float64() < 0.25 {
		noise = uniform(rng, 0, 0.15)
	}
	var curve [256]float64
	for i := range curve {
		curve[i] = gain * math.Pow(float64(i)/255, gamma)
	}
	out := make([]byte, side*side)
	for y := range side {
		for x := range side {
			v := curve[int(min(max(in[y+1][x+1], 0), 1)*255+0.5)]
			if noise > 0 {
				v += noise * rng.Float64()
			}
			out[y*side+x] = byte(min(v, 1)*255 + 0.5)
		}
	}
	return out
}
