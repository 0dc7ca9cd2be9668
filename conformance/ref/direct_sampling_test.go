package ref_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// keys is the cubic kernel of Keys (1981).
func keys(a, d float64) float64 {
	switch d = math.Abs(d); {
	case d <= 1:
		return ((a+2)*d-(a+3))*d*d + 1
	case d < 2:
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	return 0
}

func sinc(d float64) float64 {
	if d == 0 {
		return 1
	}
	return math.Sin(math.Pi*d) / (math.Pi * d)
}

// coordinate returns the position of result i of m among n elements.
func coordinate(kind string, i, n, m int) float64 {
	at, from, to := float64(i), float64(n), float64(m)
	switch {
	case kind == "asymmetric":
		return at * from / to
	case kind == "align_corners" && m > 1:
		return at * (from - 1) / (to - 1)
	case kind == "align_corners", kind == "pytorch_half_pixel" && m == 1:
		return 0
	}
	return (at+0.5)*from/to - 0.5
}

// Interpolate equals a sum over all elements that the kernel can reach, in every mode and with every coordinate transformation, to
// more, fewer and as many elements.
func TestInterpolateByKernel(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	kernels := map[string]func(d float64) float64{
		"linear":  func(d float64) float64 { return max(0, 1-math.Abs(d)) },
		"cubic":   func(d float64) float64 { return keys(-0.75, d) },
		"lanczos": func(d float64) float64 { return map[bool]float64{true: sinc(d) * sinc(d/3)}[math.Abs(d) < 3] },
	}
	for mode, kernel := range kernels {
		for _, kind := range []string{"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"} {
			for _, shape := range [][2]int{{1, 1}, {1, 4}, {5, 1}, {4, 4}, {5, 8}, {8, 3}, {7, 13}, {9, 2}} {
				for _, antialias := range []bool{false, true} {
					for _, inside := range []bool{false, true} {
						n, m := shape[0], shape[1]
						x := uniform(r, -1, 1, 2, n)
						got := evaluated(t, op.Interpolate, []ref.Tensor{x}, op.Ints("size", m), op.Str("mode", mode), op.Str("coordinates", kind), op.Flag("antialias", antialias), op.Flag("exclude_outside", inside))
						factor := 1.0
						if step := float64(n) / float64(m); antialias {
							switch { // the single coordinate 0 has no step to the next one
							case kind == "align_corners" && m > 1:
								step = float64(n-1) / float64(m-1)
							case kind == "align_corners", kind == "pytorch_half_pixel" && m == 1:
								step = 0
							}
							if step > 1 {
								factor = 1 / step
							}
						}
						for i := range m {
							c, sum, weights := coordinate(kind, i, n, m), 0.0, 0.0
							for j := -4 * n; j < 6*n; j++ {
								w := kernel(factor * (float64(j) - c))
								if inside && (j < 0 || j >= n) {
									continue
								}
								weights += w
								sum += w * element(x, 1, min(max(j, 0), n-1))
							}
							if antialias || inside || mode == "lanczos" {
								sum /= weights
							}
							require.InDelta(t, sum, element(got, 1, i), 1e-12, "%s %s %d to %d, antialias %v, inside %v, place %d", mode, kind, n, m, antialias, inside, i)
						}
					}
				}
			}
		}
	}
}

// Interpolate chooses the nearest element by the rule of rounding, also for a coordinate in the middle of two elements. The test
// computes coordinates as exact fractions.
func TestInterpolateNearestByFractions(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for m := 1; m <= 12; m++ {
			x := counting(dtype.F32, n)
			for _, kind := range []string{"half_pixel", "asymmetric", "align_corners"} {
				for _, rounding := range []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"} {
					got := evaluated(t, op.Interpolate, []ref.Tensor{x}, op.Ints("size", m), op.Str("coordinates", kind), op.Str("rounding", rounding))
					for i := range m {
						above, below := (2*i+1)*n-m, 2*m // half_pixel: c = above/below
						switch {
						case kind == "asymmetric":
							above, below = i*n, m
						case kind == "align_corners":
							above, below = i*(n-1), max(1, m-1)
						}
						down := above / below
						if above%below < 0 {
							down--
						}
						rest := above - down*below
						var at int
						switch rounding {
						case "floor":
							at = down
						case "ceil":
							at = down + map[bool]int{true: 1}[rest > 0]
						case "round_prefer_floor":
							at = down + map[bool]int{true: 1}[2*rest > below]
						default:
							at = down + map[bool]int{true: 1}[2*rest >= below]
						}
						require.Equal(t, float64(min(max(at, 0), n-1)+1), got.F[i], "%s %s %d to %d, place %d", kind, rounding, n, m, i)
					}
				}
			}
		}
	}
}

// folded reflects a coordinate into an image of n elements at its outer edges or, with align, at the centres of its outermost elements.
func folded(c float64, n int, align bool) float64 {
	lo, hi := -0.5, float64(n)-0.5
	if align {
		lo, hi = 0, float64(n-1)
	}
	if lo == hi {
		return 0
	}
	for c < lo || c > hi {
		if c < lo {
			c = 2*lo - c
		} else {
			c = 2*hi - c
		}
	}
	return c
}

// gridPoint samples channel c of image n of x at (y, z) by the definition of mode and padding.
func gridPoint(x ref.Tensor, n, c int, y, z float64, mode, padding string, align bool) float64 {
	h, w := x.Desc.Shape[2], x.Desc.Shape[3]
	outside := func(c float64, n int) float64 {
		switch padding {
		case "border":
			return min(max(c, 0), float64(n-1))
		case "reflection":
			return min(max(folded(c, n, align), 0), float64(n-1))
		}
		return c
	}
	if mode != "cubic" {
		y, z = outside(y, h), outside(z, w)
	}
	switch mode {
	case "nearest":
		return element(x, n, c, int(math.RoundToEven(y)), int(math.RoundToEven(z)))
	case "linear":
		return bilinear(x, n, c, y, z)
	}
	sum := 0.0
	for i := int(math.Floor(y)) - 1; i <= int(math.Floor(y))+2; i++ {
		for j := int(math.Floor(z)) - 1; j <= int(math.Floor(z))+2; j++ {
			sum += keys(-0.75, y-float64(i)) * keys(-0.75, z-float64(j)) * element(x, n, c, int(math.RoundToEven(outside(float64(i), h))), int(math.RoundToEven(outside(float64(j), w))))
		}
	}
	return sum
}

// GridSample follows its definition in all modes, also for points far outside the image.
func TestGridSampleByPoint(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, padding := range []string{"zeros", "border", "reflection"} {
			for _, align := range []bool{false, true} {
				for _, s := range [][2]int{{3, 5}, {1, 4}, {1, 1}, {6, 2}} {
					x, grid := uniform(r, -1, 1, 2, 2, s[0], s[1]), uniform(r, -4, 4, 2, 7, 3, 2)
					got := evaluated(t, op.GridSample, []ref.Tensor{x, grid}, op.Str("mode", mode), op.Str("padding", padding), op.Flag("align_corners", align))
					place := func(g float64, n int) float64 {
						if align {
							return (g + 1) * float64(n-1) / 2
						}
						return ((g+1)*float64(n) - 1) / 2
					}
					each(got.Desc.Shape, func(at []int) {
						z, y := place(element(grid, at[0], at[2], at[3], 0), s[1]), place(element(grid, at[0], at[2], at[3], 1), s[0])
						want := gridPoint(x, at[0], at[1], y, z, mode, padding, align)
						require.InDelta(t, want, element(got, at...), 1e-12, "%s %s align %v at %v,%v of %v", mode, padding, align, y, z, s)
					})
				}
			}
		}
	}
}

// The grids of the identity, a reflection, a transposition and a turn by 90 degrees transform the image in the same way.
func TestAffineGridMaps(t *testing.T) {
	x := counting(dtype.F64, 1, 1, 4, 4)
	for _, align := range []bool{false, true} {
		sampled := func(theta ...float64) []float64 {
			grid := evaluated(t, op.AffineGrid, []ref.Tensor{tensor(dtype.F64, []int{1, 2, 3}, theta...)}, op.Ints("size", 4, 4), op.Flag("align_corners", align))
			return evaluated(t, op.GridSample, []ref.Tensor{x, grid}, op.Str("mode", "nearest"), op.Flag("align_corners", align)).F
		}
		require.Equal(t, x.F, sampled(1, 0, 0, 0, 1, 0))
		require.Equal(t, []float64{4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13}, sampled(-1, 0, 0, 0, 1, 0), "mirrored across")
		require.Equal(t, []float64{1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16}, sampled(0, 1, 0, 1, 0, 0), "transposed")
		require.Equal(t, []float64{4, 8, 12, 16, 3, 7, 11, 15, 2, 6, 10, 14, 1, 5, 9, 13}, sampled(0, -1, 0, 1, 0, 0), "turned")
	}
}

// RoiAlign reduces the samples of each region as the paper on Mask R-CNN and ONNX's RoiAlign define it.
func TestRoiAlignBySamples(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	for _, reduce := range []string{"mean", "max"} {
		for _, half := range []bool{true, false} {
			x, boxes := uniform(r, -1, 1, 2, 2, 6, 5), uniform(r, -3, 9, 6, 4)
			for i := range 6 {
				boxes.F[4*i+2], boxes.F[4*i+3] = boxes.F[4*i]+4*r.Float64(), boxes.F[4*i+1]+4*r.Float64()
			}
			batch := ivec(dtype.I64, 0, 1, 1, 0, 1, 0)
			samples, scale := 3, 0.5
			got := evaluated(t, op.RoiAlign, []ref.Tensor{x, batch, boxes}, op.Ints("size", 2, 3), op.Int("samples", samples), op.Float("scale", scale), op.Flag("half_pixel", half), op.Str("reduce", reduce))
			each(got.Desc.Shape, func(at []int) {
				shift := map[bool]float64{true: 0.5}[half]
				corner := func(k int) float64 { return element(boxes, at[0], k)*scale - shift }
				width, height := corner(2)-corner(0), corner(3)-corner(1)
				if !half {
					width, height = max(width, 1), max(height, 1)
				}
				sum, most := 0.0, -inf
				for i := range samples {
					for j := range samples {
						y := corner(1) + height/2*(float64(at[2])+(float64(i)+0.5)/float64(samples))
						z := corner(0) + width/3*(float64(at[3])+(float64(j)+0.5)/float64(samples))
						if y < -1 || y > 6 || z < -1 || z > 5 {
							most = max(most, 0)
							continue
						}
						y, z = min(max(y, 0), 5), min(max(z, 0), 4)
						top, left := int(y), int(z)
						v, u := y-float64(top), z-float64(left)
						for k, w := range []float64{(1 - v) * (1 - u), (1 - v) * u, v * (1 - u), v * u} {
							p := w * element(x, int(batch.I[at[0]]), at[1], min(top+k/2, 5), min(left+k%2, 4))
							sum += p
							most = max(most, p)
						}
					}
				}
				want := sum / float64(samples*samples)
				if reduce == "max" {
					want = most
				}
				require.InDelta(t, want, element(got, at...), 1e-12, "%s, half %v, at %v", reduce, half, at)
			})
		}
	}
}

// overlap returns the intersection over union of two boxes, each given by two opposite corners in any order.
func overlap(a, b []float64) float64 {
	area, common := 1.0, 1.0
	other := 1.0
	for k := range 2 {
		a0, a1, b0, b1 := min(a[k], a[k+2]), max(a[k], a[k+2]), min(b[k], b[k+2]), max(b[k], b[k+2])
		area, other = area*(a1-a0), other*(b1-b0)
		common *= max(0, min(a1, b1)-max(a0, b0))
	}
	if common <= 0 {
		return 0
	}
	return common / (area + other - common)
}

// NMS agrees with a different algorithm: the test sorts all boxes by score and keeps each box that overlaps no kept box too much.
func TestNMSBySorting(t *testing.T) {
	r := rand.New(rand.NewPCG(57, 58))
	for round := range 60 {
		n := r.IntN(12)
		boxes, scores := uniform(r, 0, 4, n, 4), uniform(r, -1, 1, n)
		for i := range n {
			if r.IntN(4) == 0 && i > 0 {
				scores.F[i] = scores.F[i-1] // equal scores: the first comes first
			}
		}
		center := round%2 == 1
		threshold, least := r.Float64()*0.6, []float64{-inf, -0.3, 0.2}[r.IntN(3)]
		most := r.IntN(n + 1)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch x, y := scores.F[a], scores.F[b]; {
			case x > y:
				return -1
			case x < y:
				return 1
			}
			return 0
		})
		corners := func(i int) []float64 {
			b := boxes.F[4*i : 4*i+4]
			if center {
				return []float64{b[0] - b[2]/2, b[1] - b[3]/2, b[0] + b[2]/2, b[1] + b[3]/2}
			}
			return b
		}
		var kept []int64
		for _, i := range order {
			covered := scores.F[i] <= least
			for _, k := range kept {
				covered = covered || overlap(corners(i), corners(int(k))) > threshold
			}
			if !covered && len(kept) < most {
				kept = append(kept, int64(i))
			}
		}
		out, err := eval(t, op.NMS, []ref.Tensor{boxes, scores}, op.Int("max_output", most), op.Float("iou_threshold", threshold), op.Float("score_threshold", least), op.Flag("center_point", center))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(kept), fmt.Sprint(out[0].I[:len(kept)]), "round %d", round)
		require.Equal(t, int64(len(kept)), out[1].I[0])
	}
}
