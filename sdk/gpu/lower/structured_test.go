package lower

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/interp"
	"github.com/goburn/burn/sdk/gpu/ir"
	narrowing "github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
	"github.com/stretchr/testify/require"
)

// structuredTargets are the kinds of hardware for which kernels of structured ops differ: subgroups with and without ballots, no
// subgroups, little shared memory, small grids.
var structuredTargets = []template.Target{
	{Subgroup: 32, Threads: 1024, Shared: 96 << 10, Units: 132, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Types: dtype.Any, Math: dtype.Numbers | dtype.Bools,
		Atomics: dtype.SetOf(dtype.I32, dtype.U32, dtype.I64, dtype.U64), Async: true,
		MMA: []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16}, {M: 16, N: 8, K: 16, Type: dtype.BF16}}},
	{Subgroup: 64, Threads: 1024, Shared: 64 << 10, Units: 100, Blocks: 8, Grid: [3]int{1<<31 - 1, 65535, 65535}, Wide: 16, Types: dtype.Any, Math: dtype.Numbers | dtype.Bools,
		Atomics: dtype.SetOf(dtype.I32, dtype.U32)},
	{Subgroup: 16, Threads: 256, Shared: 32 << 10, Units: 8, Blocks: 8, Grid: [3]int{3, 65535, 65535}, Wide: 8, Types: dtype.Any, Math: dtype.Numbers | dtype.Bools,
		Atomics: dtype.SetOf(dtype.I32, dtype.U32)},
	{Subgroup: 1, Threads: 256, Shared: 32 << 10, Units: 8, Blocks: 8, Grid: [3]int{65535, 65535, 65535}, Wide: 16, Types: dtype.Any, Math: dtype.Numbers | dtype.Bools,
		Atomics: dtype.SetOf(dtype.I32, dtype.U32)},
}

// matrixTargets are the kinds of hardware with matrix instructions: NVIDIA's, AMD's gfx9, gfx11 and gfx12, and Apple's.
var matrixTargets = []template.Target{structuredTargets[0], amd(64, ir.Runs), amd(32, ir.Strided), amd(32, ir.Runs), apple()}

func apple() template.Target {
	t := structuredTargets[0]
	t.Shared, t.Async = 32<<10, false
	t.MMA = []ir.MMA{{M: 16, N: 8, K: 16, Type: dtype.F16, Order: ir.Quarters}, {M: 16, N: 8, K: 16, Type: dtype.BF16, Order: ir.Quarters}}
	return t
}

func amd(wave int, order ir.Order) template.Target {
	t := structuredTargets[0]
	t.Subgroup, t.Shared, t.Async = wave, 64<<10, false
	t.MMA = []ir.MMA{{M: 16, N: 16, K: 16, Type: dtype.F16, Order: order}, {M: 16, N: 16, K: 16, Type: dtype.BF16, Order: order}}
	return t
}

// trial runs a node on a target and compares the results with the reference, or with want where the reference would take too long.
type trial struct {
	t     *testing.T
	code  op.Code
	attrs []op.Attr
	in    []ref.Tensor
	want  []ref.Tensor
	turn  int // the number of operands [A, B, C, D] that are stored as [A, C, B, D]
}

func trialOf(t *testing.T, code op.Code, attrs []op.Attr, in []ref.Tensor) trial {
	return trial{t: t, code: code, attrs: attrs, in: in}
}

func (c trial) run(target template.Target, seed uint64) {
	c.t.Helper()
	c.once(target, seed)
	if target.Subgroup == 16 && !slices.ContainsFunc(c.in, func(x ref.Tensor) bool { return x.Desc.DType == dtype.F64 }) {
		c.once(narrowing.Widen(web), seed)
	}
}

func (c trial) once(target template.Target, seed uint64) {
	c.t.Helper()
	descs := make([]op.Desc, len(c.in))
	for i, x := range c.in {
		descs[i] = x.Desc
		descs[i].ID = op.TensorID(i + 1)
	}
	n, err := op.New(c.code, descs, c.attrs...)
	require.NoError(c.t, err)
	label := fmt.Sprintf("%v %v on subgroups of %d", n.String(), descs, target.Subgroup)
	want, refErr := c.want, error(nil)
	if want == nil {
		want, refErr = ref.Eval(&n, c.in)
	}
	var slots [][]byte
	var in, out []template.Operand
	for i, x := range c.in {
		v, b := shape.Contiguous(descs[i].Shape), x.Bytes()
		if i < c.turn {
			s := v.Shape
			v = shape.Contiguous(shape.Of(s[0], s[2], s[1], s[3])).Permute([]int{0, 2, 1, 3})
			b = place(x, v).bytes[:len(b)]
		}
		slots = append(slots, inWords(b, 0))
		in = append(in, template.Operand{Type: stored(descs[i].DType), View: v})
	}
	for _, d := range n.Outputs {
		slots = append(slots, inWords(bytes.Repeat([]byte{0xA5}, d.Bytes()), 0xA5))
		out = append(out, template.Operand{Type: stored(d.DType), View: shape.Contiguous(d.Shape)})
	}
	w, err := structured[c.code](target, &n, in, out)
	require.NoError(c.t, err, label)
	if target.Words {
		w = rewritten(c.t, web, w, slots)
	}
	first := len(slots)
	for i, size := range w.Temps {
		b := bytes.Repeat([]byte{0xA5}, int(size))
		if i == 0 && w.Fault {
			clear(b)
		}
		slots = append(slots, b)
	}
	sizes, total := make([]int64, len(slots)), 0
	for i, b := range slots {
		sizes[i], total = int64(len(b)), total+len(b)
	}
	o := interp.Options{Order: interp.Shuffled, Seed: seed, Races: total < 1<<15, Subgroup: max(target.Subgroup, 1)}
	limits := limitsOf(target)
	if target.Words {
		limits = wordLimits(web)
	}
	for _, l := range w.Launches {
		if err := ir.Check(l, sizes, limits); err != nil {
			c.t.Fatalf("%s: %v\n%v", label, err, l.Kernel)
		}
		if err := interp.Run(l, slots, o); err != nil {
			c.t.Fatalf("%s: %v\n%v", label, err, l.Kernel)
		}
	}
	if refErr != nil {
		require.ErrorIs(c.t, refErr, core.ErrIndex)
		require.True(c.t, w.Fault && slots[first][0] == 1, "%s: no fault", label)
		return
	}
	if w.Fault {
		require.Zero(c.t, slots[first][0], "%s: fault", label)
	}
	for i, d := range n.Outputs {
		got, err := ref.FromBytes(d, slots[len(c.in)+i][:d.Bytes()])
		require.NoError(c.t, err)
		if at, text := differ(&n, descs, want[i], got); at >= 0 {
			c.t.Fatalf("%s: result %d, element %d: %s", label, i, at, text)
		}
	}
}

func limitsOf(t template.Target) ir.Limits {
	return ir.Limits{Threads: t.Threads, Shared: t.Shared, Subgroup: t.Subgroup, Grid: t.Grid, Wide: t.Wide, Types: t.Types, Math: t.Math, Atomics: t.Atomics,
		MMA: t.MMA}
}

// differ finds the first element that is not within the row's tolerance.
func differ(n *op.Node, in []op.Desc, want, got ref.Tensor) (int, string) {
	d, tolerance, terms := want.Desc.DType, op.Lookup(n.Op).Tolerance, 1
	if tolerance.PerTerm {
		terms = op.Terms(n, in)
	}
	rel, abs := tolerance.Bounds(d, terms)
	if n.Op == op.Attention && d.Size() == 2 {
		// Matrix instructions read weights rounded to the type. Weights sum to 1, and values are below 1.
		abs += map[dtype.DType]float64{dtype.F16: 0x1p-11, dtype.BF16: 0x1p-8}[d]
	}
	if n.Op == op.AttentionGradient && d.Size() == 2 {
		// They also read gradients of scores rounded to the type, and results add these with both signs.
		abs += map[dtype.DType]float64{dtype.F16: 0x1p-11, dtype.BF16: 0x1p-8}[d]
	}
	for i := range want.Desc.Shape.Size() {
		if !d.IsFloat() {
			if want.I[i] != got.I[i] {
				return i, fmt.Sprintf("got %d, want %d", got.I[i], want.I[i])
			}
			continue
		}
		w, g := want.F[i], got.F[i]
		same := math.IsNaN(w) && math.IsNaN(g) || w == g && (!tolerance.Exact || math.Signbit(w) == math.Signbit(g))
		if !same && !(!tolerance.Exact && math.Abs(w-g) <= rel*math.Abs(w)+abs) {
			return i, fmt.Sprintf("got %v, want %v", g, w)
		}
	}
	return -1, ""
}

// each runs the trial on all targets.
func (c trial) each() {
	c.t.Helper()
	for i, target := range structuredTargets {
		c.run(target, uint64(i))
	}
}

var specials = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1}

// random returns a tensor of random elements: floats in [-1, 1), or integers of all magnitudes. If special is true, a quarter of the
// floats are NaN, infinities, signed zeros, 1 or -1.
func random(r *rand.Rand, d dtype.DType, special bool, dims ...int) ref.Tensor {
	x := ref.Zeros(op.DescOf(d, dims...))
	for i := range x.F {
		x.F[i] = ref.Round(d, r.Float64()*2-1)
		if special && r.IntN(4) == 0 {
			x.F[i] = specials[r.IntN(len(specials))]
		}
	}
	for i := range x.I {
		x.I[i] = ref.Wrap(d, int64(r.Uint64())>>r.IntN(64))
	}
	return x
}

// indices returns a tensor of random indices in [0, n).
func indices(r *rand.Rand, d dtype.DType, n int, dims ...int) ref.Tensor {
	x := ref.Zeros(op.DescOf(d, dims...))
	for i := range x.I {
		x.I[i] = int64(r.IntN(max(n, 1)))
	}
	return x
}

func source(name string) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(len(name)), 7))
}

var numbers = dtype.Numbers.List()

func TestGather(t *testing.T) {
	r := source(t.Name())
	for _, d := range append(dtype.All(), dtype.F8E4M3FN) {
		for _, c := range []struct {
			x, i        []int
			axis, batch int
		}{{[]int{5, 7}, []int{3}, 0, 0}, {[]int{5, 7}, []int{2, 3}, 1, 0}, {[]int{3, 4, 5, 8}, []int{3, 6}, 2, 1}, {[]int{4}, nil, 0, 0},
			{[]int{0, 3}, []int{0}, 0, 0}, {[]int{31, 0}, []int{5}, 0, 0}, {[]int{33, 16}, []int{31}, 0, 0}, {[]int{2, 3, 1025}, []int{2, 3, 1}, 2, 2}, {[]int{1023, 4}, []int{33}, 0, 0}} {
			x := random(r, d, true, c.x...)
			if dtype.Smalls.Has(d) {
				for i := range x.I {
					x.I[i] &= 0x7f
				}
			}
			for _, id := range []dtype.DType{dtype.I32, dtype.I64} {
				trialOf(t, op.Gather, []op.Attr{op.Int("axis", c.axis), op.Int("batch", c.batch)}, []ref.Tensor{x, indices(r, id, c.x[c.axis], c.i...)}).each()
			}
		}
	}
}

func TestGatherOutside(t *testing.T) {
	r := source(t.Name())
	for _, bad := range []int64{-1, 5, math.MaxInt32, math.MinInt64, 1 << 40} {
		i := indices(r, dtype.I64, 5, 40)
		i.I[17] = bad
		trialOf(t, op.Gather, []op.Attr{op.Int("axis", 0)}, []ref.Tensor{random(r, dtype.F32, false, 5, 3), i}).each()
		trialOf(t, op.Scatter, []op.Attr{op.Int("axis", 0)}, []ref.Tensor{random(r, dtype.F32, false, 5, 3), i, random(r, dtype.F32, false, 40, 3)}).each()
		trialOf(t, op.Scatter, []op.Attr{op.Int("axis", 0), op.Str("mode", "add")}, []ref.Tensor{random(r, dtype.F32, false, 5, 3), i, random(r, dtype.F32, false, 40, 3)}).each()
		trialOf(t, op.Scatter, []op.Attr{op.Int("axis", 0), op.Str("mode", "add")}, []ref.Tensor{random(r, dtype.I32, false, 5, 3), i, random(r, dtype.I32, false, 40, 3)}).each()
		trialOf(t, op.Embedding, nil, []ref.Tensor{random(r, dtype.F32, false, 5, 3), i}).each()
		trialOf(t, op.GatherElements, []op.Attr{op.Int("axis", 0)}, []ref.Tensor{random(r, dtype.F32, false, 5), i}).each()
	}
	empty := random(r, dtype.F32, false, 0, 3)
	trialOf(t, op.Gather, []op.Attr{op.Int("axis", 0)}, []ref.Tensor{empty, indices(r, dtype.I64, 1, 2)}).each()
	trialOf(t, op.Scatter, []op.Attr{op.Int("axis", 0)}, []ref.Tensor{empty, indices(r, dtype.I64, 1, 2), random(r, dtype.F32, false, 2, 3)}).each()
}

func TestEmbeddingPadding(t *testing.T) {
	r := source(t.Name())
	for _, d := range dtype.All() {
		for _, pad := range []int{-1, 0, 6} {
			trialOf(t, op.Embedding, []op.Attr{op.Int("padding", pad)}, []ref.Tensor{random(r, d, true, 7, 12), indices(r, dtype.I64, 7, 5, 9)}).each()
		}
	}
}

func TestGatherElements(t *testing.T) {
	r := source(t.Name())
	for _, d := range dtype.All() {
		trialOf(t, op.GatherElements, []op.Attr{op.Int("axis", 1)}, []ref.Tensor{random(r, d, true, 5, 6, 7), indices(r, dtype.I32, 6, 4, 9, 7)}).each()
		trialOf(t, op.GatherElements, []op.Attr{op.Int("axis", 0)}, []ref.Tensor{random(r, d, true, 33, 3), indices(r, dtype.I64, 33, 31, 2)}).each()
	}
}

func TestScatter(t *testing.T) {
	r := source(t.Name())
	for n, d := range dtype.All() {
		for _, mode := range []string{"assign", "add", "mul", "min", "max"} {
			if d == dtype.Bool && mode != "assign" {
				continue
			}
			for i, c := range []struct {
				x, i        []int
				axis, batch int
			}{{[]int{5, 7}, []int{3}, 0, 0}, {[]int{5, 8}, []int{20, 2}, 0, 0}, {[]int{3, 4, 33, 4}, []int{3, 31}, 2, 1}, {[]int{4}, nil, 0, 0}, {[]int{1, 3}, []int{77}, 0, 0},
				{[]int{6, 3}, []int{0}, 0, 0}, {[]int{6, 0}, []int{5}, 0, 0}, {[]int{0, 3}, []int{0}, 0, 0}, {[]int{1025}, []int{1023}, 0, 0}, {[]int{2, 3, 300}, []int{2, 3, 50}, 2, 2}} {
				if (n+i)%long.Every(2) != 0 {
					continue
				}
				if len(c.i) > 0 && c.i[0] > 1000 && d != dtype.F32 && d != dtype.I8 {
					continue
				}
				idx := indices(r, []dtype.DType{dtype.I32, dtype.I64}[r.IntN(2)], c.x[c.axis], c.i...)
				u := slices.Concat(c.x[:c.axis], c.i[c.batch:], c.x[c.axis+1:])
				trialOf(t, op.Scatter, []op.Attr{op.Int("axis", c.axis), op.Int("batch", c.batch), op.Str("mode", mode)},
					[]ref.Tensor{random(r, d, mode != "mul" && mode != "add", c.x...), idx, random(r, d, mode != "mul" && mode != "add", u...)}).each()
			}
		}
	}
}

func TestScans(t *testing.T) {
	r := source(t.Name())
	for _, code := range []op.Code{op.CumSum, op.CumProd, op.CumMax, op.CumMin} {
		for n, d := range numbers {
			for i, c := range []struct {
				x    []int
				axis int
			}{{[]int{0}, 0}, {[]int{1}, 0}, {[]int{31}, 0}, {[]int{3, 33}, 1}, {[]int{33, 3}, 0}, {[]int{1023}, 0}, {[]int{2, 1025}, 1}, {[]int{130, 2}, 0}, {[]int{2, 70, 3}, 1}, {[]int{5, 0}, 1}} {
				if (n+i)%long.Every(2) != 0 {
					continue
				}
				special := code == op.CumMax || code == op.CumMin
				for _, flags := range [][2]bool{{false, r.IntN(2) == 0}, {true, r.IntN(2) == 0}} {
					trialOf(t, code, []op.Attr{op.Int("axis", c.axis), op.Flag("exclusive", flags[0]), op.Flag("reverse", flags[1])}, []ref.Tensor{random(r, d, special, c.x...)}).run(structuredTargets[r.IntN(4)], 3)
				}
			}
		}
	}
}

func TestScansLong(t *testing.T) {
	r := source(t.Name())
	for i, dims := range [][]int{{1, 40011, 1}, {1, 9001, 2}, {2, 17000, 1}, {1, 1 << 16, 1}} {
		for _, code := range []op.Code{op.CumSum, op.CumMax} {
			x := random(r, []dtype.DType{dtype.I32, dtype.I64, dtype.U32, dtype.I8}[i], true, dims...)
			exclusive, reverse := i%2 == 1, i >= 2
			c := trialOf(t, code, []op.Attr{op.Int("axis", 1), op.Flag("exclusive", exclusive), op.Flag("reverse", reverse)}, []ref.Tensor{x})
			c.want = []ref.Tensor{running(x, code, exclusive, reverse)}
			c.run(structuredTargets[i], 1)
		}
	}
}

// running returns a scan of integers of shape [outer, n, inner] along n.
func running(x ref.Tensor, code op.Code, exclusive, reverse bool) ref.Tensor {
	y, s, d := ref.Zeros(x.Desc), x.Desc.Shape, x.Desc.DType
	for o := range s[0] {
		for i := range s[2] {
			var sum int64
			if code == op.CumMax && d.Class() == dtype.Signed {
				sum = -1 << (8*d.Size() - 1)
			}
			for k := range s[1] {
				if reverse {
					k = s[1] - 1 - k
				}
				p := (o*s[1]+k)*s[2] + i
				next := max(sum, x.I[p])
				if code == op.CumSum {
					next = ref.Wrap(d, sum+x.I[p])
				}
				y.I[p] = next
				if exclusive {
					y.I[p] = sum
				}
				sum = next
			}
		}
	}
	return y
}

func TestRunningIndex(t *testing.T) {
	r := source(t.Name())
	for _, code := range []op.Code{op.CumArgMax, op.CumArgMin} {
		for _, d := range numbers {
			for _, x := range [][]int{{3, 40}, {2, 300}, {100, 2}, {1, 1}} {
				v := random(r, d, true, x...)
				for i := range v.F {
					if math.IsNaN(v.F[i]) && r.IntN(3) > 0 {
						v.F[i] = 0
					}
				}
				trialOf(t, code, []op.Attr{op.Int("axis", r.IntN(2))}, []ref.Tensor{v}).run(structuredTargets[r.IntN(4)], 3)
			}
		}
	}
	for _, d := range dtype.Floats.List() {
		for _, special := range []bool{false, true} {
			trialOf(t, op.LogCumSumExp, []op.Attr{op.Int("axis", 1), op.Flag("exclusive", special)}, []ref.Tensor{random(r, d, special, 3, 300)}).each()
		}
	}
}

func TestSort(t *testing.T) {
	r := source(t.Name())
	for _, d := range numbers {
		for _, c := range []struct {
			x    []int
			axis int
		}{{[]int{0}, 0}, {[]int{1}, 0}, {[]int{5, 31}, 1}, {[]int{33, 5}, 0}, {[]int{2, 1025}, 1}, {[]int{700, 3}, 1}, {[]int{2, 3, 0}, 2}} {
			for _, down := range []bool{false, true} {
				x := random(r, d, true, c.x...)
				trialOf(t, op.Sort, []op.Attr{op.Int("axis", c.axis), op.Flag("descending", down)}, []ref.Tensor{x}).run(structuredTargets[r.IntN(4)], 3)
			}
		}
	}
}

func TestSortLong(t *testing.T) {
	r := source(t.Name())
	for i, d := range numbers {
		x := random(r, d, true, 4099)
		trialOf(t, op.Sort, []op.Attr{op.Int("axis", 0), op.Flag("descending", i%2 == 0)}, []ref.Tensor{x}).run(structuredTargets[i%4], 3)
	}
	for i := range structuredTargets {
		x := random(r, dtype.F32, true, 2, 2500, 2)
		trialOf(t, op.Sort, []op.Attr{op.Int("axis", 1)}, []ref.Tensor{x}).run(structuredTargets[i], 3)
		trialOf(t, op.TopK, []op.Attr{op.Int("axis", 1), op.Int("k", 7)}, []ref.Tensor{x}).run(structuredTargets[i], 3)
		trialOf(t, op.ArgSort, []op.Attr{op.Int("axis", 1)}, []ref.Tensor{x}).run(structuredTargets[i], 3)
		trialOf(t, op.TopK, []op.Attr{op.Int("axis", 1), op.Int("k", 3), op.Flag("largest", false)}, []ref.Tensor{random(r, dtype.F16, true, 9, 77)}).run(structuredTargets[i], 3)
	}
}

func TestWindowReduce(t *testing.T) {
	r := source(t.Name())
	for _, d := range numbers {
		for _, c := range []struct{ x, w, s, d, lo, hi []int }{
			{[]int{2, 9, 11}, []int{3, 2}, []int{2, 1}, []int{1, 2}, []int{1, 0}, []int{1, 3}},
			{[]int{3, 31}, []int{4}, []int{3}, []int{2}, []int{-2}, []int{-1}},
			{[]int{5}, []int{2}, []int{1}, []int{1}, []int{3}, []int{3}},
			{[]int{0}, []int{2}, []int{1}, []int{1}, []int{3}, []int{3}},
			{[]int{2, 3, 4, 5, 6}, []int{2, 2, 2}, []int{1, 2, 2}, []int{1, 1, 3}, []int{0, 1, 0}, []int{0, 1, 0}},
			{[]int{1, 40, 30}, []int{40, 30}, []int{1, 1}, []int{1, 1}, []int{1, 0}, []int{0, 0}},
		} {
			attrs := []op.Attr{op.Ints("window", c.w...), op.Ints("strides", c.s...), op.Ints("dilation", c.d...), op.Ints("pad_lo", c.lo...), op.Ints("pad_hi", c.hi...)}
			trialOf(t, op.WindowReduce, append(attrs[:5:5], op.Str("reduce", "sum")), []ref.Tensor{random(r, d, false, c.x...)}).run(structuredTargets[r.IntN(4)], 3)
			trialOf(t, op.WindowReduce, append(attrs[:5:5], op.Str("reduce", "max"), op.Flag("indices", true)), []ref.Tensor{random(r, d, true, c.x...)}).run(structuredTargets[r.IntN(4)], 3)
		}
	}
}

func TestConcat(t *testing.T) {
	r := source(t.Name())
	for _, d := range dtype.All() {
		for _, c := range []struct {
			x    [][]int
			axis int
		}{{[][]int{{3, 4}, {2, 4}}, 0}, {[][]int{{3, 4}, {3, 8}, {3, 0}, {3, 16}}, 1}, {[][]int{{3}}, 0}, {[][]int{{0, 2}, {0, 2}}, 1}, {[][]int{{2, 3, 5}, {2, 1, 5}, {2, 0, 5}}, 1},
			{slices.Repeat([][]int{{2, 3}}, 35), 1}} {
			var in []ref.Tensor
			for _, x := range c.x {
				in = append(in, random(r, d, true, x...))
			}
			trialOf(t, op.Concat, []op.Attr{op.Int("axis", c.axis)}, in).each()
		}
	}
}

func TestPad(t *testing.T) {
	r := source(t.Name())
	for _, d := range dtype.All() {
		for _, c := range []struct{ x, lo, hi []int }{{[]int{3, 4}, []int{1, 0}, []int{2, 0}}, {[]int{5, 6}, []int{-1, 2}, []int{0, -3}}, {[]int{3, 2, 8}, []int{0, 1, 0}, []int{0, 1, 8}},
			{nil, nil, nil}, {[]int{0, 3}, []int{2, 0}, []int{1, 1}}, {[]int{1025}, []int{31}, []int{33}}, {[]int{4, 4}, []int{-4, 0}, []int{3, 0}}, {[]int{2, 16}, []int{16, 16}, []int{0, 16}}} {
			trialOf(t, op.Pad, []op.Attr{op.Ints("lo", c.lo...), op.Ints("hi", c.hi...), op.ScalarInt("value", int64(1-r.IntN(2)))}, []ref.Tensor{random(r, d, true, c.x...)}).each()
		}
	}
}

func TestCacheWrite(t *testing.T) {
	r := source(t.Name())
	for _, d := range dtype.All() {
		cache, update := random(r, d, true, 3, 2, 9, 4), random(r, d, true, 3, 2, 4, 4)
		for _, at := range []int64{0, 3, 5, 6, -1} {
			p := indices(r, dtype.I64, 5, 3)
			p.I[1] = at
			trialOf(t, op.CacheWrite, []op.Attr{op.Int("axis", 2)}, []ref.Tensor{cache, p, update}).each()
			one := indices(r, dtype.I32, 1)
			one.I[0] = at
			trialOf(t, op.CacheWrite, []op.Attr{op.Int("axis", 2)}, []ref.Tensor{cache, one, update}).each()
		}
		trialOf(t, op.CacheWrite, []op.Attr{op.Int("axis", 2)}, []ref.Tensor{cache, indices(r, dtype.I64, 1), random(r, d, true, 3, 2, 0, 4)}).each()
	}
}
