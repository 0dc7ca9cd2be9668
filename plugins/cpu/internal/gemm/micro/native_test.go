package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/plugins/cpu/internal/cpuid"
	"github.com/goburn/burn/plugins/cpu/internal/gemm/gemmtest"
)

// TestEveryLevel runs the tests of this package again, in a new process for each
// lower level of instruction sets.
func TestEveryLevel(t *testing.T) {
	if os.Getenv(cpuid.Env) != "" {
		t.Skip("BURN_CPU is set: this test sets every level itself")
	}
	if testing.Short() {
		t.Skip("-short is set: this test runs the others again, once a level")
	}
	for _, level := range []string{"portable", "avx2"} {
		t.Run(level, func(t *testing.T) {
			want, err := cpuid.Restrict(cpuid.Detected(), level)
			require.NoError(t, err)
			if want.Level() != level || level == cpuid.Active().Level() {
				t.Skip("the processor has no such level, or the other tests ran on it")
			}
			again := exec.Command(os.Args[0], "-test.run=./^[^iu]", fmt.Sprintf("-test.short=%t", !long.Tests())) // integers have one kernel
			again.Env = append(os.Environ(), cpuid.Env+"="+level)
			out, err := again.CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
}

// natives calls f for each kernel in assembly that this processor can run.
func natives[T Float](t *testing.T, from []candidate[T], f func(t *testing.T, kern *Kernel[T], rng *rand.Rand)) {
	for _, c := range from {
		if c.kernel.Tile == nil || !c.usable() {
			continue
		}
		t.Run(fmt.Sprintf("%s/%T", c.kernel.Name, T(0)), func(t *testing.T) {
			f(t, c.kernel, rand.New(rand.NewPCG(21, 22)))
		})
	}
}

func TestTile(t *testing.T) {
	natives(t, kernels32, checkTile[float32])
	natives(t, kernels64, checkTile[float64])
}

func checkTile[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	for rows := 1; rows <= kern.MR; rows++ {
		for cols := 1; cols <= kern.NR; cols++ {
			for _, k := range []int{1, 3, 4, 9} {
				ldc := cols + rng.IntN(3)
				aRow, aCol := 1+rng.IntN(3), rows*3
				if rows%2 == 0 {
					aRow, aCol = k+2, 1
				}
				bRow := cols + rng.IntN(4)
				g := &gemmtest.Product[T]{M: rows, N: cols, K: k, LDC: ldc, C: gemmtest.Random[T](rng, (rows-1)*ldc+cols+5), Accumulate: rng.IntN(2) == 0,
					A: gemmtest.View[T]{Data: gemmtest.Random[T](rng, (rows-1)*aRow+(k-1)*aCol+1), Row: aRow, Col: aCol},
					B: gemmtest.View[T]{Data: gemmtest.Random[T](rng, (k-1)*bRow+cols), Row: bRow, Col: 1}}
				want := g.Want()
				kern.Tile(rows, cols, k, g.A.Data, aRow, aCol, g.B.Data, bRow, g.C, ldc, g.Accumulate, nil, 0, 0)
				gemmtest.Equal(t, want, g.C, k, fmt.Sprintf("%dx%dx%d", rows, cols, k))
			}
		}
	}
	// Slices that are too short cause a panic.
	short := make([]T, kern.NR-1)
	require.Panics(t, func() { kern.Tile(1, kern.NR, 1, short, 1, 1, short, 1, make([]T, kern.NR), 1, false, nil, 0, 0) })
	require.Panics(t, func() { kern.Tile(1, kern.NR, 1, short, 1, 1, make([]T, kern.NR), 1, short, 1, false, nil, 0, 0) })
	require.Panics(t, func() { kern.Tile(2, 1, 1, short[:1], 1, 1, short, 1, make([]T, 9), 1, false, nil, 0, 0) })
}

func TestFinish(t *testing.T) {
	natives(t, kernels32, checkFinish[float32])
	natives(t, kernels64, checkFinish[float64])
}

func checkFinish[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	zero, inf := T(0), T(math.Inf(1))
	odd := []T{zero, T(math.Copysign(0, -1)), inf, -inf, T(math.NaN()), T(math.SmallestNonzeroFloat32)}
	for cols := 1; cols < 3*kern.NR; cols++ {
		for way := range 8 {
			rows, ldc, i, j := 1+cols%3, cols+way%2, 2, 3
			e := &Epilogue[T]{}
			if way&1 != 0 {
				e.BiasRow = gemmtest.Random[T](rng, i+rows)
			}
			if way&2 != 0 {
				e.BiasCol = gemmtest.Random[T](rng, j+cols)
			}
			if way&4 != 0 {
				e.HasClamp, e.Lo, e.Hi = true, -T(cols%2)/2, T(0.5)
			}
			c := gemmtest.Random[T](rng, rows*ldc+2)
			for x := range c {
				if rng.IntN(4) == 0 {
					c[x] = odd[rng.IntN(len(odd))]
				}
			}
			want := append([]T(nil), c...)
			for y := range rows {
				for x := range cols {
					v := &want[y*ldc+x]
					if e.BiasRow != nil {
						*v += e.BiasRow[i+y]
					}
					if e.BiasCol != nil {
						*v += e.BiasCol[j+x]
					}
					if e.HasClamp && *v < e.Lo {
						*v = e.Lo
					}
					if e.HasClamp && *v > e.Hi {
						*v = e.Hi
					}
				}
			}
			kern.ApplyEpilogue(rows, cols, c, ldc, e, i, j)
			for x := range want {
				same := want[x] == c[x] && math.Signbit(float64(want[x])) == math.Signbit(float64(c[x]))
				require.True(t, same || want[x] != want[x] && c[x] != c[x], "way %d cols %d: element %d, got %v, want %v", way, cols, x, c[x], want[x])
			}
		}
	}
	require.Panics(t, func() { kern.ApplyEpilogue(1, 4, make([]T, 4), 4, &Epilogue[T]{BiasRow: make([]T, 1)}, 1, 0) })
	require.Panics(t, func() { kern.ApplyEpilogue(1, 4, make([]T, 4), 4, &Epilogue[T]{BiasCol: make([]T, 4)}, 0, 1) })
	require.Panics(t, func() { kern.ApplyEpilogue(2, 4, make([]T, 7), 4, &Epilogue[T]{}, 0, 0) })
}

func TestVectors(t *testing.T) {
	natives(t, kernels32, checkVectors[float32])
	natives(t, kernels64, checkVectors[float64])
}

func checkVectors[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	for n := 1; n < 3*kern.NR; n++ {
		for _, rows := range []int{1, 3, 4, 9} {
			stride := n + rng.IntN(3)
			m := gemmtest.Random[T](rng, (rows-1)*stride+n)
			g := &gemmtest.Product[T]{M: rows, N: 1, K: n, LDC: 1, C: gemmtest.Random[T](rng, rows+2)}
			x := gemmtest.Random[T](rng, n)
			g.A, g.B = gemmtest.View[T]{Data: m, Row: stride, Col: 1}, gemmtest.View[T]{Data: x, Row: 1, Col: 1}
			want := g.Want()
			kern.Dot(x, m, stride, g.C[:rows])
			gemmtest.Equal(t, want, g.C, n, fmt.Sprintf("dot %d rows %d", n, rows))
			for i := range rows {
				var alone [1]T
				kern.Dot(x, m[i*stride:], 0, alone[:])
				require.Equal(t, alone[0], g.C[i], "row %d of %d", i, rows)
			}
			y := &gemmtest.Product[T]{M: 1, N: n, K: rows, LDC: n, C: gemmtest.Random[T](rng, n+2), Accumulate: true}
			x = gemmtest.Random[T](rng, rows)
			y.A, y.B = gemmtest.View[T]{Data: x, Row: rows, Col: 1}, gemmtest.View[T]{Data: m, Row: stride, Col: 1}
			want = y.Want()
			kern.Axpy(y.C[:n], x, m, stride)
			gemmtest.Equal(t, want, y.C, rows, fmt.Sprintf("axpy %d rows %d", n, rows))
		}
	}
	require.Panics(t, func() { kern.Dot(make([]T, 4), make([]T, 7), 4, make([]T, 2)) })
	require.Panics(t, func() { kern.Axpy(make([]T, 4), make([]T, 2), make([]T, 7), 4) })
}

func TestPanels(t *testing.T) {
	natives(t, kernels32, checkPanel[float32])
	natives(t, kernels64, checkPanel[float64])
}

// checkPanel packs every number of lines and compares each element. Missing
// lines and the memory behind the panel must stay unchanged.
func checkPanel[T Float](t *testing.T, kern *Kernel[T], rng *rand.Rand) {
	for _, width := range []int{kern.MR, kern.NR} {
		for lines := 1; lines <= width; lines++ {
			for _, depth := range []int{1, 2, 5, 8, 16, 19, 35} {
				for _, across := range []bool{false, true} {
					stride := max(lines, depth) + rng.IntN(3)
					size := (lines-1)*stride + depth
					if across {
						size = (depth-1)*stride + lines
					}
					src, dst := gemmtest.Random[T](rng, size), gemmtest.Random[T](rng, depth*width+3)
					want := append([]T(nil), dst...)
					for l := range lines {
						for p := range depth {
							from := l*stride + p
							if across {
								from = p*stride + l
							}
							want[p*width+l] = src[from]
						}
					}
					if across {
						kern.Strip(dst, src, lines, stride, depth, width)
					} else {
						kern.Transpose(dst, src, lines, stride, depth, width)
					}
					require.Equal(t, want, dst, "width %d lines %d depth %d across %v", width, lines, depth, across)
				}
			}
		}
	}
}
