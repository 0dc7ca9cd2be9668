package ref_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// mat is a matrix in row-major order.
type mat struct {
	m, n int
	v    []float64
}

func newMat(m, n int) mat                { return mat{m, n, make([]float64, m*n)} }
func (a mat) at(i, j int) float64        { return a.v[i*a.n+j] }
func (a mat) set(i, j int, v float64)    { a.v[i*a.n+j] = v }
func (a mat) tensor() ref.Tensor         { return tensor(dtype.F64, []int{a.m, a.n}, a.v...) }
func matOf(x ref.Tensor, m, n int) mat   { return mat{m, n, x.F} }
func identity(n int) mat                 { return diagonal(slices.Repeat([]float64{1}, n)) }
func (a mat) near(b mat, t float64) bool { return a.minus(b).largest() <= t }

func diagonal(v []float64) mat {
	d := newMat(len(v), len(v))
	for i, x := range v {
		d.set(i, i, x)
	}
	return d
}

func (a mat) transposed() mat {
	out := newMat(a.n, a.m)
	for i := range a.m {
		for j := range a.n {
			out.set(j, i, a.at(i, j))
		}
	}
	return out
}

func (a mat) times(b mat) mat {
	out := newMat(a.m, b.n)
	for i := range a.m {
		for j := range b.n {
			for k := range a.n {
				out.v[i*b.n+j] += a.at(i, k) * b.at(k, j)
			}
		}
	}
	return out
}

func (a mat) minus(b mat) mat {
	out := newMat(a.m, a.n)
	for i := range out.v {
		out.v[i] = a.v[i] - b.v[i]
	}
	return out
}

// largest returns the greatest magnitude of an element.
func (a mat) largest() float64 {
	most := 0.0
	for _, v := range a.v {
		most = max(most, math.Abs(v))
	}
	return most
}

func drawMat(r *rand.Rand, m, n int) mat {
	a := newMat(m, n)
	for i := range a.v {
		a.v[i] = 2*r.Float64() - 1
	}
	return a
}

// hilbert returns the matrix 1/(i+j+1), whose condition number grows like e^(3.5n).
func hilbert(m, n int) mat {
	a := newMat(m, n)
	for i := range m {
		for j := range n {
			a.set(i, j, 1/float64(i+j+1))
		}
	}
	return a
}

// matrices returns, by name, matrices on which faulty factorisations fail: of every shape, of less than full rank, with equal singular
// values, badly conditioned, very large and very small.
func matrices() map[string]mat {
	r := rand.New(rand.NewPCG(31, 32))
	all := map[string]mat{"zero": newMat(3, 2), "zero row": newMat(1, 4), "identity": identity(4), "hilbert": hilbert(6, 6), "wide hilbert": hilbert(3, 7)}
	for _, s := range [][2]int{{1, 1}, {1, 5}, {5, 1}, {2, 2}, {4, 4}, {7, 3}, {3, 7}, {6, 5}} {
		all[fmt.Sprintf("random %dx%d", s[0], s[1])] = drawMat(r, s[0], s[1])
	}
	all["rank 1"] = drawMat(r, 5, 1).times(drawMat(r, 1, 4))
	all["rank 2"] = drawMat(r, 4, 2).times(drawMat(r, 2, 6))
	all["equal columns"] = mat{3, 3, []float64{1, 1, 2, 2, 2, 3, -1, -1, 5}}
	all["reflection"] = mat{2, 2, []float64{0, 1, 1, 0}}
	all["nilpotent"] = mat{3, 3, []float64{0, 1, 0, 0, 0, 1, 0, 0, 0}}
	all["repeated values"] = diagonal([]float64{2, -2, 2, 0})
	all["negative"] = mat{1, 1, []float64{-3}}
	tall := drawMat(r, 4, 2)
	for _, scale := range []float64{1e200, 1e-200} {
		big := newMat(4, 2)
		for i, v := range tall.v {
			big.v[i] = v * scale
		}
		all[fmt.Sprintf("random times %g", scale)] = big
	}
	return all
}

// Singular values are not negative and descend, both sides are orthonormal, and the product is the matrix.
func TestSVDIdentities(t *testing.T) {
	for name, a := range matrices() {
		t.Run(name, func(t *testing.T) {
			out, err := eval(t, op.SVD, []ref.Tensor{a.tensor()})
			require.NoError(t, err)
			k := min(a.m, a.n)
			u, s, vt := matOf(out[0], a.m, k), out[1].F, matOf(out[2], k, a.n)
			require.Len(t, s, k)
			require.True(t, slices.IsSortedFunc(s, func(x, y float64) int { return int(math.Copysign(1, y-x)) }) || k == 1, "%v descends", s)
			require.GreaterOrEqual(t, slices.Min(s), 0.0)
			require.True(t, u.transposed().times(u).near(identity(k), 1e-12), "columns of u")
			require.True(t, vt.times(vt.transposed()).near(identity(k), 1e-12), "rows of vt")
			require.True(t, u.times(diagonal(s)).times(vt).near(a, 1e-13*max(1e-300, 8*a.largest())), "the product of %v", s)
			for j := range k { // the sign of each column of u is fixed by its largest element
				most, at := 0.0, 0
				for i := range a.m {
					if math.Abs(u.at(i, j)) > most*(1+1e-9) {
						most, at = math.Abs(u.at(i, j)), i
					}
				}
				require.Positive(t, u.at(at, j))
			}
		})
	}
}

// The Moore-Penrose inverse is the only matrix with Penrose's four properties.
func TestPseudoinverseIdentities(t *testing.T) {
	for name, a := range matrices() {
		t.Run(name, func(t *testing.T) {
			p := matOf(evaluated(t, op.PInv, []ref.Tensor{a.tensor()}), a.n, a.m)
			scale := a.largest()
			tolerance := 1e-10
			if name == "hilbert" {
				tolerance = 1e-6
			}
			ap, pa := a.times(p), p.times(a)
			require.True(t, ap.times(a).near(a, tolerance*max(scale, 1e-300)), "a·p·a = a")
			require.True(t, pa.times(p).near(p, tolerance*max(p.largest(), 1e-300)), "p·a·p = p")
			require.True(t, ap.near(ap.transposed(), tolerance), "a·p is symmetric")
			require.True(t, pa.near(pa.transposed(), tolerance), "p·a is symmetric")
		})
	}
}

// QR of every matrix: orthonormal q, upper triangular r without a negative on the diagonal, reduced and complete.
func TestQRIdentities(t *testing.T) {
	for name, a := range matrices() {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprint(name, complete), func(t *testing.T) {
				out, err := eval(t, op.QR, []ref.Tensor{a.tensor()}, op.Flag("complete", complete))
				require.NoError(t, err)
				k := min(a.m, a.n)
				if complete {
					k = a.m
				}
				q, r := matOf(out[0], a.m, k), matOf(out[1], k, a.n)
				require.True(t, q.transposed().times(q).near(identity(k), 1e-13), "columns of q")
				require.True(t, q.times(r).near(a, 1e-14*max(1e-300, 8*a.largest())), "q·r")
				for i := range k {
					for j := range min(i, a.n) {
						require.Zero(t, r.at(i, j))
					}
					if i < a.n {
						require.GreaterOrEqual(t, r.at(i, i), 0.0)
					}
				}
			})
		}
	}
}

// symmetricOf returns the symmetric part (a+aᵀ)/2 of a square matrix.
func symmetricOf(a mat) mat {
	s := newMat(a.m, a.m)
	for i := range a.m {
		for j := range a.m {
			s.set(i, j, (a.at(i, j)+a.at(j, i))/2)
		}
	}
	return s
}

// Eigenvalues of a symmetric matrix ascend, their sum is its trace, and their squares sum to the squares of its elements. The vectors
// are orthonormal.
func TestEighIdentities(t *testing.T) {
	for name, a := range matrices() {
		if a.m != a.n {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := symmetricOf(a)
			lower := newMat(a.m, a.m) // the upper triangle is not read
			for i := range a.m {
				for j := range a.m {
					if lower.set(i, j, s.at(i, j)); j > i {
						lower.set(i, j, math.NaN())
					}
				}
			}
			out, err := eval(t, op.Eigh, []ref.Tensor{lower.tensor()})
			require.NoError(t, err)
			values, v := out[0].F, matOf(out[1], a.m, a.m)
			require.True(t, slices.IsSorted(values), "%v", values)
			require.True(t, v.transposed().times(v).near(identity(a.m), 1e-13))
			require.True(t, s.times(v).near(v.times(diagonal(values)), 1e-13*max(1, s.largest())), "s·v = v·λ")
			trace, squares, sum, sums := 0.0, 0.0, 0.0, 0.0
			for i, l := range values {
				trace, sum, sums = trace+s.at(i, i), sum+l, sums+l*l
			}
			for _, e := range s.v {
				squares += e * e
			}
			require.InDelta(t, trace, sum, 1e-12)
			require.InDelta(t, squares, sums, 1e-12)
		})
	}
}

// The eigenvalues of the second difference of n points are 2-2cos(kπ/(n+1)).
func TestEighOfDifferences(t *testing.T) {
	for n := 1; n <= 9; n++ {
		a := newMat(n, n)
		for i := range n {
			a.set(i, i, 2)
			if i > 0 {
				a.set(i, i-1, -1)
				a.set(i-1, i, -1)
			}
		}
		got := evaluated(t, op.Eigh, []ref.Tensor{a.tensor()})
		for k, v := range got.F {
			require.InDelta(t, 2-2*math.Cos(float64(k+1)*math.Pi/float64(n+1)), v, 1e-13, "value %d of %d", k, n)
		}
		det := evaluated(t, op.Det, []ref.Tensor{a.tensor()})
		require.InDelta(t, float64(n+1), det.F[0], 1e-12, "the determinant is n+1")
		root := matOf(evaluated(t, op.Cholesky, []ref.Tensor{a.tensor()}), n, n)
		require.True(t, root.times(root.transposed()).near(a, 1e-14))
		for i := range n { // by the recurrence of the pivots, (i+2)/(i+1)
			require.InDelta(t, math.Sqrt(float64(i+2)/float64(i+1)), root.at(i, i), 1e-14)
		}
	}
}

// A least squares solution has a residual that is normal to all columns, and of all solutions the least norm: it is in the row space.
func TestLeastSquaresIdentities(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for name, a := range matrices() {
		if name == "hilbert" {
			continue // its condition number is too large for these tolerances
		}
		t.Run(name, func(t *testing.T) {
			b := drawMat(r, a.m, 2)
			x := matOf(evaluated(t, op.LstSq, []ref.Tensor{a.tensor(), b.tensor()}), a.n, 2)
			scale := max(a.largest(), 1e-300)
			residual := a.times(x).minus(b)
			require.True(t, a.transposed().times(residual).near(newMat(a.n, 2), 1e-9*scale), "aᵀ(a·x-b) = 0")
			p := matOf(evaluated(t, op.PInv, []ref.Tensor{a.tensor()}), a.n, a.m)
			require.True(t, p.times(a).times(x).near(x, 1e-9*max(1e-300, x.largest())), "x is in the row space")
		})
	}
}

// Singular values at or below rcond times the greatest one count as zero.
func TestPseudoinverseCutsOff(t *testing.T) {
	a := diagonal([]float64{4, 1, 0.25})
	for _, c := range []struct {
		rcond float64
		want  []float64
	}{{0, []float64{0.25, 1, 4}}, {0.05, []float64{0.25, 1, 4}}, {0.1, []float64{0.25, 1, 0}}, {0.3, []float64{0.25, 0, 0}}} {
		got := matOf(evaluated(t, op.PInv, []ref.Tensor{a.tensor()}, op.Float("rcond", c.rcond)), 3, 3)
		require.True(t, got.near(diagonal(c.want), 1e-14), "%v: %v", c.rcond, got.v)
	}
}

// Solve returns the solutions from which the right sides of random systems were made. Inverse, MatrixPower, Det, SlogDet and SVD agree
// with it, with each other and with products of the matrix.
func TestSolutionsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	for n := 1; n <= 7; n++ {
		a, x := drawMat(r, n, n), drawMat(r, n, 3)
		for i := range n {
			a.v[i*n+(i+1)%n] += 3 // dominant, but not on the diagonal: pivots are needed
		}
		b := a.times(x)
		got := matOf(evaluated(t, op.Solve, []ref.Tensor{a.tensor(), b.tensor()}), n, 3)
		require.True(t, got.near(x, 1e-12))
		inverse := matOf(evaluated(t, op.Inverse, []ref.Tensor{a.tensor()}), n, n)
		require.True(t, inverse.times(a).near(identity(n), 1e-13))
		power := matOf(evaluated(t, op.MatrixPower, []ref.Tensor{a.tensor()}, op.Int("n", -2)), n, n)
		require.True(t, power.near(inverse.times(inverse), 1e-12))
		cubed := matOf(evaluated(t, op.MatrixPower, []ref.Tensor{a.tensor()}, op.Int("n", 3)), n, n)
		require.True(t, cubed.near(a.times(a).times(a), 1e-12*max(1, cubed.largest())))
		none := matOf(evaluated(t, op.MatrixPower, []ref.Tensor{a.tensor()}, op.Int("n", 0)), n, n)
		require.True(t, none.near(identity(n), 0))
		det, split := evaluated(t, op.Det, []ref.Tensor{a.tensor()}).F[0], [2]float64{}
		signs, err := eval(t, op.SlogDet, []ref.Tensor{a.tensor()})
		require.NoError(t, err)
		split[0], split[1] = signs[0].F[0], signs[1].F[0]
		require.InEpsilon(t, det, split[0]*math.Exp(split[1]), 1e-12)
		values := evaluatedAt(t, 1, op.SVD, a.tensor()).F
		product := 1.0
		for _, v := range values {
			product *= v
		}
		require.InEpsilon(t, math.Abs(det), product, 1e-11, "the product of the singular values")
	}
}

// evaluatedAt returns result k of a node without attributes.
func evaluatedAt(t *testing.T, k int, c op.Code, in ...ref.Tensor) ref.Tensor {
	t.Helper()
	out, err := eval(t, c, in)
	require.NoError(t, err)
	return out[k]
}

// TriangularSolve solves each of the eight kinds of triangular systems, with NaN in all elements that it must not read.
func TestTriangularSolveReadsOneTriangle(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 38))
	for _, upper := range []bool{false, true} {
		for _, transpose := range []bool{false, true} {
			for _, unit := range []bool{false, true} {
				n := 4
				full, given := newMat(n, n), newMat(n, n)
				for i := range n {
					for j := range n {
						v := r.Float64() + 0.5
						switch {
						case i == j && unit:
							full.set(i, j, 1)
							given.set(i, j, math.NaN())
						case i == j || upper == (j > i):
							full.set(i, j, v)
							given.set(i, j, v)
						default:
							given.set(i, j, math.NaN())
						}
					}
				}
				x := drawMat(r, n, 2)
				b := full.times(x)
				if transpose {
					b = full.transposed().times(x)
				}
				got := evaluated(t, op.TriangularSolve, []ref.Tensor{given.tensor(), b.tensor()}, op.Flag("upper", upper), op.Flag("transpose", transpose), op.Flag("unit", unit))
				require.True(t, matOf(got, n, 2).near(x, 1e-11), "upper %v, transpose %v, unit %v: %v, want %v", upper, transpose, unit, got.F, x.v)
			}
		}
	}
}

// Norms of matrices follow their definitions. Those of singular values are computed from the singular values of the reference.
func TestMatrixNormsByDefinition(t *testing.T) {
	for name, a := range matrices() {
		if strings.HasPrefix(name, "random times") {
			continue // the sum of squares overflows or underflows
		}
		values := evaluatedAt(t, 1, op.SVD, a.tensor()).F
		columns, rows := make([]float64, a.n), make([]float64, a.m)
		squares, sum := 0.0, 0.0
		scale := max(a.largest(), 1e-300)
		for i := range a.m {
			for j := range a.n {
				columns[j] += math.Abs(a.at(i, j))
				rows[i] += math.Abs(a.at(i, j))
				squares += a.at(i, j) / scale * (a.at(i, j) / scale)
			}
		}
		for _, v := range values {
			sum += v
		}
		for ord, want := range map[string]float64{"fro": scale * math.Sqrt(squares), "nuc": sum, "2": slices.Max(values), "-2": slices.Min(values), "1": slices.Max(columns),
			"-1": slices.Min(columns), "inf": slices.Max(rows), "-inf": slices.Min(rows)} {
			got := evaluated(t, op.MatrixNorm, []ref.Tensor{a.tensor()}, op.Str("ord", ord)).F[0]
			require.InDelta(t, want, got, 1e-13*max(1e-300, 4*scale), "%s of %s", ord, name)
		}
	}
}
