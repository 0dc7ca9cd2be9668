package elementwise_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/elementwise"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/kerneltest"
	"github.com/goburn/burn/plugins/cpu/internal/mem"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// chainDraft is a random chain under construction, with the values of its links that the reference computes.
type chainDraft struct {
	*testing.T
	r      *rand.Rand
	dims   shape.Shape
	inputs []kerneltest.Operand
	links  []elementwise.Link
	values map[int]ref.Tensor // keyed by the numbers of Link.From
}

// input adds an input of type d whose shape broadcasts to the shape of the chain, and returns its number.
func (c *chainDraft) input(d dtype.DType) int {
	part := slices.Clone(c.dims)
	for i := range part {
		if c.r.IntN(4) == 0 {
			part[i] = 1
		}
	}
	if c.r.IntN(4) == 0 {
		part = part[c.r.IntN(len(part)+1):]
	}
	if c.r.IntN(2) == 0 {
		part = slices.Clone(c.dims)
	}
	lo, hi := -4.0, 4.0
	if d == dtype.Bool {
		lo, hi = 0, 1
	}
	x := kerneltest.Random(c.r, d, lo, hi, part...)
	if d != dtype.Bool {
		x = x.Sprinkle(c.r, 7, 0, math.Inf(1), math.NaN(), math.Copysign(0, -1), 1)
	}
	c.inputs = append(c.inputs, x)
	v, err := ref.FromBytes(x.Desc, x.Data)
	require.NoError(c, err)
	c.values[len(c.inputs)-1] = v
	return len(c.inputs) - 1
}

// pick returns a value of type d: an earlier result, or an input, which it adds when there is room for one.
func (c *chainDraft) pick(d dtype.DType) (from int, ok bool) {
	var have []int
	for k, v := range c.values {
		if v.Desc.DType == d {
			have = append(have, k)
		}
	}
	slices.Sort(have)
	if len(have) == 0 || len(c.inputs) < elementwise.MaxInputs && c.r.IntN(3) == 0 {
		if len(c.inputs) == elementwise.MaxInputs {
			return 0, false
		}
		return c.input(d), true
	}
	return have[c.r.IntN(len(have))], true
}

// add adds a link with the op code, if its result has the shape of the chain.
func (c *chainDraft) add(code op.Code, from []int, attrs ...op.Attr) {
	var in []op.Desc
	var tensors []ref.Tensor
	for _, f := range from {
		in, tensors = append(in, c.values[f].Desc), append(tensors, c.values[f])
	}
	n, err := op.New(code, in, attrs...)
	require.NoError(c, err)
	if !n.Outputs[0].Shape.Equal(c.dims) {
		return
	}
	require.True(c, elementwise.Links(&n, in), "%v", &n)
	outs, err := ref.Eval(&n, tensors)
	require.NoError(c, err)
	c.links = append(c.links, elementwise.Link{Node: &n, In: in, From: from})
	c.values[-len(c.links)] = outs[0]
}

// Ops with exactly one correct result, so that a chain is bitwise equal to its nodes.
var (
	exactUnary   = []op.Code{op.Neg, op.Abs, op.Relu, op.Floor, op.Round, op.Sqrt, op.Sign}
	exactBinary  = []op.Code{op.Add, op.Sub, op.Mul, op.Div, op.Max, op.Min, op.PRelu}
	exactCompare = []op.Code{op.Less, op.Greater, op.Equal, op.NotEqual, op.LessEqual, op.GreaterEqual}
)

func (c *chainDraft) grow() {
	floats := []dtype.DType{dtype.F32, dtype.F16, dtype.BF16}
	d := floats[c.r.IntN(len(floats))]
	x, okX := c.pick(d)
	y, okY := c.pick(d)
	if !okX || !okY {
		return
	}
	switch c.r.IntN(6) {
	case 0:
		c.add(exactUnary[c.r.IntN(len(exactUnary))], []int{x})
	case 1:
		c.add(op.Cast, []int{x}, op.Type("dtype", floats[c.r.IntN(len(floats))]))
	case 2:
		c.add(exactCompare[c.r.IntN(len(exactCompare))], []int{x, y})
	case 3:
		if cond, ok := c.pick(dtype.Bool); ok {
			c.add(op.Where, []int{cond, x, y})
		}
	default:
		c.add(exactBinary[c.r.IntN(len(exactBinary))], []int{x, y})
	}
}

// TestRandomChains draws chains of up to MaxLinks nodes over inputs that broadcast, of three float types and bool, and compares
// them bitwise with the reference, node by node. Kernels are called several times; each call may overwrite some of its inputs, all or none.
func TestRandomChains(t *testing.T) {
	r, pool := rand.New(rand.NewPCG(63, 64)), par.New(3)
	defer pool.Close()
	seen := map[op.Code]int{}
	for round := range 400 {
		c := &chainDraft{T: t, r: r, values: map[int]ref.Tensor{}}
		c.dims = [][]int{{5}, {3, 70}, {1030}, {40, 3, 5}, {2, 1, 9}, {}}[round%6]
		for want, tries := 1+r.IntN(elementwise.MaxLinks), 0; len(c.links) < want && tries < 80; tries++ {
			c.grow()
		}
		if len(c.links) == 0 {
			continue
		}
		for _, l := range c.links {
			seen[l.Node.Op]++
		}
		var in []op.Desc
		for _, x := range c.inputs {
			in = append(in, x.Desc)
		}
		f := elementwise.Chain(c.links, in)
		require.NotNil(t, f)
		for _, own := range []uint64{0, 1<<len(in) - 1, r.Uint64() & (1<<len(in) - 1)} {
			c.compare(f, pool, own)
		}
	}
	require.Greater(t, len(seen), 18, "ops in the chains")
}

// compare runs the kernel and compares its result with the value of the last link.
func (c *chainDraft) compare(f kernel.Func, pool *par.Pool, own uint64) {
	memory := mem.NewGuardedPool(1<<26, 1<<24, 128)
	env := &kernel.Env{Pool: pool, Account: memory.NewAccount()}
	var arrays []kernel.Array
	for _, x := range c.inputs {
		buf, err := env.Account.New(len(x.Data))
		require.NoError(c, err)
		copy(buf.Bytes(), x.Data)
		arrays = append(arrays, kernel.Array{DType: x.Desc.DType, View: shape.Contiguous(x.Desc.Shape), Buf: buf})
	}
	desc := []op.Desc{c.links[len(c.links)-1].Node.Outputs[0]}
	outs := make([]kernel.Array, 1)
	var call kernel.Call
	call.Begin(env, arrays, own, desc, outs)
	require.NoError(c, f(&call))
	call.End(false)
	want := c.values[-len(c.links)]
	data := make([]byte, desc[0].Bytes())
	kernel.Read(pool, data, outs[0])
	got, err := ref.FromBytes(desc[0], data)
	require.NoError(c, err)
	for i := range got.F {
		if math.Float64bits(got.F[i]) != math.Float64bits(want.F[i]) && !(math.IsNaN(got.F[i]) && math.IsNaN(want.F[i])) {
			c.Fatalf("own %b: element %d of %v is %v, want %v, after %s", own, i, desc[0], got.F[i], want.F[i], c.text())
		}
	}
	require.Equal(c, want.I, got.I, "own %b: %s", own, c.text())
	outs[0].Buf.Release()
	for i, a := range arrays {
		if own == 0 {
			require.True(c, bytes.Equal(a.Buf.Bytes()[:len(c.inputs[i].Data)], c.inputs[i].Data), "input %d was written", i)
		}
		a.Buf.Release()
	}
	require.NoError(c, memory.CheckGuards())
	require.Zero(c, env.Account.InUse())
}

func (c *chainDraft) text() (s string) {
	for _, l := range c.links {
		s += fmt.Sprintf("\n%v of %v from %v", l.Node, l.In, l.From)
	}
	return s
}
