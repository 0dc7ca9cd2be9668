package quantized

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// eachKernel calls f while each kernel for bytes that this processor can run
// is active.
func eachKernel(t *testing.T, f func(t *testing.T)) {
	best := active
	defer func() { active = best }()
	for _, c := range kernels() {
		if c.usable {
			active = c.kernel
			t.Run(c.kernel.Name, f)
		}
	}
}

// valueOf returns element (i, j) of m minus its zero point, which is by row
// or by column.
func valueOf(m *Mat, i, j int, byRow bool) int32 {
	b := m.Data[i*m.RowStride+j*m.ColStride]
	v := int32(b)
	if m.Signed {
		v = int32(int8(b))
	}
	at := j
	if byRow {
		at = i
	}
	switch len(m.Zero) {
	case 0:
		return v
	case 1:
		return v - m.Zero[0]
	}
	return v - m.Zero[at]
}

func check(t *testing.T, pool *par.Pool, g *Args, name string) {
	t.Helper()
	want := make([]int32, len(g.C))
	for i := range want {
		want[i], g.C[i] = 77, 77
	}
	for i := range g.M {
		for j := range g.N {
			var sum int32
			for p := range g.K {
				sum += valueOf(&g.A, i, p, true) * valueOf(&g.B, p, j, false)
			}
			want[i*g.LDC+j] = sum
		}
	}
	Mul(pool, g)
	require.Equal(t, want, g.C, name)
	for bits := 1; bits < 4 && g.K > 0; bits++ {
		packed := *g
		if bits&1 != 0 {
			packed.PackedA, packed.A = PackA(pool, g.M, g.K, g.A), Mat{}
		}
		if bits&2 != 0 {
			packed.PackedB, packed.B = PackB(pool, g.K, g.N, g.B), Mat{}
		}
		for range 2 { // the second product reuses the workspace of the first
			for i := range g.M {
				clear(g.C[i*g.LDC:][:g.N])
			}
			Mul(pool, &packed)
			require.Equal(t, want, g.C, "%s, packed %d", name, bits)
		}
	}
}

// operand returns a matrix in one of four layouts, which ends where memory begins
// that must not be accessed. Its bytes are random, or only extremes.
func operand(t *testing.T, rng *rand.Rand, rows, cols int, byRow bool) Mat {
	m := Mat{Signed: rng.IntN(2) == 0}
	switch rng.IntN(5) {
	case 0, 1:
		m.RowStride, m.ColStride = cols, 1
	case 2:
		m.RowStride, m.ColStride = 1, rows
	case 3:
		m.RowStride, m.ColStride = 2*cols+3, 2
	case 4:
		m.RowStride, m.ColStride = 0, 1
	}
	data := make([]byte, max(0, (rows-1)*m.RowStride+(cols-1)*m.ColStride+1))
	extreme := rng.IntN(3)
	for i := range data {
		switch v := byte(rng.Uint32()); extreme {
		case 0:
			data[i] = v
		case 1: // -128, 127; 128, 127
			data[i] = 127 + v%2
		default: // -1, -128; 255, 128
			data[i] = 128 + v%2*127
		}
	}
	m.Data = gemmtest.Fence(t, data)
	n := []int{0, 1, rows}[rng.IntN(3)]
	if !byRow && n == rows {
		n = cols
	}
	low := 0
	if m.Signed {
		low = -128
	}
	for range n {
		m.Zero = append(m.Zero, int32(low+[]int{0, 255, 128, rng.IntN(256)}[rng.IntN(4)]))
	}
	return m
}

func TestMul(t *testing.T) {
	eachKernel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		for _, threads := range []int{1, 2} {
			pool := par.New(threads)
			defer pool.Close()
			sizes := [][3]int{{1, 1, 1}, {1, 33, 7}, {33, 1, 9}, {14, 32, 4}, {15, 31, 5}, {13, 48, 3}, {29, 65, 1537}, {7, 300, 1600}, {130, 17, 40}, {2, 5, 0}, {61, 63, 67}, {16, 4100, 6}, {1030, 40, 20}, {40, 700, 3100}}
			for i := range 150 {
				s := [3]int{1 + rng.IntN(40), 1 + rng.IntN(80), 1 + rng.IntN(70)}
				if i < len(sizes) {
					s = sizes[i]
				}
				m, n, k := s[0], s[1], s[2]
				ldc := n + rng.IntN(3)
				g := &Args{M: m, N: n, K: k, LDC: ldc, C: gemmtest.Fence(t, make([]int32, (m-1)*ldc+n))}
				g.A, g.B = operand(t, rng, m, k, true), operand(t, rng, k, n, false)
				check(t, pool, g, fmt.Sprintf("%v %d threads", s, threads))
			}
		}
	})
}

// TestExtremes sums products of the greatest magnitude, for which saturating
// instructions would overflow.
func TestExtremes(t *testing.T) {
	pool := par.New(1)
	eachKernel(t, func(t *testing.T) {
		for bits := range 16 {
			g := &Args{M: 5, N: 35, K: 4099, LDC: 35, C: make([]int32, 5*35)}
			fill := func(m *Mat, rows, cols int, signed, low bool) {
				*m = Mat{Data: make([]byte, rows*cols), Signed: signed, RowStride: cols, ColStride: 1}
				for i := range m.Data {
					m.Data[i] = map[bool]byte{true: 255, false: 128}[low != signed]
				}
			}
			fill(&g.A, 5, g.K, bits&1 != 0, bits&2 != 0)
			fill(&g.B, g.K, 35, bits&4 != 0, bits&8 != 0)
			check(t, pool, g, fmt.Sprint(bits))
		}
	})
}

// TestWrap computes a sum that does not fit 32 bits, and wraps.
func TestWrap(t *testing.T) {
	pool := par.New(1)
	eachKernel(t, func(t *testing.T) {
		k := 40000
		g := &Args{M: 1, N: 2, K: k, LDC: 2, C: make([]int32, 2)}
		g.A = Mat{Data: make([]byte, k), ColStride: 1}
		g.B = Mat{Data: make([]byte, 2*k), RowStride: 2, ColStride: 1}
		for i := range g.B.Data {
			g.A.Data[i/2], g.B.Data[i] = 255, 255
		}
		check(t, pool, g, "wraps")
		require.Equal(t, int32(40000*65025-1<<32), g.C[0])
	})
}

func TestLevels(t *testing.T) {
	switch f := cpuid.Active(); {
	case f.Has(cpuid.LevelAVX512 | cpuid.AVX512VNNI):
		require.Equal(t, "vnni", active.Name)
	case f.Has(cpuid.LevelAVX2):
		require.Equal(t, "avx2", active.Name)
	default:
		require.False(t, CanMul())
	}
}

func FuzzMul(f *testing.F) {
	f.Add(uint16(14), uint16(32), uint16(4), uint64(1))
	f.Add(uint16(15), uint16(33), uint16(1541), uint64(2))
	pool := par.New(2)
	f.Fuzz(func(t *testing.T, m, n, k uint16, seed uint64) {
		eachKernel(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			m, n, k := 1+int(m%100), 1+int(n%200), int(k%2000)
			g := &Args{M: m, N: n, K: k, LDC: n, C: gemmtest.Fence(t, make([]int32, m*n))}
			g.A, g.B = operand(t, rng, m, k, true), operand(t, rng, k, n, false)
			check(t, pool, g, "fuzzed")
		})
	})
}

// BenchmarkMul multiplies square matrices of bytes. BenchmarkGemm of package gemm does the same with float32.
func BenchmarkMul(b *testing.B) {
	best := active
	defer func() { active = best }()
	pool := par.New(1)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{64, 256, 1024} {
		for _, c := range kernels() {
			if !c.usable {
				continue
			}
			active = c.kernel
			for _, signs := range [][2]bool{{false, true}, {true, true}, {false, false}} {
				g := &Args{M: n, N: n, K: n, LDC: n, C: make([]int32, n*n)}
				for i, m := range []*Mat{&g.A, &g.B} {
					*m = Mat{Data: make([]byte, n*n), Signed: signs[i], RowStride: n, ColStride: 1}
					for p := range m.Data {
						m.Data[p] = byte(rng.Uint32())
					}
				}
				b.Run(fmt.Sprintf("%s/%d/signed=%v", c.kernel.Name, n, signs), func(b *testing.B) {
					for b.Loop() {
						Mul(pool, g)
					}
					gemmtest.Rate(b, 2*n*n*n)
				})
			}
		}
	}
}
