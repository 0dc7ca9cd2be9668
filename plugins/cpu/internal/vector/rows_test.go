package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// joinedBy returns the sum of values, computed in float64, or their maximum or
// minimum by the builtins.
func joinedBy(j Joint, v []float32) float32 {
	sum, m := 0.0, v[0]
	for _, x := range v {
		sum += float64(x)
		switch j {
		case Maxima:
			m = max(m, x)
		case Minima:
			m = min(m, x)
		}
	}
	if j == Sums {
		return float32(sum)
	}
	return m
}

func sameJoint(t *testing.T, j Joint, want, got float32, what ...any) {
	if math.Float32bits(want) == math.Float32bits(got) {
		return
	}
	t.Helper() // which is slow, as require is
	switch {
	case want != want:
		require.True(t, got != got, what...)
	case j == Sums:
		if !(math.Abs(float64(want)-float64(got)) <= 1e-5*(1+math.Abs(float64(want)))) { // require would take longer than the rest
			require.InDelta(t, want, got, 1e-5*(1+math.Abs(float64(want))), what...)
		}
	default:
		if math.Float32bits(want) != math.Float32bits(got) {
			require.Equal(t, math.Float32bits(want), math.Float32bits(got), what...)
		}
	}
}

func TestJoints(t *testing.T) {
	nan, zero := float32(math.NaN()), float32(math.Copysign(0, -1))
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, rows := range []int{1, 2, 3, 4, 5, 7, 8, 17, 300} {
			for _, cols := range []int{1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128, 129, 257, 515, 1024, 1025, 1100, 1167} {
				row := cols + r.IntN(3)
				for kind, few := range [][]float32{nil, {0, zero, zero}, {zero}, {nan, 1, 0}, {float32(math.Inf(1)), -1}, {float32(math.Inf(-1)), float32(math.Inf(-1))}} {
					x := make([]float32, (rows-1)*row+cols)
					for i := range x {
						x[i] = r.Float32() - 0.5
						if few != nil && (kind != 3 || r.IntN(50) == 0) {
							x[i] = few[r.IntN(len(few))]
						}
					}
					for j := Sums; j <= Minima; j++ {
						out := make([]float32, rows+1)
						out[rows] = 42
						j.OfRows(out[:rows], x, cols, row)
						require.EqualValues(t, 42, out[rows])
						for i := range rows {
							sameJoint(t, j, joinedBy(j, x[i*row:][:cols]), out[i], "joint %d, row %d of %dx%d, kind %d", j, i, rows, cols, kind)
						}
						out = make([]float32, cols+1)
						out[cols] = 42
						j.OfColumns(out[:cols], x, rows, row)
						require.EqualValues(t, 42, out[cols])
						for c := range cols {
							v := make([]float32, rows)
							for i := range v {
								v[i] = x[i*row+c]
							}
							sameJoint(t, j, joinedBy(j, v), out[c], "joint %d, column %d of %dx%d, kind %d", j, c, rows, cols, kind)
						}
					}
				}
			}
		}
	})
}

func TestFind(t *testing.T) {
	holds := []func(v, b float32) bool{
		Above:   func(v, b float32) bool { return v > b },
		Below:   func(v, b float32) bool { return v < b },
		AtLeast: func(v, b float32) bool { return v >= b },
		AtMost:  func(v, b float32) bool { return v <= b },
	}
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 70 {
			for range 30 {
				x := make([]float32, n)
				for i := range x {
					if x[i] = float32(r.IntN(9)); r.IntN(60) == 0 {
						x[i] = float32(math.NaN())
					}
				}
				for b := Above; b <= AtMost; b++ {
					for _, bound := range []float32{-1, 0, 1, 4, 7, 8, 9} {
						want := 0
						for want < n && !holds[b](x[want], bound) && x[want] == x[want] {
							want++
						}
						require.Equal(t, want, b.Find(x, bound), "comparison %d with %g in %v", b, bound, x)
					}
				}
			}
		}
	})
}

func TestCumulate(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, n := range []int{0, 5, 16, 48, 53} {
			x, d, sums := make([]float32, n), make([]float32, n), make([]float64, n)
			for i := range x {
				x[i], sums[i] = float32(i)/3, 1e9+float64(i)
			}
			done := Cumulate(sums, d, x)
			require.Equal(t, wholeVectors(n), done)
			for i := range x {
				want, sum := float32(0), 1e9+float64(i)
				if i < done {
					sum += float64(x[i])
					want = float32(sum)
				}
				require.Equal(t, sum, sums[i])
				require.Equal(t, want, d[i])
			}
		}
	})
}

func TestStandardAffine(t *testing.T) {
	each(t, func(t *testing.T) {
		for n := range 40 {
			x, scale, bias, d := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], scale[i], bias[i] = float32(i)/7, float32(i%5)-2, float32(i%3)-1
			}
			for _, b := range [][]float32{nil, bias} {
				StandardAffine(d, x, scale, b, 1.5, 0.25)
				for i, v := range x {
					want := float64(v-1.5) * 0.25 * float64(scale[i])
					if b != nil {
						want += float64(b[i])
					}
					require.InDelta(t, want, d[i], 1e-6)
				}
			}
		}
	})
}
