package half

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/gemm"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// kind is a type of 16-bit floats whose elements are converted one by one.
type kind struct {
	name string
	Type
	ulp, least float64 // relative and absolute error of one rounding
}

var kinds = []kind{
	{"bf16", Type{true, func(dst []float32, src []uint16) {
		for i, h := range src[:len(dst)] {
			dst[i] = dtype.BFloat16(h).Float32()
		}
	}, func(dst []uint16, src []float32) {
		for i, v := range src[:len(dst)] {
			dst[i] = uint16(dtype.ToBFloat16(v))
		}
	}}, 0x1p-8, 0x1p-126},
	{"f16", Type{false, func(dst []float32, src []uint16) {
		for i, h := range src[:len(dst)] {
			dst[i] = dtype.Float16(h).Float32()
		}
	}, func(dst []uint16, src []float32) {
		for i, v := range src[:len(dst)] {
			dst[i] = uint16(dtype.ToFloat16(v))
		}
	}}, 0x1p-11, 0x1p-25},
}

// eachLevel calls f for each kind while each level of kernels for 16-bit floats
// that this processor can run is active, with the float32 kernels of that level.
func eachLevel(t *testing.T, f func(t *testing.T, h *kind)) {
	best := active
	defer func() {
		active = best
		require.NoError(t, micro.Select(""))
	}()
	for _, level := range append(levels(), level{name: "portable"}) {
		for _, kernel := range micro.Names() {
			if own := map[string]string{"pairs": "avx512", "portable": kernel}[level.name]; own != kernel && level.name != kernel {
				continue
			}
			for i := range kinds {
				active = level
				require.NoError(t, micro.Select(kernel))
				t.Run(level.name+"/"+kernel+"/"+kinds[i].name, func(t *testing.T) { f(t, &kinds[i]) })
			}
		}
	}
}

func (h *kind) values(bits []uint16) []float64 {
	wide, v := make([]float32, len(bits)), make([]float64, len(bits))
	h.Decode(wide, bits)
	for i, x := range wide {
		v[i] = float64(x)
	}
	return v
}

func (h *kind) value(bits uint16) float64 { return h.values([]uint16{bits})[0] }

func (h *kind) bits(v float64) uint16 {
	var b [1]uint16
	h.Encode(b[:], []float32{float32(v)})
	return b[0]
}

func (h *kind) random(rng *rand.Rand, n int) []uint16 {
	s := make([]uint16, n)
	for i := range s {
		s[i] = h.bits(rng.Float64()*2 - 1)
	}
	return s
}

// sums returns the product in float64, and for each element the sum of the
// magnitudes of its terms.
func (h *kind) sums(g *Args) (want, size []float64) {
	want, size = make([]float64, g.M*g.N), make([]float64, g.M*g.N)
	a, b, c := h.values(g.A.Data), h.values(g.B.Data), h.values(g.C)
	for i := range g.M {
		for j := range g.N {
			at := i*g.N + j
			add := func(v float64) { want[at] += v; size[at] += math.Abs(v) }
			if g.Accumulate {
				add(c[i*g.LDC+j])
			}
			for p := range g.K {
				add(a[i*g.A.RowStride+p*g.A.ColStride] * b[p*g.B.RowStride+j*g.B.ColStride])
			}
			if e := g.Epilogue; e != nil {
				if e.BiasRow != nil {
					add(float64(e.BiasRow[i]))
				}
				if e.BiasCol != nil {
					add(float64(e.BiasCol[j]))
				}
				if e.HasClamp {
					want[at] = min(max(want[at], float64(e.Lo)), float64(e.Hi))
				}
			}
		}
	}
	return want, size
}

func (h *kind) check(t *testing.T, pool *par.Pool, g *Args, name string) {
	t.Helper()
	before := slices.Clone(g.C)
	want, size := h.sums(g)
	Mul(pool, g)
	got := h.values(g.C)
	for i, was := range before {
		y, x := i/g.LDC, i%g.LDC
		if x >= g.N {
			require.Equal(t, was, g.C[i], "%s: beyond row %d", name, y)
			continue
		}
		w := want[y*g.N+x]
		if math.IsNaN(w) && math.IsNaN(got[i]) || w == got[i] {
			continue
		}
		tolerance := h.ulp*math.Abs(w) + h.least + float64(g.K+4)*0x1p-23*size[y*g.N+x]
		if !(math.Abs(got[i]-w) <= tolerance) {
			t.Fatalf("%s: element %d, %d: got %v, want %v within %v", name, y, x, got[i], w, tolerance)
		}
	}
}

// product returns a random product whose operands have the layouts a and b, and
// end where memory begins that must not be accessed.
func (h *kind) product(t *testing.T, rng *rand.Rand, m, n, k int, a, b gemmtest.Layout) *Args {
	g := &Args{Type: &h.Type, M: m, N: n, K: k, LDC: n + rng.IntN(2)*rng.IntN(4), Accumulate: rng.IntN(2) == 0}
	g.C = gemmtest.Fence(t, h.random(rng, (m-1)*g.LDC+n))
	row, col, size := a.Strides(m, k)
	g.A = gemm.Mat[uint16]{Data: gemmtest.Fence(t, h.random(rng, size)), RowStride: row, ColStride: col}
	row, col, size = b.Strides(k, n)
	g.B = gemm.Mat[uint16]{Data: gemmtest.Fence(t, h.random(rng, size)), RowStride: row, ColStride: col}
	switch rng.IntN(4) {
	case 0:
		g.Epilogue = &micro.Epilogue[float32]{BiasCol: gemmtest.Fence(t, gemmtest.Random[float32](rng, n)), HasClamp: true, Lo: -0.25, Hi: 1}
	case 1:
		g.Epilogue = &micro.Epilogue[float32]{BiasRow: gemmtest.Fence(t, gemmtest.Random[float32](rng, m)), BiasCol: gemmtest.Fence(t, gemmtest.Random[float32](rng, n))}
	}
	return g
}

var sizes = [][3]int{
	{1, 1, 1}, {1, 1, 40}, {1, 70, 33}, {70, 1, 31}, {1, 2100, 9}, {3, 5, 1}, {2, 2, 2}, {14, 32, 2}, {15, 33, 5}, {13, 16, 40}, {16, 17, 15},
	{29, 65, 33}, {65, 31, 67}, {7, 300, 801}, {70, 40, 1601}, {5, 90, 2048}, {130, 9, 20}, {300, 3, 7}, {9, 33, 129}, {66, 96, 257},
}

func TestMul(t *testing.T) {
	pools := []*par.Pool{par.New(1), par.New(2)}
	defer pools[0].Close()
	defer pools[1].Close()
	eachLevel(t, func(t *testing.T, h *kind) {
		rng := rand.New(rand.NewPCG(71, 72))
		for s, size := range sizes {
			for a := range 3 {
				for b := range 3 {
					if (gemmtest.UnderRace || testing.Short()) && (a+b+s)%5 > 0 {
						continue
					}
					m, n, k := size[0], size[1], size[2]
					if a+b > 0 && m*n*k > 1<<17 && (a+b+s)%4 > 0 {
						continue
					}
					pool := pools[rng.IntN(2)]
					g := h.product(t, rng, m, n, k, gemmtest.Layouts[a], gemmtest.Layouts[b])
					before := slices.Clone(g.C)
					name := fmt.Sprintf("%v %s %s", size, gemmtest.Layouts[a].Name, gemmtest.Layouts[b].Name)
					h.check(t, pool, g, name)
					copy(g.C, before)
					g.PackedB = Pack(pool, g.Type, k, n, g.B)
					require.GreaterOrEqual(t, g.PackedB.Size(), 2*n*k, name)
					h.check(t, pool, g, name+" packed")
				}
			}
		}
		g := h.product(t, rng, 33, 40, 50, gemmtest.Layouts[3], gemmtest.Layouts[4])
		h.check(t, pools[1], g, "broadcast")
		for _, m := range []int{1, 3} {
			g = h.product(t, rng, m, 4, 3, gemmtest.Layouts[0], gemmtest.Layouts[0])
			g.K = 0
			h.check(t, pools[0], g, "nothing to sum")
		}
	})
}

// TestThreadsAgree computes products on different numbers of threads, and a batch
// also as single products. The results must be bitwise equal.
func TestThreadsAgree(t *testing.T) {
	eachLevel(t, func(t *testing.T, h *kind) {
		rng := rand.New(rand.NewPCG(73, 74))
		for _, size := range [][3]int{{100, 90, 70}, {20, 700, 900}, {1, 5000, 300}, {5000, 1, 30}} {
			g := h.product(t, rng, size[0], size[1], size[2], gemmtest.Layouts[0], gemmtest.Layouts[0])
			g.Accumulate = false
			var first []uint16
			for _, threads := range []int{1, 2, 3, 2} {
				pool := par.New(threads)
				Mul(pool, g)
				pool.Close()
				if first == nil {
					first = slices.Clone(g.C)
				}
				require.Equal(t, first, g.C, "%v on %d threads", size, threads)
			}
		}
		pool := par.New(2)
		defer pool.Close()
		const m, n, k, count = 6, 35, 17, 12
		all := &Args{Type: &h.Type, M: m, N: n, K: k, LDC: n, C: make([]uint16, count*m*n)}
		all.A = gemm.Row(h.random(rng, count*m*k), k)
		all.B = gemm.Row(h.random(rng, 3*k*n), n)
		MulBatch(pool, gemm.Batch{Dims: []int{4, 3}, A: []int{3 * m * k, m * k}, B: []int{0, k * n}, C: []int{3 * m * n, m * n}}, all)
		for i := range count {
			one := *all
			one.A.Data, one.B.Data, one.C = all.A.Data[i*m*k:], all.B.Data[i%3*k*n:], make([]uint16, m*n)
			Mul(pool, &one)
			require.Equal(t, one.C, all.C[i*m*n:][:m*n], "product %d", i)
		}
	})
}

// TestSpecialValues puts a NaN, an infinity, a -0 or a subnormal number into
// operands of ones and twos.
func TestSpecialValues(t *testing.T) {
	pool := par.New(2)
	defer pool.Close()
	eachLevel(t, func(t *testing.T, h *kind) {
		rng := rand.New(rand.NewPCG(75, 76))
		least, great := h.value(1), h.value(0x7f00)/4
		if !h.BF16 {
			great = h.value(0x7b00) / 4
		}
		sizes := [][3]int{{3, 2, 2}, {1, 40, 40}, {20, 70, 35}, {66, 33, 101}}
		if gemmtest.UnderRace || testing.Short() {
			sizes = sizes[:3]
		}
		for _, size := range sizes {
			for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), least, -least, 65 * least} {
				for side := range 3 {
					for b := range 2 {
						m, n, k := size[0], size[1], size[2]
						g := h.product(t, rng, m, n, k, gemmtest.Layouts[0], gemmtest.Layouts[b])
						g.Epilogue = nil
						for i := range g.A.Data {
							g.A.Data[i] = h.bits(1)
						}
						for i := range g.B.Data {
							g.B.Data[i] = h.bits(2)
						}
						p := rng.IntN(k)
						at, to := (m-1)*g.A.RowStride+p*g.A.ColStride, p*g.B.RowStride+(n-1)*g.B.ColStride
						if side != 1 {
							g.A.Data[at] = h.bits(special)
						}
						if side != 0 {
							g.B.Data[to] = h.bits(special)
						}
						if side == 0 { // the product is in the range of normal numbers
							g.B.Data[to] = h.bits(great)
						}
						if side == 1 {
							g.A.Data[at] = h.bits(great)
						}
						for q := range k { // nothing else in the last row and column
							if q != p {
								g.A.Data[(m-1)*g.A.RowStride+q*g.A.ColStride], g.B.Data[q*g.B.RowStride+(n-1)*g.B.ColStride] = 0, 0
							}
						}
						g.C[len(g.C)-1] = 0
						before := slices.Clone(g.C)
						name := fmt.Sprintf("%v %v side %d %s", size, special, side, gemmtest.Layouts[b].Name)
						h.check(t, pool, g, name)
						if side < 2 && math.Abs(special) < 1 && special != 0 {
							require.Equal(t, special*great, h.value(g.C[len(g.C)-1]), name)
						}
						copy(g.C, before)
						g.PackedB = Pack(pool, g.Type, k, n, g.B)
						h.check(t, pool, g, name+" packed")
					}
				}
			}
		}
	})
}

func TestLevels(t *testing.T) {
	f := cpuid.Active()
	want := "portable"
	switch {
	case f.Has(cpuid.LevelAVX512 | cpuid.AVX512BF16):
		want = "pairs"
	case f.Has(cpuid.LevelAVX512):
		want = "avx512"
	case f.Has(cpuid.LevelAVX2):
		want = "avx2"
	}
	require.Equal(t, want, active.name)
	require.Equal(t, want == "pairs", active.pairs != nil)
}

func FuzzMul(f *testing.F) {
	f.Add(uint16(14), uint16(32), uint16(4), uint64(1))
	f.Add(uint16(15), uint16(33), uint16(801), uint64(2))
	pool := par.New(2)
	f.Fuzz(func(t *testing.T, m, n, k uint16, seed uint64) {
		eachLevel(t, func(t *testing.T, h *kind) {
			rng := rand.New(rand.NewPCG(seed, 4))
			g := h.product(t, rng, 1+int(m%100), 1+int(n%300), 1+int(k%1000), gemmtest.Layouts[rng.IntN(len(gemmtest.Layouts))], gemmtest.Layouts[rng.IntN(len(gemmtest.Layouts))])
			h.check(t, pool, g, "fuzzed")
		})
	})
}
