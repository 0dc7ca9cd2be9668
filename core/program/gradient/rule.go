package gradient

import (
	"maps"
	"slices"
	"sync"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// Rule is the gradient of an op, in ops of the contract. An op without a gradient has the zero Rule.
type Rule struct {
	// reads returns the operands and the results whose elements grad reads, as bit sets, given which operands need a gradient. nil: none.
	reads func(need []bool) (in, out uint64)
	// grad returns the gradient of each operand that needs one; a zero Desc means a gradient of zeros. nil: the op has no gradient.
	grad func(g *grad) []op.Desc
}

// Node describes a node to be differentiated: its attributes, operands, results, and the gradients of its results.
type Node struct {
	Attrs op.Attrs
	X, Y  []op.Desc            // only the tensors that Reads returns have elements
	DY    []op.Desc            // a zero Desc is a gradient of zeros
	Need  []bool               // by operand: whether its gradient is needed
	Has   map[op.TensorID]bool // tensors of X, Y and DY that have elements
}

// Exists reports whether the op has a gradient.
func (r Rule) Exists() bool { return r.grad != nil }

// Reads returns the operands and the results whose elements Record uses, given which operands need a gradient. Bit i of in is operand i;
// bit i of out is result i.
func (r Rule) Reads(need []bool) (in, out uint64) {
	if r.reads == nil {
		return 0, 0
	}
	return r.reads(need)
}

// Record records the nodes of a gradient on b, and returns a gradient for each operand that needs one. A zero Desc is a gradient of zeros.
// For operands that need no gradient, the entry has no meaning. Errors are in b.
func (r Rule) Record(b *op.Builder, n Node) []op.Desc {
	return r.grad(&grad{Builder: b, Attrs: n.Attrs, x: n.X, y: n.Y, dy: n.DY, need: n.Need, has: n.Has})
}

// grad is the input of a rule: a builder, and the operands x, the results y and the gradients dy of the results. Only those of x and y that
// the rule reads have elements. A dy without an id means zeros.
type grad struct {
	*op.Builder
	op.Attrs
	x, y, dy []op.Desc
	need     []bool
	has      map[op.TensorID]bool // ids of the tensors of x, y and dy that have elements
}

// Custom is a gradient rule for a custom op. It records nodes on b that compute the gradients of operands x from the gradients dy of
// results y, and returns one for each operand; a zero Desc means that there is none. x and y have elements. A dy without an id means zeros.
type Custom func(b *op.Builder, a op.Attrs, x, y, dy []op.Desc) []op.Desc

var customRules sync.Map // op.Code → Rule

// Register registers the gradient rule of a custom op. It panics if the op is in the table or has a rule already. It is safe for
// concurrent use.
func Register(c op.Code, r Custom) {
	everything := func([]bool) (uint64, uint64) { return ^uint64(0), ^uint64(0) }
	_, dup := customRules.LoadOrStore(c, Rule{everything, func(g *grad) []op.Desc { return r(g.Builder, g.Attrs, g.x, g.y, g.dy) }})
	if _, known := rules[c]; known || dup || op.Lookup(c).Class != op.Custom {
		panic("gradient: Register: " + op.Lookup(c).Name + " has a gradient already or is not a custom op")
	}
}

// Of returns the rule of an op of the table, or of a custom op for which one was registered.
func Of(c op.Code) (r Rule, ok bool) {
	if r, ok = rules[c]; ok {
		return r, true
	}
	custom, ok := customRules.Load(c)
	if !ok {
		return Rule{}, false
	}
	return custom.(Rule), true
}

// Ops returns the ops of the table that have a rule, in the order of their codes. Others are differentiated through their
// decomposition, or not at all: see How.
func Ops() []op.Code { return slices.Sorted(maps.Keys(rules)) }

// readIn, readOut and readBoth return reads functions that do not depend on need.
func readIn(bits uint64) func([]bool) (uint64, uint64) {
	return func([]bool) (uint64, uint64) { return bits, 0 }
}

func readOut(bits uint64) func([]bool) (uint64, uint64) {
	return func([]bool) (uint64, uint64) { return 0, bits }
}

func readBoth(in, out uint64) func([]bool) (uint64, uint64) {
	return func([]bool) (uint64, uint64) { return in, out }
}

// readOther is the reads function of a binary op where the gradient of each operand needs the other operand.
func readOther(need []bool) (in, out uint64) {
	if need[0] {
		in |= 2
	}
	if need[1] {
		in |= 1
	}
	return in, 0
}

// fromX returns the rule of a unary op from a function that returns the gradient, given the operand and dy. fromY is like fromX, given the
// result.
func fromX(f func(g *grad, x, dy op.Desc) op.Desc) Rule {
	return Rule{readIn(1), func(g *grad) []op.Desc { return []op.Desc{f(g, g.x[0], g.dy[0])} }}
}

func fromY(f func(g *grad, y, dy op.Desc) op.Desc) Rule {
	return Rule{readOut(1), func(g *grad) []op.Desc { return []op.Desc{f(g, g.y[0], g.dy[0])} }}
}

// fromDY returns the rule of an op that is linear in its only operand.
func fromDY(f func(g *grad, dy op.Desc) op.Desc) Rule {
	return Rule{nil, func(g *grad) []op.Desc { return []op.Desc{f(g, g.dy[0])} }}
}

// flat is the rule of step functions: their derivatives are zero wherever they exist.
var flat = Rule{nil, func(g *grad) []op.Desc { return make([]op.Desc, len(g.x)) }}

func (g *grad) add(a, b op.Desc) op.Desc { return g.Do(op.Add, a, b) }
func (g *grad) sub(a, b op.Desc) op.Desc { return g.Do(op.Sub, a, b) }
func (g *grad) mul(a, b op.Desc) op.Desc { return g.Do(op.Mul, a, b) }
func (g *grad) div(a, b op.Desc) op.Desc { return g.Do(op.Div, a, b) }

// times returns a·v for a number v.
func (g *grad) times(a op.Desc, v float64) op.Desc { return g.mul(a, g.Like(a, v)) }
func (g *grad) plus(a op.Desc, v float64) op.Desc  { return g.add(a, g.Like(a, v)) }

// zero returns a scalar 0 of a's type.
func (g *grad) zero(a op.Desc) op.Desc { return g.Like(a, 0) }

// pick returns a where the condition holds, else b.
func (g *grad) pick(c, a, b op.Desc) op.Desc { return g.Do(op.Where, c, a, b) }

// zeros returns a tensor of zeros like d.
func (g *grad) zeros(d op.Desc) op.Desc { return g.Expand(g.Like(d, 0), d.Shape) }

// fold sums d over the dimensions along which s was broadcast.
func (g *grad) fold(d op.Desc, s shape.Shape) op.Desc {
	if d.Shape.Equal(s) {
		return d
	}
	lead := len(d.Shape) - len(s)
	var axes []int
	for i, n := range d.Shape {
		if i < lead || s[i-lead] == 1 && n != 1 {
			axes = append(axes, i)
		}
	}
	return g.Reshape(g.Reduce(op.Sum, d, false, axes...), s)
}

// keep reshapes d, a reduction of x over axes, to the shape with these axes kept as 1.
func (g *grad) keep(d op.Desc, x shape.Shape, axes []int) op.Desc {
	s := x.Clone()
	for _, a := range axes {
		s[a] = 1
	}
	return g.Reshape(d, s)
}

// each returns 0, 1, ..., n-1.
func each(n int) []int {
	axes := make([]int, n)
	for i := range axes {
		axes[i] = i
	}
	return axes
}

// widely returns rules that compute narrow floats in f32 and round once, like the ops themselves.
func widely(table map[op.Code]Rule) map[op.Code]Rule {
	for c, r := range table {
		table[c] = Rule{r.reads, func(g *grad) []op.Desc {
			own := g.x
			w := *g
			w.x, w.y, w.dy = widen(g, g.x), widen(g, g.y), widen(g, g.dy)
			d := r.grad(&w)
			for i := range d {
				if d[i].ID != 0 {
					d[i] = g.Cast(d[i], own[i].DType)
				}
			}
			return d
		}}
	}
	return table
}

// widen returns ds with f32 in place of f16 and bf16. It casts the tensors that have elements; for the others it only changes the type.
func widen(g *grad, ds []op.Desc) []op.Desc {
	out := make([]op.Desc, len(ds))
	for i, d := range ds {
		if out[i] = d; d.DType != dtype.F16 && d.DType != dtype.BF16 {
			continue
		}
		if out[i].DType = dtype.F32; g.has[d.ID] {
			out[i] = g.Cast(d, dtype.F32)
		}
	}
	return out
}

// merge merges tables of rules.
func merge(tables ...map[op.Code]Rule) map[op.Code]Rule {
	all := map[op.Code]Rule{}
	for _, t := range tables {
		for c, r := range t {
			if _, dup := all[c]; dup {
				panic("gradient: two rules for " + c.String())
			}
			all[c] = r
		}
	}
	return all
}

// rules contains the gradients of the ops that are not differentiated through their decomposition.
var rules map[op.Code]Rule

func init() {
	rules = merge(elementwiseRules, widely(arithmeticRules), widely(activationRules), movementRules, indexingRules, widely(statisticsRules), reductionRules, contractionRules, poolingRules,
		normalisationRules, factorRules, attentionRules)
}
