package template_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	"github.com/goburn/burn/sdk/gpu/template"
)

// hopper returns a target like an H200 with the given number of multiprocessors. Few of them make small problems run without splits.
func hopper(units int) template.Target {
	types := dtype.SetOf(dtype.All()...)
	return template.Target{
		Subgroup: 32, Threads: 1024, Shared: 227 << 10, Units: units, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16,
		Types: types, Math: types, Async: true,
		MMA: []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16}, {M: 16, N: 8, K: 16, Type: dtype.BF16}},
	}
}

// amd returns a target like a GPU of AMD, with matrix instructions whose results have the given order: waves of 64 threads with MFMA, or
// of 32 threads with WMMA.
func amd(units, wave int, order ir.Order) template.Target {
	t := hopper(units)
	t.Subgroup, t.Shared, t.Async, t.MMA = wave, 64<<10, false, nil
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
		t.MMA = append(t.MMA, ir.MMA{M: 16, N: 16, K: 16, Type: d, Order: order})
	}
	return t
}

// apple returns a target like a GPU of Apple, with simdgroup matrices.
func apple(units int) template.Target {
	t := hopper(units)
	t.Shared, t.Async, t.MMA = 32<<10, false, nil
	for _, d := range []dtype.DType{dtype.F16, dtype.BF16} {
		t.MMA = append(t.MMA, ir.MMA{M: 16, N: 8, K: 16, Type: d, Order: ir.Quarters})
	}
	return t
}

// orders are targets with matrix instructions of each order but NVIDIA's.
var orders = map[string]func(units int) template.Target{
	"gfx9":  func(units int) template.Target { return amd(units, 64, ir.Runs) },
	"gfx11": func(units int) template.Target { return amd(units, 32, ir.Strided) },
	"gfx12": func(units int) template.Target { return amd(units, 32, ir.Runs) },
	"apple": apple,
}

// web returns a target without matrix instructions, asynchronous copies or 16-bit types.
func web(units int) template.Target {
	types := dtype.SetOf(dtype.F32, dtype.I32, dtype.U32)
	return template.Target{Subgroup: 32, Threads: 256, Shared: 16 << 10, Units: units, Blocks: 4, Grid: [3]int{65535, 65535, 65535}, Wide: 16, Types: types, Math: types}
}

// limitsOf returns the limits of kernels for a target.
func limitsOf(t template.Target) ir.Limits {
	return ir.Limits{Threads: t.Threads, Shared: t.Shared, Subgroup: t.Subgroup, Grid: t.Grid, Wide: t.Wide, Types: t.Types, Math: t.Math, MMA: t.MMA}
}

// tensor is memory with a view, and its values as float64.
type tensor struct {
	operand template.Operand
	bytes   []byte
}

// layouts of the last two dimensions.
const (
	rowMajor = iota
	colMajor
	padded   // three unused elements after each row
	spread   // every third element
	reversed // rows from the last to the first
)

// newTensor returns memory for a view of the given dimensions and layout. Dimensions in broadcast have stride 0.
func newTensor(t dtype.DType, dims []int, layout int, broadcast ...int) tensor {
	r := len(dims)
	rows, cols := dims[r-2], dims[r-1]
	strides := make([]int, r)
	size := rows * cols
	offset := 0
	switch layout {
	case rowMajor:
		strides[r-2], strides[r-1] = cols, 1
	case colMajor:
		strides[r-2], strides[r-1] = 1, rows
	case padded:
		strides[r-2], strides[r-1] = cols+3, 1
		size = rows * (cols + 3)
	case spread:
		strides[r-2], strides[r-1] = 3*cols, 3
		size *= 3
	case reversed:
		strides[r-2], strides[r-1] = -cols, 1
		offset = max(rows-1, 0) * cols
	}
	for i := r - 3; i >= 0; i-- {
		strides[i] = size
		size *= dims[i]
	}
	for _, b := range broadcast {
		strides[b] = 0
	}
	return tensor{
		template.Operand{Type: t, View: shape.View{Shape: dims, Strides: strides, Offset: offset}},
		make([]byte, (size+offset)*t.Size()),
	}
}

// each calls f for every position of a shape.
func each(dims []int, f func(at []int)) {
	at := make([]int, len(dims))
	for {
		for i, d := range dims {
			if at[i] >= d {
				return
			}
		}
		f(at)
		i := len(dims) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < dims[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func (x tensor) index(at []int) int {
	n := x.operand.View.Offset
	for i, p := range at {
		n += p * x.operand.View.Strides[i]
	}
	return n
}

func (x tensor) get(at []int) float64 {
	b := x.bytes[x.index(at)*x.operand.Type.Size():]
	switch x.operand.Type {
	case dtype.F64:
		return dtype.Slice[float64](b[:8])[0]
	case dtype.F32:
		return float64(dtype.Slice[float32](b[:4])[0])
	case dtype.F16:
		return float64(dtype.Slice[dtype.Float16](b[:2])[0].Float32())
	case dtype.BF16:
		return float64(dtype.Slice[dtype.BFloat16](b[:2])[0].Float32())
	case dtype.I64:
		return float64(dtype.Slice[int64](b[:8])[0])
	case dtype.U64:
		return float64(dtype.Slice[uint64](b[:8])[0])
	case dtype.I32:
		return float64(dtype.Slice[int32](b[:4])[0])
	case dtype.U32:
		return float64(dtype.Slice[uint32](b[:4])[0])
	case dtype.I16:
		return float64(dtype.Slice[int16](b[:2])[0])
	case dtype.U16:
		return float64(dtype.Slice[uint16](b[:2])[0])
	case dtype.I8:
		return float64(int8(b[0]))
	case dtype.U8, dtype.Bool:
		return float64(b[0])
	}
	panic(x.operand.Type)
}

func (x tensor) set(at []int, v float64) {
	b := x.bytes[x.index(at)*x.operand.Type.Size():]
	switch x.operand.Type {
	case dtype.F64:
		dtype.Slice[float64](b[:8])[0] = v
	case dtype.F32:
		dtype.Slice[float32](b[:4])[0] = float32(v)
	case dtype.F16:
		dtype.Slice[dtype.Float16](b[:2])[0] = dtype.Float16From64(v)
	case dtype.BF16:
		dtype.Slice[dtype.BFloat16](b[:2])[0] = dtype.BFloat16From64(v)
	case dtype.I64, dtype.U64:
		dtype.Slice[int64](b[:8])[0] = int64(v)
	case dtype.I32, dtype.U32:
		dtype.Slice[int32](b[:4])[0] = int32(v)
	case dtype.I16, dtype.U16:
		dtype.Slice[int16](b[:2])[0] = int16(int(v))
	default:
		b[0] = byte(int(v))
	}
}

// fill sets all elements to small integers, so that every sum is exact.
func (x tensor) fill(r *rand.Rand, most int) tensor {
	low := -most
	if c := x.operand.Type.Class(); c == dtype.Unsigned {
		low = 0
	}
	each(x.operand.View.Shape, func(at []int) { x.set(at, float64(low+r.IntN(most-low+1))) })
	return x
}

// run runs work in up to three orders and requires equal results. Small work also runs with race detection, and very small work with
// unrolled kernels. Results and temporaries are poisoned before each run.
func run(t *testing.T, w ir.Work, limits ir.Limits, operands, results []tensor) {
	t.Helper()
	elements := 0
	for _, x := range operands {
		elements += len(x.bytes)
	}
	options := []interp.Options{{Order: interp.Shuffled, Seed: 5}}
	if elements < 1<<18 {
		options = append(options, interp.Options{Order: interp.Backward, Races: true})
	}
	if elements < 1<<14 {
		options = append(options, interp.Options{})
	}
	var first []string
	for i, o := range options {
		if i == 2 {
			w.Launches = slices.Clone(w.Launches)
			for j := range w.Launches {
				w.Launches[j].Kernel = w.Launches[j].Kernel.Unrolled()
			}
		}
		var slots [][]byte
		for _, x := range operands {
			slots = append(slots, x.bytes)
		}
		for _, x := range results {
			poison(x.bytes)
			slots = append(slots, x.bytes)
		}
		for _, n := range w.Temps {
			b := make([]byte, n)
			poison(b)
			slots = append(slots, b)
		}
		var sizes []int64
		for _, b := range slots {
			sizes = append(sizes, int64(len(b)))
		}
		for _, l := range w.Launches {
			require.NoError(t, ir.Check(l, sizes, limits))
		}
		require.NoError(t, interp.RunWork(w, slots, o))
		var got []string
		for _, x := range results {
			got = append(got, string(x.bytes))
		}
		if first != nil {
			require.True(t, slices.Equal(first, got), "the order of blocks or unrolling changes the result")
		}
		first = got
	}
}

func poison(b []byte) {
	for i := range b {
		b[i] = 0xfe
	}
}

// productCase is a product and its layouts.
type productCase struct {
	batch   []int
	m, n, k int
	a, b    dtype.DType
	compute dtype.DType
	out     dtype.DType
	layoutA int
	layoutB int
	layoutC int
	spreadA []int // dimensions of the batch along which A is broadcast
	spreadB []int
	units   int
	web     bool
	order   string // a key of orders
	exact   bool
	body    bool // the epilogue adds a bias of columns, a residual, and the position
}

func (p productCase) String() string {
	return fmt.Sprintf("%v_%dx%dx%d_%v%v_%v_%v_%d%d%d_%v%v_u%d_%v%v%v", p.batch, p.m, p.n, p.k, p.a, p.b, p.compute, p.out, p.layoutA, p.layoutB, p.layoutC,
		p.spreadA, p.spreadB, p.units, p.web, p.exact, p.body)
}

func testProduct(t *testing.T, p productCase) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(p.m), uint64(p.n)))
	dims := func(d ...int) []int { return append(append([]int(nil), p.batch...), d...) }
	a := newTensor(p.a, dims(p.m, p.k), p.layoutA, p.spreadA...).fill(r, 3)
	b := newTensor(p.b, dims(p.k, p.n), p.layoutB, p.spreadB...).fill(r, 3)
	c := newTensor(p.out, dims(p.m, p.n), p.layoutC)
	target := hopper(p.units)
	if p.web {
		target = web(p.units)
	}
	if p.order != "" {
		target = orders[p.order](p.units)
	}
	product := template.Product{Batch: p.batch, M: p.m, N: p.n, K: p.k, A: a.operand, B: b.operand, Compute: p.compute, Out: []template.Operand{c.operand}, Exact: p.exact}
	operands := []tensor{a, b}
	var bias, residual tensor
	if p.body {
		bias = newTensor(p.compute, dims(1, p.n), rowMajor).fill(r, 3)
		bias.operand.View = bias.operand.View.Expand(shape.Of(dims(p.m, p.n)...))
		residual = newTensor(p.out, dims(p.m, p.n), p.layoutC).fill(r, 3)
		operands = append(operands, bias, residual)
		product.Extra = []template.Operand{bias.operand, residual.operand}
		product.Body = func(b *ir.Builder, in []ir.Value, index func(int) ir.Value) []ir.Value {
			v := b.Add(b.Add(in[0], in[1]), b.Cast(p.compute, in[2]))
			last := len(p.batch) + 1
			for axis := 0; axis <= last; axis++ {
				v = b.Add(v, b.Cast(p.compute, b.Rem(index(axis), b.Int(3+axis))))
			}
			return []ir.Value{b.Cast(p.out, v)}
		}
	}
	w, err := product.Build(target)
	require.NoError(t, err)
	run(t, w, limitsOf(target), operands, []tensor{c})
	bad := 0
	each(dims(p.m, p.n), func(at []int) {
		r := len(p.batch)
		sum := 0.0
		for k := range p.k {
			sum += a.get(append(append([]int(nil), at[:r]...), at[r], k)) * b.get(append(append([]int(nil), at[:r]...), k, at[r+1]))
		}
		if p.body {
			sum += bias.get(at) + residual.get(at)
			for axis, i := range at {
				sum += float64(i % (3 + axis))
			}
		}
		want := newTensor(p.out, []int{1, 1}, rowMajor)
		want.set([]int{0, 0}, sum)
		if got := c.get(at); got != want.get([]int{0, 0}) && !(math.IsNaN(got) && math.IsNaN(sum)) {
			if bad++; bad < 5 {
				t.Errorf("element %v: got %v, want %v", at, got, sum)
			}
		}
	})
}

func TestProductShapes(t *testing.T) {
	for _, size := range [][3]int{
		{0, 4, 4}, {4, 0, 4}, {4, 4, 0}, {2, 2, 1}, {31, 33, 17}, {33, 31, 1}, {127, 129, 33}, {129, 127, 16}, {128, 128, 64}, {64, 65, 127}, {5, 300, 20},
		{1, 33, 31}, {33, 1, 31}, {1, 1, 1000}, {1, 128, 64},
	} {
		for _, web := range []bool{false, true} {
			p := productCase{m: size[0], n: size[1], k: size[2], a: dtype.F32, b: dtype.F32, compute: dtype.F32, out: dtype.F32, units: 1, web: web, body: true}
			t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
		}
	}
}

func TestProductLayouts(t *testing.T) {
	for a := rowMajor; a <= reversed; a++ {
		for b := rowMajor; b <= reversed; b++ {
			for _, c := range []int{rowMajor, colMajor, padded} {
				p := productCase{m: 36, n: 68, k: 20, a: dtype.F32, b: dtype.F32, compute: dtype.F32, out: dtype.F32, layoutA: a, layoutB: b, layoutC: c, units: 1, body: c != rowMajor}
				t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
			}
		}
	}
}

func TestProductTypes(t *testing.T) {
	for _, p := range []productCase{
		{a: dtype.F64, b: dtype.F64, compute: dtype.F64, out: dtype.F64},
		{a: dtype.I32, b: dtype.I32, compute: dtype.I32, out: dtype.I32},
		{a: dtype.U32, b: dtype.U32, compute: dtype.U32, out: dtype.U32},
		{a: dtype.I64, b: dtype.I64, compute: dtype.I64, out: dtype.I64},
		{a: dtype.U64, b: dtype.U64, compute: dtype.U64, out: dtype.U64},
		{a: dtype.I8, b: dtype.U8, compute: dtype.I32, out: dtype.I32},
		{a: dtype.F16, b: dtype.F16, compute: dtype.F32, out: dtype.F16, exact: true},
		{a: dtype.BF16, b: dtype.F32, compute: dtype.F32, out: dtype.BF16},
		{a: dtype.F32, b: dtype.F32, compute: dtype.F64, out: dtype.F32},
	} {
		for _, layout := range []int{rowMajor, colMajor, spread} {
			p.m, p.n, p.k, p.units, p.layoutA, p.layoutB = 40, 72, 24, 1, layout, layout
			t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
		}
	}
}

func TestProductBatch(t *testing.T) {
	for _, p := range []productCase{
		{batch: []int{3}, spreadB: []int{0}},
		{batch: []int{3}, spreadA: []int{0}},
		{batch: []int{2, 3}, spreadA: []int{0}, spreadB: []int{1}},
		{batch: []int{2, 1, 3}, spreadB: []int{0, 2}},
		{batch: []int{0}},
		{batch: []int{2, 2}, layoutA: colMajor, layoutC: colMajor},
	} {
		for _, m := range []int{33, 1} {
			p.m, p.n, p.k, p.a, p.b, p.compute, p.out, p.units, p.body = m, 20, 12, dtype.F32, dtype.F32, dtype.F32, dtype.F32, 1, true
			t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
		}
	}
}

// TestProductSplit computes products with few results and a large K, which are split along K.
func TestProductSplit(t *testing.T) {
	for _, p := range []productCase{
		{m: 33, n: 40, k: 2050}, {m: 8, n: 7, k: 3000}, {batch: []int{2}, m: 20, n: 24, k: 1029},
	} {
		p.a, p.b, p.compute, p.out, p.units, p.body = dtype.F32, dtype.F32, dtype.F32, dtype.F32, 132, true
		t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
	}
}

// TestProductFragments computes products of 16-bit floats by matrix instructions: edges, layouts, packing, splitting, batches.
func TestProductFragments(t *testing.T) {
	for i, p := range []productCase{
		{m: 128, n: 256, k: 64, units: 1}, {m: 130, n: 264, k: 72, units: 1}, {m: 33, n: 31, k: 40, units: 1}, {m: 16, n: 8, k: 16, units: 1},
		{m: 129, n: 127, k: 33, units: 1}, {m: 64, n: 64, k: 65, units: 1}, {m: 40, n: 24, k: 1050, units: 132},
		{m: 72, n: 72, k: 48, units: 1, layoutA: colMajor}, {m: 72, n: 72, k: 48, units: 1, layoutB: colMajor}, {m: 72, n: 72, k: 48, units: 1, layoutA: colMajor, layoutB: colMajor, layoutC: colMajor},
		{m: 72, n: 70, k: 47, units: 1, layoutA: colMajor, layoutB: padded}, {m: 40, n: 40, k: 32, units: 1, layoutA: spread, layoutB: reversed, layoutC: padded},
		{batch: []int{3, 2}, m: 24, n: 40, k: 31, units: 1, spreadA: []int{0}, spreadB: []int{1}},
		{batch: []int{3}, m: 24, n: 40, k: 32, units: 1, spreadB: []int{0}},
	} {
		for _, typ := range []dtype.DType{dtype.F16, dtype.BF16} {
			for k, body := range []bool{false, true} {
				if (i+k)%long.Every(2) != 0 {
					continue
				}
				p.a, p.b, p.compute, p.out, p.body = typ, typ, dtype.F32, typ, body
				if typ == dtype.BF16 && body {
					p.out = dtype.F32
				}
				t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
				for j, name := range []string{"gfx9", "gfx11", "gfx12", "apple"} {
					if p.order = name; (i+j)%long.Every(3) == 0 {
						t.Run(name+"/"+p.String(), func(t *testing.T) { testProduct(t, p) })
					}
				}
				p.order = ""
			}
		}
	}
}

// TestProductVectors computes products of few rows or columns.
func TestProductVectors(t *testing.T) {
	for _, size := range [][3]int{{1, 128, 64}, {3, 33, 31}, {4, 132, 1034}, {1, 1, 3000}, {40, 1, 512}, {33, 2, 100}, {1, 1000, 8}} {
		for layout := rowMajor; layout <= reversed; layout++ {
			for _, units := range []int{1, 132} {
				p := productCase{m: size[0], n: size[1], k: size[2], a: dtype.F32, b: dtype.F32, compute: dtype.F32, out: dtype.F32, layoutA: layout % 2, layoutB: layout, units: units, body: true}
				if layout == padded || layout == colMajor {
					p.a, p.b, p.out = dtype.BF16, dtype.BF16, dtype.F32
				}
				if layout%2 == 0 {
					p.batch, p.spreadA = []int{2}, []int{0}
				}
				t.Run(p.String(), func(t *testing.T) { testProduct(t, p) })
			}
		}
	}
}
