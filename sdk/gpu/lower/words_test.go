package lower

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/internal/long"
	"github.com/goburn/burn/sdk/gpu/ir"
	narrowing "github.com/goburn/burn/sdk/gpu/narrow"
	"github.com/goburn/burn/sdk/gpu/template"
)

// web is hardware like WebGPU's: memory of words, and no types of 64 bits.
var web = template.Target{
	Subgroup: 8, Threads: 256, Shared: 16 << 10, Units: 4, Blocks: 2, Grid: [3]int{65535, 65535, 65535}, Wide: 16,
	Types: dtype.Any &^ dtype.SetOf(dtype.F64, dtype.I64, dtype.U64), Math: dtype.SetOf(dtype.F32, dtype.I32, dtype.U32, dtype.Bool),
	Atomics: dtype.SetOf(dtype.I32, dtype.U32), Words: true, Align: 256, Buffers: 8,
}

// wordLimits returns the limits of kernels for hardware whose memory is words.
func wordLimits(t template.Target) ir.Limits {
	lim := limits(t)
	lim.Words, lim.Align, lim.Buffers = true, int64(t.Align), t.Buffers
	return lim
}

// rewritten returns w rewritten for hardware whose memory is words, and proves it. Its temporaries are whole words.
func rewritten(t testing.TB, hardware template.Target, w ir.Work, slots [][]byte) ir.Work {
	t.Helper()
	w.Launches, w.Temps = append([]ir.Launch(nil), w.Launches...), append([]int64(nil), w.Temps...)
	var bytes []int64
	for _, s := range slots {
		bytes = append(bytes, int64(len(s)))
	}
	for i, n := range w.Temps {
		w.Temps[i] = (n + 3) &^ 3
	}
	for i, l := range w.Launches {
		n, err := narrowing.Launch(hardware, l)
		require.NoError(t, err, "%v", l.Kernel)
		require.NoError(t, ir.Check(n, append(bytes, w.Temps...), wordLimits(hardware)), "%v\n%v", l.Kernel, n.Kernel)
		w.Launches[i] = n
	}
	return w
}

// inWords returns b padded with the byte with to whole words.
func inWords(b []byte, with byte) []byte {
	for len(b)%4 != 0 {
		b = append(b[:len(b):len(b)], with)
	}
	return b
}

// toWords makes c run on hardware whose memory is words, with detection of races.
func (c *runner) toWords(subgroup int) {
	c.words = web
	c.words.Subgroup = subgroup
	c.target = narrowing.Widen(c.words)
	c.policy = Policy(c.target)
	c.options.Subgroup, c.options.Races = subgroup, true
}

// onWords reports whether hardware whose memory is words has all types of a program.
func onWords(g *group.Graph) bool {
	types := narrowing.Widen(web).Types | dtype.Smalls
	for i := range g.Nodes {
		for _, d := range append(g.In(&g.Nodes[i]), g.Nodes[i].Outputs...) {
			if !types.Has(d.DType) {
				return false
			}
		}
	}
	return true
}

// TestWords runs the kernels of every primitive for every type that hardware with word memory has. It detects races, because different
// threads write elements of one word.
func TestWords(t *testing.T) {
	for k, code := range op.All() {
		row := op.Lookup(code)
		if row.Class != op.Primitive {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			types := able(narrowing.Widen(web), row.Traits)
			if len(row.Operands) > 0 {
				types &= row.Operands[0].Types
			}
			for i, d := range types.List() {
				b, outs := example(code, d)
				if outs == nil {
					continue
				}
				require.NoError(t, b.Err(), "%v", d)
				wordRun(t, b, outs, uint64(2*i+k), []int{8, 1, 32}[(i+k)%3])
			}
		})
	}
}

// wordRun runs the nodes of b on values of the domain of the first one.
func wordRun(t *testing.T, b *sketch, outs []op.Desc, seed uint64, subgroup int) {
	t.Helper()
	c := newRunner(t, tiny, seed)
	c.toWords(subgroup)
	c.strewn = seed%2 == 1
	row := op.Lookup(b.Nodes[0].Op)
	g := b.graph(t, outs...)
	var data []ref.Tensor
	for i, d := range g.Inputs {
		var domain op.Domain
		if i < len(row.Domain) {
			domain = row.Domain[i]
		}
		if (b.Nodes[0].Op == op.Gather || b.Nodes[0].Op == op.Scatter) && i == 1 {
			domain = op.Domain{Lo: 0, Hi: 2}
		}
		data = append(data, draw(c.r, d, domain, false))
	}
	c.run(g, data)
}

// TestWordsElementwise runs elementwise ops of types of one, two and eight bytes in shapes whose ends are parts of words.
func TestWordsElementwise(t *testing.T) {
	for k, code := range []op.Code{op.Add, op.Sub, op.Mul, op.Div, op.Rem, op.Max, op.Min, op.Equal, op.Less, op.And, op.Xor, op.Shl, op.Shr, op.Pow, op.Neg, op.Abs, op.Not, op.Where, op.Cast} {
		row := op.Lookup(code)
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			types := row.Operands[0].Types
			if code == op.Where {
				types = dtype.Any
			}
			for i, d := range (types & narrowing.Widen(web).Types).List() {
				if d.Size() == 4 || (i+k)%long.Every(2) != 0 {
					continue
				}
				for _, s := range []int{1, 3, 5, 1023, 257} {
					b := newSketch()
					var in []op.Desc
					for j := range row.Operands {
						od := d
						if code == op.Where && j == 0 {
							od = dtype.Bool
						}
						in = append(in, b.input(od, s))
					}
					var attrs []op.Attr
					if code == op.Cast {
						attrs = []op.Attr{op.Type("dtype", []dtype.DType{dtype.I64, dtype.U8, dtype.F32, dtype.BF16, dtype.Bool, dtype.U64}[(i+s)%6])}
					}
					wordRun(t, b, []op.Desc{b.With(code, in, attrs...)}, uint64(i+s+k), 8)
				}
			}
		})
	}
}

// TestWordsTurned transposes tiles in which each element takes a word of shared memory, whatever its type.
func TestWordsTurned(t *testing.T) {
	for i, d := range []dtype.DType{dtype.U8, dtype.BF16, dtype.I64, dtype.F32} {
		for k, s := range [][]int{{128, 130}, {128, 128}, {3, 67, 129}} {
			b := newSketch()
			x, y := b.input(d, s...), b.input(d, s...)
			axes := []int{1, 0}
			if len(s) == 3 {
				axes = []int{0, 2, 1}
			}
			c := newRunner(t, tiny, uint64(i))
			c.toWords([]int{8, 1, 32}[k])
			c.run(b.graph(t, b.Do(op.Max, b.Permute(x, axes...), b.Permute(y, axes...))), inputs(c.r, b, op.Domain{Lo: 0, Hi: 3, Whole: true}))
		}
	}
}
