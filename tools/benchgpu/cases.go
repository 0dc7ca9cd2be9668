package main

import (
	"math"
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// opCase is a program of one or a few ops on inputs of given types and shapes. peer.py has the same case under the same kind.
type opCase struct {
	name, kind string
	in         []op.Desc
	build      func(b *op.Builder, in []op.Desc) op.Desc
	// want returns the expected element i of the result, in float64, for inputs as the device stores them.
	want      func(in [][]float32, i int) float64
	tolerance float64 // greatest permitted error of a result, relative to the greater of the result and scale
	scale     float64
	flops     int64
	bytes     int64  // least number of bytes read and written
	tf32      bool   // whether the case needs the option that allows TF32
	target    millis // target time; 0 for none
	eager     millis // time of PyTorch 2.11 in eager mode on an H200, as in the table of targets; 0 if not measured
	compiled  millis // the same time with torch.compile
}

// millis is a time in milliseconds.
type millis = float64

func desc(t dtype.DType, dims ...int) op.Desc { return op.Desc{DType: t, Shape: dims} }

// sizes holds the sizes of the cases: the full ones, or small ones to try the command.
type sizes struct{ square, rows, columns, elements, batch, heads, length, side, chain int }

var (
	full  = sizes{square: 4096, rows: 16384, columns: 4096, elements: 64 << 20, batch: 8, heads: 16, length: 2048, side: 8192, chain: 200}
	small = sizes{square: 128, rows: 64, columns: 256, elements: 1 << 16, batch: 2, heads: 2, length: 64, side: 128, chain: 20}
)

// cases returns all cases. They have targets only at the full sizes.
func cases(z sizes) []opCase {
	list := []opCase{
		product("matmul_f32", dtype.F32, z.square, 1e-4), product("matmul_tf32", dtype.F32, z.square, 1e-2), product("matmul_bf16", dtype.BF16, z.square, 1e-2),
		product("matmul_f16", dtype.F16, z.square, 2e-3),
		row("softmax", z, dtype.F32, 1e-4, softmax), row("layer_norm", z, dtype.F32, 1e-3, layerNorm),
		row("softmax_bf16", z, dtype.BF16, 1e-2, softmax), row("layer_norm_bf16", z, dtype.BF16, 1e-2, layerNorm),
		chain(z), total(z), attend("attention", z, 64), attend("attention_d128", z, 128),
		transposed(z), columnSum(z), running(z), sorted(z), gathered(z), small200(z),
		product("matmul_f32_2048", dtype.F32, z.square/2, 1e-4), negated(z), added(z), rowSum(z), rowMax(z), dispatched(z),
	}
	list[1].tf32 = true
	if z == full {
		for i := range list {
			known(&list[i])
		}
	}
	return list
}

// known sets the target and the measured times of PyTorch of a case at the full sizes.
func known(c *opCase) {
	tera := func(t float64) millis { return float64(c.flops) / t / 1e9 }
	switch c.name {
	case "matmul_f32":
		c.target, c.eager = tera(50), tera(50.9)
	case "matmul_tf32":
		c.target, c.eager = tera(380), tera(391)
	case "matmul_bf16":
		c.target, c.eager = tera(740), tera(756)
	case "softmax":
		c.target, c.eager, c.compiled = 0.160, 0.215, 0.165
	case "layer_norm":
		c.target, c.eager, c.compiled = 0.150, 0.188, 0.153
	case "gelu_chain":
		c.target, c.eager, c.compiled = 0.185, 1.154, 0.190
	case "sum":
		c.target, c.eager = 0.073, 0.073
	case "attention":
		c.target, c.eager = 0.20, 0.196
	}
}

func product(name string, t dtype.DType, n int, tolerance float64) opCase {
	return opCase{name: name, kind: "matmul", in: []op.Desc{desc(t, n, n), desc(t, n, n)}, tolerance: tolerance, scale: math.Sqrt(float64(n)) / 3,
		flops: 2 * int64(n) * int64(n) * int64(n), bytes: 3 * int64(n) * int64(n) * int64(t.Size()),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Do(op.MatMul, in...) },
		want: func(in [][]float32, i int) (sum float64) {
			for k := range n {
				sum += float64(in[0][i/n*n+k]) * float64(in[1][k*n+i%n])
			}
			return sum
		}}
}

// rowRule is an op on rows: its program, and the function that computes its expected result for a row.
type rowRule struct {
	kind  string
	build func(b *op.Builder, x op.Desc) op.Desc
	want  func(row []float32, i int) float64
	scale func(columns int) float64 // magnitude of the results
}

var softmax = rowRule{"softmax", func(b *op.Builder, x op.Desc) op.Desc { return b.Un(op.Softmax, x, op.Int("axis", 1)) },
	func(row []float32, i int) float64 {
		sum := 0.
		for _, v := range row {
			sum += math.Exp(float64(v))
		}
		return math.Exp(float64(row[i])) / sum
	}, func(columns int) float64 { return 1 / float64(columns) }}

var layerNorm = rowRule{"layer_norm", func(b *op.Builder, x op.Desc) op.Desc { return b.Un(op.LayerNorm, x, op.Int("axis", 1)) },
	func(row []float32, i int) float64 {
		n, mean, square := float64(len(row)), 0., 0.
		for _, v := range row {
			mean += float64(v) / n
		}
		for _, v := range row {
			square += (float64(v) - mean) * (float64(v) - mean) / n
		}
		return (float64(row[i]) - mean) / math.Sqrt(square+1e-5)
	}, func(int) float64 { return 1 }}

func row(name string, z sizes, t dtype.DType, tolerance float64, r rowRule) opCase {
	n := z.columns
	return opCase{name: name, kind: r.kind, in: []op.Desc{desc(t, z.rows, n)}, tolerance: tolerance, scale: r.scale(n), bytes: 2 * int64(z.rows) * int64(n) * int64(t.Size()),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return r.build(b, in[0]) },
		want:  func(in [][]float32, i int) float64 { return r.want(in[0][i/n*n:i/n*n+n], i%n) }}
}

// chain returns the case of the tanh form of gelu as nine elementwise ops.
func chain(z sizes) opCase {
	return opCase{name: "gelu_chain", kind: "gelu_chain", in: []op.Desc{desc(dtype.F32, z.elements)}, tolerance: 1e-5, scale: 1, bytes: 8 * int64(z.elements),
		build: func(b *op.Builder, in []op.Desc) op.Desc {
			x := in[0]
			y := b.Do(op.Mul, b.Do(op.Mul, b.Do(op.Mul, x, x), x), b.Like(x, 0.044715))
			y = b.Do(op.Tanh, b.Do(op.Mul, b.Do(op.Add, x, y), b.Like(x, 0.7978845608028654)))
			return b.Do(op.Mul, b.Do(op.Mul, x, b.Like(x, 0.5)), b.Do(op.Add, y, b.Like(x, 1)))
		},
		want: func(in [][]float32, i int) float64 {
			x := float64(in[0][i])
			return 0.5 * x * (1 + math.Tanh(0.7978845608028654*(x+0.044715*x*x*x)))
		}}
}

func total(z sizes) opCase {
	return opCase{name: "sum", kind: "sum", in: []op.Desc{desc(dtype.F32, z.elements)}, tolerance: 1e-4, scale: math.Sqrt(float64(z.elements)), bytes: 4 * int64(z.elements),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Un(op.Sum, in[0], op.Ints("axes", 0)) },
		want: func(in [][]float32, _ int) (sum float64) {
			for _, v := range in[0] {
				sum += float64(v)
			}
			return sum
		}}
}

// attend returns the case of causal attention in bf16, with heads of size d.
func attend(name string, z sizes, d int) opCase {
	x := desc(dtype.BF16, z.batch, z.heads, z.length, d)
	n := z.length
	return opCase{name: name, kind: "attention", in: []op.Desc{x, x, x}, tolerance: 2e-2, scale: 0.3,
		flops: 2 * int64(z.batch*z.heads) * int64(n) * int64(n) * int64(d), bytes: 4 * int64(x.Bytes()), // half of all scores
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.With(op.Attention, in, op.Flag("causal", true)) },
		want: func(in [][]float32, i int) float64 {
			at, query, e := i/(n*d)*(n*d), i/d%n, i%d
			sum, weights := 0., 0.
			for k := range query + 1 {
				score := 0.
				for j := range d {
					score += float64(in[0][at+query*d+j]) * float64(in[1][at+k*d+j])
				}
				w := math.Exp(score / math.Sqrt(float64(d)))
				weights, sum = weights+w, sum+w*float64(in[2][at+k*d+e])
			}
			return sum / weights
		}}
}

func transposed(z sizes) opCase {
	n := z.side
	return opCase{name: "transpose", kind: "transpose", in: []op.Desc{desc(dtype.F32, n, n)}, scale: 1, bytes: 8 * int64(n) * int64(n),
		build: func(b *op.Builder, in []op.Desc) op.Desc {
			return b.Do(op.Neg, b.Permute(in[0], 1, 0)) // a transposition alone may be a view
		},
		want: func(in [][]float32, i int) float64 { return -float64(in[0][i%n*n+i/n]) }}
}

func columnSum(z sizes) opCase {
	return opCase{name: "column_sum", kind: "column_sum", in: []op.Desc{desc(dtype.F32, z.rows, z.columns)}, tolerance: 1e-4, scale: math.Sqrt(float64(z.rows)),
		bytes: 4 * int64(z.rows) * int64(z.columns),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Un(op.Sum, in[0], op.Ints("axes", 0)) },
		want: func(in [][]float32, i int) (sum float64) {
			for r := range z.rows {
				sum += float64(in[0][r*z.columns+i])
			}
			return sum
		}}
}

// negated returns the case of a negation, which reads and writes as many bytes as a copy.
func negated(z sizes) opCase {
	return opCase{name: "negate", kind: "negate", in: []op.Desc{desc(dtype.F32, z.elements)}, scale: 1, bytes: 8 * int64(z.elements),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Do(op.Neg, in[0]) },
		want:  func(in [][]float32, i int) float64 { return -float64(in[0][i]) }}
}

func added(z sizes) opCase {
	x := desc(dtype.F32, z.elements)
	return opCase{name: "add", kind: "add", in: []op.Desc{x, x}, tolerance: 1e-6, scale: 1, bytes: 12 * int64(z.elements),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Do(op.Add, in...) },
		want:  func(in [][]float32, i int) float64 { return float64(in[0][i]) + float64(in[1][i]) }}
}

func rowSum(z sizes) opCase {
	n := z.columns
	return opCase{name: "row_sum", kind: "row_sum", in: []op.Desc{desc(dtype.F32, z.rows, n)}, tolerance: 1e-4, scale: math.Sqrt(float64(n)), bytes: 4 * int64(z.rows) * int64(n),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Un(op.Sum, in[0], op.Ints("axes", 1)) },
		want: func(in [][]float32, i int) (sum float64) {
			for _, v := range in[0][i*n : i*n+n] {
				sum += float64(v)
			}
			return sum
		}}
}

func rowMax(z sizes) opCase {
	n := z.columns
	return opCase{name: "row_max", kind: "row_max", in: []op.Desc{desc(dtype.F32, z.rows, n)}, scale: 1, bytes: 4 * int64(z.rows) * int64(n),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Un(op.ReduceMax, in[0], op.Ints("axes", 1)) },
		want:  func(in [][]float32, i int) float64 { return float64(slices.Max(in[0][i*n : i*n+n])) }}
}

// dispatched returns the case of a chain of dependent launches, 1,000 at the full size, no two of which can be fused. It measures
// the cost of a launch.
func dispatched(z sizes) opCase {
	const n = 8 // the computation of so few elements takes no measurable time
	return opCase{name: "dispatches", kind: "dispatches", in: []op.Desc{desc(dtype.F32, n, n)}, scale: 1,
		build: func(b *op.Builder, in []op.Desc) op.Desc {
			x := in[0]
			for i := range 5 * z.chain {
				x = b.Un(op.CumMax, x, op.Int("axis", i%2))
			}
			return x
		},
		want: func(in [][]float32, i int) float64 {
			most := in[0][0]
			for r := range i/n + 1 {
				most = max(most, slices.Max(in[0][r*n:r*n+i%n+1]))
			}
			return float64(most)
		}}
}

func running(z sizes) opCase {
	n := z.elements / 4
	return opCase{name: "cumsum", kind: "cumsum", in: []op.Desc{desc(dtype.F32, n)}, tolerance: 1e-3, scale: math.Sqrt(float64(n)), bytes: 8 * int64(n),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Un(op.CumSum, in[0], op.Int("axis", 0)) },
		want: func(in [][]float32, i int) (sum float64) {
			for _, v := range in[0][:i+1] {
				sum += float64(v)
			}
			return sum
		}}
}

func sorted(z sizes) opCase {
	n := z.elements / 16
	return opCase{name: "sort", kind: "sort", in: []op.Desc{desc(dtype.F32, n)}, bytes: 8 * int64(n), scale: 1, // only the order is checked
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Un(op.Sort, in[0], op.Int("axis", 0)) }}
}

func gathered(z sizes) opCase {
	n := z.columns
	return opCase{name: "gather_rows", kind: "gather_rows", in: []op.Desc{desc(dtype.F32, z.rows, n), desc(dtype.I64, z.rows)}, scale: 1, bytes: 8 * int64(z.rows) * int64(n),
		build: func(b *op.Builder, in []op.Desc) op.Desc { return b.Do(op.Embedding, in...) },
		want:  func(in [][]float32, i int) float64 { return float64(in[0][int(in[1][i/n])*n+i%n]) }}
}

// small200 returns the case of a chain of dependent products, z.chain in number, each far too small to fill the device and
// followed by a softmax.
func small200(z sizes) opCase {
	const n = 64
	return opCase{name: "tiny_products", kind: "tiny_products", in: []op.Desc{desc(dtype.F32, n, n), desc(dtype.F32, n, n)}, tolerance: 1e-3, scale: 1, flops: int64(z.chain) * 2 * n * n * n,
		build: func(b *op.Builder, in []op.Desc) op.Desc {
			x := in[0]
			for range z.chain {
				x = b.Un(op.Softmax, b.Do(op.MatMul, x, in[1]), op.Int("axis", 1))
			}
			return x
		},
		want: func(in [][]float32, i int) float64 {
			x, y := make([]float64, n), make([]float64, n)
			for k := range n {
				x[k] = float64(in[0][i/n*n+k])
			}
			for range z.chain {
				sum := 0.
				for c := range n {
					y[c] = 0
					for k := range n {
						y[c] += x[k] * float64(in[1][k*n+c])
					}
					y[c] = math.Exp(y[c])
					sum += y[c]
				}
				for c := range n {
					x[c] = y[c] / sum
				}
			}
			return x[i%n]
		}}
}

// values returns the values of input k of a case. Floats are uniform in [-1, 1) and rounded to their type; integers are indices below
// bound. The values depend only on k and their positions.
func values(k int, d op.Desc, bound int) []float32 {
	v := make([]float32, d.Shape.Size())
	parallel(len(v), func(from, to int) {
		for i := from; i < to; i++ {
			h := mix(uint32(i) + uint32(k)*0x9e3779b9 + 1)
			switch d.DType {
			case dtype.I64:
				v[i] = float32(h % uint32(bound))
			default:
				v[i] = float32(h>>8)*(1./(1<<23)) - 1
				switch d.DType {
				case dtype.BF16:
					v[i] = bf16(v[i])
				case dtype.F16:
					v[i] = float32(int(v[i]*1024)) / 1024
				}
			}
		}
	})
	return v
}

// bf16 rounds to the nearest bf16 number, ties to even.
func bf16(v float32) float32 {
	b := math.Float32bits(v)
	return math.Float32frombits((b + 0x7fff + b>>16&1) &^ 0xffff)
}

// mix maps h by a permutation of the 32-bit numbers that looks random: the finaliser of MurmurHash3.
func mix(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// shapes returns the shapes and types of the inputs, for peer.py.
func (c *opCase) shapes() (s []shape.Shape, types []string) {
	for _, d := range c.in {
		s, types = append(s, d.Shape), append(types, d.DType.String())
	}
	return s, types
}
