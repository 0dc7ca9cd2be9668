package ref_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// The expected values are from NumPy 2.4.6: np.quantile(x, q, method=m) of x = [3, 1, 4, 1, 5, 9, 2.5], and of its first six elements.
func TestQuantilesOfNumPy(t *testing.T) {
	x := []float64{3, 1, 4, 1, 5, 9, 2.5}
	q := []float64{0, 0.1, 0.25, 0.5, 0.6, 0.75, 0.95, 1}
	for _, c := range []struct {
		n      int
		method string
		want   []float64
	}{
		{7, "linear", []float64{1, 1, 1.75, 3, 3.6, 4.5, 7.8, 9}},
		{7, "lower", []float64{1, 1, 1, 3, 3, 4, 5, 9}},
		{7, "higher", []float64{1, 1, 2.5, 3, 4, 5, 9, 9}},
		{7, "midpoint", []float64{1, 1, 1.75, 3, 3.5, 4.5, 7, 9}},
		{7, "nearest", []float64{1, 1, 2.5, 3, 4, 4, 9, 9}},
		{6, "linear", []float64{1, 1, 1.5, 3.5, 4, 4.75, 8, 9}},
		{6, "lower", []float64{1, 1, 1, 3, 4, 4, 5, 9}},
		{6, "higher", []float64{1, 1, 3, 4, 4, 5, 9, 9}},
		{6, "midpoint", []float64{1, 1, 2, 3.5, 4, 4.5, 7, 9}},
		{6, "nearest", []float64{1, 1, 1, 3, 4, 5, 9, 9}},
	} {
		got := evaluated(t, op.Quantile, []ref.Tensor{vec(dtype.F64, x[:c.n]...)}, op.Floats("q", q...), op.Ints("axes", 0), op.Str("interpolation", c.method))
		require.InDeltaSlice(t, c.want, got.F, 1e-14, "%s of %d", c.method, c.n)
	}
	got := evaluated(t, op.Quantile, []ref.Tensor{vec(dtype.F64, 1, nan, 2)}, op.Floats("q", 0, 1), op.Ints("axes", 0))
	require.True(t, math.IsNaN(got.F[0]) && math.IsNaN(got.F[1]))
	infinite := evaluated(t, op.Median, []ref.Tensor{vec(dtype.F64, inf, -inf, 3, inf)}, op.Ints("axes", 0))
	require.Equal(t, []float64{inf}, infinite.F)
}

// Bins contain their left edge, and the last one both of its edges. Some values equal an edge, lie outside all bins, or are infinite
// or NaN.
func TestHistogramByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for range 60 {
		edges := make([]float64, 2+r.IntN(5))
		for i := range edges {
			edges[i] = float64(r.IntN(8))
		}
		slices.Sort(edges)
		x := make([]float64, r.IntN(30))
		for i := range x {
			x[i] = []float64{float64(r.IntN(10) - 1), r.Float64() * 8, nan, inf, -inf}[min(r.IntN(12), 4)]
		}
		want := make([]int64, len(edges)-1)
		for _, v := range x {
			for k := range want {
				if edges[k] <= v && (v < edges[k+1] || k == len(want)-1 && v == edges[k+1]) {
					want[k]++
				}
			}
		}
		require.Equal(t, want, evaluated(t, op.Histogram, []ref.Tensor{vec(dtype.F64, x...), vec(dtype.F64, edges...)}).I, "%v in %v", x, edges)
	}
}

// SearchSorted agrees with a linear search of each line, with both sides of equal elements and with NaN ordered last.
func TestSearchSortedByCounting(t *testing.T) {
	r := rand.New(rand.NewPCG(83, 84))
	before := func(a, b float64) bool { return a < b || math.IsNaN(b) && !math.IsNaN(a) }
	for range 60 {
		n, m := r.IntN(6), r.IntN(5)
		sorted, values := ref.Zeros(op.DescOf(dtype.F64, 2, n)), ref.Zeros(op.DescOf(dtype.F64, 2, m))
		for line := range 2 {
			part := sorted.F[line*n : line*n+n]
			for i := range part {
				part[i] = []float64{float64(r.IntN(4)), inf, nan}[min(r.IntN(8), 2)*r.IntN(2)]
			}
			slices.SortFunc(part, func(a, b float64) int {
				return map[bool]int{true: -1}[before(a, b)] + map[bool]int{true: 1}[before(b, a)]
			})
		}
		for i := range values.F {
			values.F[i] = []float64{float64(r.IntN(5)) - 0.5*float64(r.IntN(2)), -inf, nan}[min(r.IntN(8), 2)*r.IntN(2)]
		}
		for _, right := range []bool{false, true} {
			got := evaluated(t, op.SearchSorted, []ref.Tensor{sorted, values}, op.Flag("right", right))
			for i, v := range values.F {
				want := int64(0)
				for _, s := range sorted.F[i/m*n : i/m*n+n] {
					if before(s, v) || right && !before(v, s) {
						want++
					}
				}
				require.Equal(t, want, got.I[i], "%v in %v, right %v", v, sorted.F, right)
			}
		}
	}
}

// Sort, ArgSort and TopK order lines full of ties and NaN as the stable sort of the standard library does.
func TestOrderByStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(85, 86))
	pool := []float64{0, math.Copysign(0, -1), 1, -1, 2, inf, -inf, nan, nan}
	for range 80 {
		n := 1 + r.IntN(9)
		x := ref.Zeros(op.DescOf(dtype.F32, n))
		for i := range x.F {
			x.F[i] = pool[r.IntN(len(pool))]
		}
		less := func(a, b float64) int { // NaN above all, zeros equal
			switch {
			case math.IsNaN(a) && math.IsNaN(b), a == b:
				return 0
			case math.IsNaN(a), a > b:
				return 1
			}
			return -1
		}
		for _, descending := range []bool{false, true} {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int {
				if descending {
					a, b = b, a
				}
				return less(x.F[a], x.F[b])
			})
			want := make([]int64, n)
			for i, p := range order {
				want[i] = int64(p)
			}
			got, err := eval(t, op.Sort, []ref.Tensor{x}, op.Int("axis", 0), op.Flag("descending", descending))
			require.NoError(t, err)
			require.Equal(t, want, got[1].I, "%v, descending %v", x.F, descending)
			for i, p := range order {
				if !math.IsNaN(x.F[p]) {
					require.Equal(t, math.Float64bits(x.F[p]), math.Float64bits(got[0].F[i]), "signs of zero too")
				} else {
					require.True(t, math.IsNaN(got[0].F[i]))
				}
			}
			require.Equal(t, want, evaluated(t, op.ArgSort, []ref.Tensor{x}, op.Int("axis", 0), op.Flag("descending", descending)).I)
			k := r.IntN(n + 1)
			top, err := eval(t, op.TopK, []ref.Tensor{x}, op.Int("k", k), op.Int("axis", 0), op.Flag("largest", descending))
			require.NoError(t, err)
			require.Equal(t, want[:k], append([]int64{}, top[1].I...))
		}
	}
}

// Variance, Std, Covariance, CorrCoef and LayerNorm are accurate for lines far from zero, where a difference of sums of squares would
// cancel. The expected values are computed by hand from the line without its offset.
func TestMomentsFarFromZero(t *testing.T) {
	for _, offset := range []float64{0, 1e8, -1e12} {
		x := vec(dtype.F64, offset+1, offset+2, offset+4, offset+9)
		for _, correction := range []float64{0, 1, 0.5} {
			want := (9 + 4 + 0 + 25) / (4 - correction)
			attrs := []op.Attr{op.Ints("axes", 0), op.Float("correction", correction)}
			require.InDelta(t, want, evaluated(t, op.Variance, []ref.Tensor{x}, attrs...).F[0], 1e-12)
			require.InDelta(t, math.Sqrt(want), evaluated(t, op.Std, []ref.Tensor{x}, attrs...).F[0], 1e-12)
		}
		two := tensor(dtype.F64, []int{2, 4}, offset+1, offset+2, offset+4, offset+9, 1, 0, -1, 0)
		require.InDeltaSlice(t, []float64{38. / 3, -1, -1, 2. / 3}, evaluated(t, op.Covariance, []ref.Tensor{two}).F, 1e-12)
		rho := -1 / math.Sqrt(38./3*2/3)
		require.InDeltaSlice(t, []float64{1, rho, rho, 1}, evaluated(t, op.CorrCoef, []ref.Tensor{two}).F, 1e-12)
		normed := evaluated(t, op.LayerNorm, []ref.Tensor{x}, op.Int("axis", 0), op.Float("epsilon", 0))
		require.InDeltaSlice(t, []float64{-3 / math.Sqrt(9.5), -2 / math.Sqrt(9.5), 0, 5 / math.Sqrt(9.5)}, normed.F, 1e-12)
	}
	require.True(t, math.IsNaN(evaluated(t, op.Variance, []ref.Tensor{vec(dtype.F64, 3)}, op.Ints("axes", 0), op.Float("correction", 1)).F[0]), "0 over 0")
}

// LogSumExp and LogCumSumExp are accurate where exp overflows or vanishes, or where all terms are -Inf.
func TestLogSumsOfExtremes(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1000, 1000}, 1000 + math.Ln2}, {[]float64{-1000, -1000, -1000, -1000}, -1000 + 2*math.Ln2}, {[]float64{-inf, -inf}, -inf}, {[]float64{inf, 1}, inf}, {[]float64{nan, inf}, nan},
		{[]float64{0}, 0}, {[]float64{}, -inf}, {[]float64{-inf, 5}, 5}, {[]float64{700, -700}, 700},
	} {
		got := evaluated(t, op.LogSumExp, []ref.Tensor{vec(dtype.F64, c.x...)}, op.Ints("axes", 0)).F[0]
		requireClose(t, c.want, got, 1e-15, "%v", c.x)
		running := evaluated(t, op.LogCumSumExp, []ref.Tensor{vec(dtype.F64, c.x...)}, op.Int("axis", 0)).F
		if len(c.x) == 0 {
			continue
		}
		requireClose(t, c.want, running[len(running)-1], 1e-15, "%v", c.x)
		require.Equal(t, math.Float64bits(c.x[0]), math.Float64bits(running[0]))
		backwards := evaluated(t, op.LogCumSumExp, []ref.Tensor{vec(dtype.F64, c.x...)}, op.Int("axis", 0), op.Flag("reverse", true)).F
		requireClose(t, c.want, backwards[0], 1e-15, "%v", c.x)
		without := evaluated(t, op.LogCumSumExp, []ref.Tensor{vec(dtype.F64, c.x...)}, op.Int("axis", 0), op.Flag("exclusive", true)).F
		require.Equal(t, -inf, without[0], "nothing is summed")
	}
}

// Losses of one element follow the formulas of their papers and of PyTorch's documentation.
func TestLossesByFormula(t *testing.T) {
	none := op.Str("reduction", "none")
	pair := func(a, b float64) []ref.Tensor { return []ref.Tensor{vec(dtype.F64, a), vec(dtype.F64, b)} }
	for _, x := range []float64{-2.5, -1, -0.3, 0, 0.2, 1, 3} {
		for _, y := range []float64{-1, 0, 0.5, 1, 2} {
			d := math.Abs(x - y)
			for _, c := range []struct {
				op    op.Code
				attrs []op.Attr
				want  float64
			}{
				{op.MSELoss, nil, d * d}, {op.L1Loss, nil, d},
				{op.HuberLoss, []op.Attr{op.Float("delta", 0.7)}, map[bool]float64{true: d * d / 2, false: 0.7 * (d - 0.35)}[d <= 0.7]},
				{op.SmoothL1Loss, []op.Attr{op.Float("beta", 0.7)}, map[bool]float64{true: d * d / 1.4, false: d - 0.35}[d < 0.7]},
				{op.BCEWithLogitsLoss, nil, -(y*math.Log(sigmoid(x)) + (1-y)*math.Log(1-sigmoid(x)))},
				{op.PoissonNLLLoss, nil, math.Exp(x) - y*x},
				{op.HingeLoss, []op.Attr{op.Float("margin", 1)}, max(0, 1-x*y)},
				{op.HingeEmbeddingLoss, []op.Attr{op.Float("margin", 1)}, map[bool]float64{true: x, false: max(0, 1-x)}[y > 0]},
				{op.KLDivLoss, []op.Attr{op.Flag("log_target", true)}, math.Exp(y) * (y - x)},
				{op.KLDivLoss, nil, map[bool]float64{true: y * (math.Log(math.Abs(y)) - x)}[y > 0]},
			} {
				if c.op == op.KLDivLoss && y < 0 {
					continue
				}
				got := evaluated(t, c.op, pair(x, y), append(c.attrs, none)...).F[0]
				require.InDelta(t, c.want, got, 1e-13, "%v of %v and %v", c.op, x, y)
			}
		}
	}
	for _, c := range []struct{ p, y, want float64 }{{0, 1, 100}, {1, 0, 100}, {1, 1, 0}, {0.5, 1, math.Ln2}, {0.25, 0, math.Log(4. / 3)}, {0, 0.5, 50}} {
		require.InDelta(t, c.want, evaluated(t, op.BCELoss, pair(c.p, c.y), none).F[0], 1e-13, "logarithms are at least -100: %v", c)
	}
	for _, x := range []float64{1000, -1000} { // exp alone would overflow
		require.InDelta(t, 1000, evaluated(t, op.BCEWithLogitsLoss, pair(x, map[bool]float64{true: 0, false: 1}[x > 0]), none).F[0], 1e-12)
		require.InDelta(t, 0, evaluated(t, op.BCEWithLogitsLoss, pair(x, map[bool]float64{true: 1, false: 0}[x > 0]), none).F[0], 1e-12)
	}
}

// The cross-entropy loss follows its formula, with weights, ignored labels and smoothing, in every reduction.
func TestCrossEntropyByFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(87, 88))
	const n, classes, inner = 3, 4, 2
	for _, smoothing := range []float64{0, 0.2} {
		for _, weighted := range []bool{false, true} {
			for _, ignored := range []int{-100, 1} {
				x, w := uniform(r, -3, 3, n, classes, inner), uniform(r, 0.5, 2, classes)
				target := itensor(dtype.I64, []int{n, inner}, 0, 1, 2, 3, 1, 0)
				in := []ref.Tensor{x, target}
				if weighted {
					in = append(in, w)
				}
				losses, sum, weights := make([]float64, n*inner), 0.0, 0.0
				for i := range losses {
					label := int(target.I[i])
					if label == ignored {
						continue
					}
					total := 0.0
					for c := range classes {
						total += math.Exp(element(x, i/inner, c, i%inner))
					}
					logp := func(c int) float64 { return element(x, i/inner, c, i%inner) - math.Log(total) }
					weight := func(c int) float64 {
						if weighted {
							return w.F[c]
						}
						return 1
					}
					losses[i] = -(1 - smoothing) * weight(label) * logp(label)
					for c := range classes {
						losses[i] -= smoothing / classes * weight(c) * logp(c)
					}
					sum += losses[i]
					weights += weight(label)
				}
				for reduction, want := range map[string][]float64{"none": losses, "sum": {sum}, "mean": {sum / weights}} {
					got := evaluated(t, op.CrossEntropyLoss, in, op.Int("ignore_index", ignored), op.Float("label_smoothing", smoothing), op.Str("reduction", reduction))
					require.InDeltaSlice(t, want, got.F, 1e-13, "%s, smoothing %v, weights %v, ignored %d", reduction, smoothing, weighted, ignored)
				}
			}
		}
	}
}
