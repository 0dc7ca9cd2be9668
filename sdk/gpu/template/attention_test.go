package template_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/sdk/gpu/template"
)

// attended computes attention, and its gradients for dy, by the definition in f64.
type attended struct {
	a                 template.Attention
	q, k, v, dy, mask tensor
	y, dq, dk, dv     []float64
}

// seen reports whether query i of a head attends to key j.
func (m *attended) seen(b, h, i, j int) bool {
	a, at := m.a, i+m.a.Past
	switch {
	case a.Mask == dtype.Bool && m.mask.get([]int{b, h, i, j}) == 0, a.Causal && j > at, a.Window > 0 && max(at-j, j-at) >= a.Window:
		return false
	}
	return true
}

// compute fills in the results.
func (m *attended) compute() {
	a := m.a
	m.y = make([]float64, a.Batch*a.Heads*a.Queries*a.ValueWidth)
	m.dq = make([]float64, a.Batch*a.Heads*a.Queries*a.Width)
	m.dk, m.dv = make([]float64, a.Batch*a.KeyHeads*a.Keys*a.Width), make([]float64, a.Batch*a.KeyHeads*a.Keys*a.ValueWidth)
	for b := range a.Batch {
		for h := range a.Heads {
			g := h / (a.Heads / a.KeyHeads)
			for i := range a.Queries {
				m.row(b, h, g, i)
			}
		}
	}
}

func (m *attended) row(b, h, g, i int) {
	a := m.a
	weights, slopes := make([]float64, a.Keys), make([]float64, a.Keys)
	top, all := math.Inf(-1), 0.0
	for j := range a.Keys {
		dot := 0.0
		for w := range a.Width {
			dot += m.q.get([]int{b, h, i, w}) * m.k.get([]int{b, g, j, w})
		}
		dot *= a.Scale
		if slopes[j] = 1; a.Softcap != 0 {
			u := math.Tanh(dot / a.Softcap)
			dot, slopes[j] = a.Softcap*u, 1-u*u
		}
		if a.Mask != dtype.Invalid && a.Mask != dtype.Bool {
			dot += m.mask.get([]int{b, h, i, j})
		}
		if weights[j] = dot; !m.seen(b, h, i, j) {
			weights[j] = math.Inf(-1)
		}
		top = max(top, weights[j])
	}
	if math.IsInf(top, -1) {
		return // sees no key
	}
	for j := range weights {
		weights[j] = math.Exp(weights[j] - top)
		all += weights[j]
	}
	y := m.y[((b*a.Heads+h)*a.Queries+i)*a.ValueWidth:][:a.ValueWidth]
	mean := 0.0 // of the gradients of the weights
	grads := make([]float64, a.Keys)
	for j := range weights {
		weights[j] /= all
		for w := range y {
			v, dy := m.v.get([]int{b, g, j, w}), m.dy.get([]int{b, h, i, w})
			y[w] += weights[j] * v
			grads[j] += v * dy
			m.dv[((b*a.KeyHeads+g)*a.Keys+j)*a.ValueWidth+w] += weights[j] * dy
		}
		mean += weights[j] * grads[j]
	}
	for j := range weights {
		d := weights[j] * (grads[j] - mean) * slopes[j] * a.Scale
		for w := range a.Width {
			m.dq[((b*a.Heads+h)*a.Queries+i)*a.Width+w] += d * m.k.get([]int{b, g, j, w})
			m.dk[((b*a.KeyHeads+g)*a.Keys+j)*a.Width+w] += d * m.q.get([]int{b, h, i, w})
		}
	}
}

// near requires that each element of x differs from want by at most tolerance, relative to the larger of 1 and want.
func near(t *testing.T, x tensor, want []float64, tolerance float64, note string) {
	t.Helper()
	n, bad := 0, 0
	each(dimsOf(x), func(at []int) {
		if got := x.get(at); !(math.Abs(got-want[n]) <= tolerance*max(1, math.Abs(want[n]))) {
			if bad++; bad < 4 {
				t.Errorf("%s: element %v is %v, want %v", note, at, got, want[n])
			}
		}
		n++
	})
}

// surrounded returns a tensor with random elements and NaN between its rows and around them. Rows are contiguous, with gap elements
// between them.
func surrounded(d dtype.DType, gap int, dims ...int) tensor {
	x := dense(d, 8, dims...)
	step := 1
	for a := len(dims) - 1; a >= 0; a-- {
		x.operand.View.Strides[a] = step
		if step *= dims[a]; a == len(dims)-1 {
			step += gap
		}
	}
	x.bytes = make([]byte, wholeWords((8+step+8)*d.Size()))
	whole := tensor{template.Operand{Type: d, View: dense(d, 0, len(x.bytes)/d.Size()).operand.View}, x.bytes}
	each(dimsOf(whole), func(at []int) { whole.set(at, math.NaN()) })
	r := random(uint64(len(x.bytes)))
	each(dims, func(at []int) { x.set(at, float64(r.IntN(17)-8)/8) })
	return x
}

// attentionCase is an attention on a target; its kernels' names begin with kernel.
type attentionCase struct {
	a         template.Attention
	d         dtype.DType
	target    template.Target
	gap       int
	tolerance float64
	mask      []int // shape of the mask, nil for none
	kernel    string
}

func testAttention(t *testing.T, c attentionCase) {
	t.Helper()
	a := c.a
	if a.Scale == 0 {
		a.Scale = 0.5
	}
	m := attended{a: a, q: surrounded(c.d, c.gap, a.Batch, a.Heads, a.Queries, a.Width), k: surrounded(c.d, c.gap, a.Batch, a.KeyHeads, a.Keys, a.Width),
		v: surrounded(c.d, c.gap, a.Batch, a.KeyHeads, a.Keys, a.ValueWidth), dy: surrounded(c.d, c.gap, a.Batch, a.Heads, a.Queries, a.ValueWidth)}
	operands := []tensor{m.q, m.k, m.v}
	if a.Mask != dtype.Invalid {
		mask := dense(a.Mask, 0, c.mask...)
		r := random(9)
		each(c.mask, func(at []int) {
			if mask.set(at, float64(truth(r.IntN(3) > 0))); a.Mask != dtype.Bool {
				mask.set(at, []float64{0.5, -1, math.Inf(-1), 2}[r.IntN(4)])
			}
		})
		a.MaskSize = mask.operand.View.Shape.Size()
		m.mask = mask
		m.mask.operand.View = mask.operand.View.Expand([]int{a.Batch, a.Heads, a.Queries, a.Keys})
		copy(a.MaskStrides[:], m.mask.operand.View.Strides)
		operands = append(operands, mask)
	}
	m.a = a
	m.compute()
	of := func(x []tensor) (all []template.Operand) {
		for _, x := range x {
			all = append(all, x.operand)
		}
		return all
	}
	y := dense(c.d, 8, a.Batch, a.Heads, a.Queries, a.ValueWidth)
	w := template.Attend(c.target, a, of(operands), y.operand)
	execute(t, w, c.target, operands, []tensor{y})
	near(t, y, m.y, c.tolerance, "y")
	for _, l := range w.Launches {
		require.Equal(t, c.kernel, l.Kernel.Name)
	}
	back := append([]tensor{m.q, m.k, m.v, y, m.dy}, operands[3:]...)
	grads := []tensor{dense(c.d, 8, dimsOf(m.q)...), dense(c.d, 8, dimsOf(m.k)...), dense(c.d, 8, dimsOf(m.v)...)}
	w = template.AttendBackward(c.target, a, of(back), of(grads))
	execute(t, w, c.target, back, grads)
	for i, want := range [][]float64{m.dq, m.dk, m.dv} {
		near(t, grads[i], want, 4*c.tolerance, []string{"dq", "dk", "dv"}[i])
	}
	if strings.HasSuffix(c.kernel, "mma") && a.Softcap == 0 {
		require.True(t, strings.HasSuffix(w.Launches[0].Kernel.Name, "mma"))
	}
	if t.Failed() {
		t.Fatalf("%+v", a)
	}
}

// TestAttentionLanes computes attention without matrix instructions: masks, caps, windows, positions before and behind the keys, groups of heads, and
// rows that see no key, whose results and gradients are 0. The gaps between the rows of operands contain NaN.
func TestAttentionLanes(t *testing.T) {
	for i, a := range []template.Attention{
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 1, Keys: 1, Width: 1, ValueWidth: 1},
		{Batch: 2, Heads: 2, KeyHeads: 1, Queries: 5, Keys: 7, Width: 3, ValueWidth: 5},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 17, Keys: 35, Width: 8, ValueWidth: 4, Causal: true, Past: 18},
		{Batch: 1, Heads: 2, KeyHeads: 2, Queries: 9, Keys: 6, Width: 4, ValueWidth: 4, Causal: true, Past: -4},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 20, Keys: 20, Width: 2, ValueWidth: 3, Window: 4},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 6, Keys: 40, Width: 2, ValueWidth: 3, Window: 3, Causal: true, Past: 30},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 4, Keys: 5, Width: 2, ValueWidth: 3, Past: 50, Window: 10},
		{Batch: 1, Heads: 2, KeyHeads: 1, Queries: 6, Keys: 9, Width: 5, ValueWidth: 2, Softcap: 0.75},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 3, Keys: 5, Width: 70, ValueWidth: 66},
		{Batch: 2, Heads: 2, KeyHeads: 2, Queries: 5, Keys: 6, Width: 3, ValueWidth: 2, Scale: -0.7},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 70, Keys: 70, Width: 1, ValueWidth: 1, Window: 2}, // across the ends of tiles
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 3, Keys: 0, Width: 2, ValueWidth: 2},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 0, Keys: 3, Width: 2, ValueWidth: 2},
		{Batch: 1, Heads: 1, KeyHeads: 1, Queries: 2, Keys: 3, Width: 0, ValueWidth: 2},
	} {
		c := attentionCase{a: a, d: dtype.F32, target: web(4), gap: i % 3, tolerance: 1e-5, kernel: "attention"}
		if i%4 == 1 {
			c.d, c.target, c.tolerance = dtype.F64, hopper(4), 1e-12
		}
		if a.Keys == 0 {
			c.kernel = "attention_none"
		}
		testAttention(t, c)
	}
	for i, mask := range [][]int{{2, 2, 5, 6}, {2, 1, 1, 6}, {1, 1, 5, 1}, {1, 2, 1, 6}} {
		for k, d := range []dtype.DType{dtype.Bool, dtype.F32} {
			if (i+k)%2 != 0 {
				continue
			}
			target := web(4)
			target.Types |= dtype.Bools
			a := template.Attention{Batch: 2, Heads: 2, KeyHeads: 1, Queries: 5, Keys: 6, Width: 3, ValueWidth: 4, Mask: d, Softcap: float64(i / 2), Causal: i == 3, Past: 1}
			testAttention(t, attentionCase{a: a, d: dtype.F32, target: target, tolerance: 1e-5, mask: mask, kernel: "attention"})
		}
	}
}

// TestAttentionFragments computes attention with the matrix instructions of several vendors. Kernels without matrix instructions compute
// widths and strides that these do not support.
func TestAttentionFragments(t *testing.T) {
	for i, c := range []attentionCase{
		{a: template.Attention{Queries: 5, Keys: 9, Width: 16, ValueWidth: 16}, kernel: "attention_mma"},
		{a: template.Attention{Queries: 18, Keys: 70, Width: 16, ValueWidth: 32, Causal: true, Past: 50}, gap: 8, kernel: "attention_mma"},
		{a: template.Attention{Queries: 66, Keys: 20, Width: 32, ValueWidth: 16, Window: 7}, kernel: "attention_mma"},
		{a: template.Attention{Queries: 7, Keys: 33, Width: 16, ValueWidth: 16, Mask: dtype.Bool}, mask: []int{1, 1, 7, 33}, kernel: "attention_mma"},
		{a: template.Attention{Queries: 7, Keys: 33, Width: 16, ValueWidth: 16, Softcap: 2}, kernel: "attention_mma"},
		{a: template.Attention{Queries: 4, Keys: 9, Width: 16, ValueWidth: 16}, gap: 4, kernel: "attention"},
		{a: template.Attention{Queries: 4, Keys: 9, Width: 16, ValueWidth: 24}, kernel: "attention"},
	} {
		c.a.Batch, c.a.Heads, c.a.KeyHeads = 1, 1+i%2, 1
		c.d, c.target, c.tolerance = dtype.F16, hopper(4), 8e-3
		switch i % 4 {
		case 1:
			c.d, c.tolerance = dtype.BF16, 6e-2
		case 2:
			c.target = orders["gfx9"](4)
		case 3:
			c.target = orders["gfx11"](4)
		}
		testAttention(t, c)
	}
}
