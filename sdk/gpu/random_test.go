package gpu

import (
	"math/rand/v2"
	"testing"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/internal/long"
)

// randomProgram returns a program of elementwise nodes, reductions and movements on small tensors.
func randomProgram(t *testing.T, rng *rand.Rand) *maker {
	m := newMaker(t, "random")
	dims := []int{2 + rng.IntN(3), 1 + rng.IntN(5), 3 + rng.IntN(6)}
	all := ids(m.input(dims...), m.input(dims...), m.input(dims[2]), m.constant(dims...), m.constant(dims[0], 1, 1))
	pick := func() op.TensorID { return all[rng.IntN(len(all))] }
	for range 4 + rng.IntN(24) {
		x := pick()
		s := m.d[x].Shape
		axes := rng.Perm(len(s))
		y := op.TensorID(0)
		switch rng.IntN(14) {
		case 0, 1, 2:
			y = m.node([]op.Code{op.Tanh, op.Neg, op.Abs, op.Sin, op.Relu}[rng.IntN(5)], ids(x))
		case 3, 4, 5, 6:
			o := pick()
			n, err := op.New(op.Add, []op.Desc{m.d[x], m.d[o]})
			if err != nil || n.Outputs[0].Shape.Size() > 2000 {
				continue
			}
			y = m.node([]op.Code{op.Add, op.Sub, op.Max, op.Min}[rng.IntN(4)], ids(x, o))
		case 7:
			y = m.node(op.Permute, ids(x), op.Ints("axes", axes...))
		case 8:
			if len(s) == 0 {
				continue
			}
			y = m.node([]op.Code{op.Mean, op.ReduceMax}[rng.IntN(2)], ids(x), op.Ints("axes", axes[:1+rng.IntN(len(s))]...), op.Flag("keep_dims", rng.IntN(3) > 0))
		case 9:
			y = m.node(op.Reshape, ids(x), op.Dims("shape", []int{s.Size()}))
		case 10:
			var start, size, step []int
			for _, v := range s {
				k := rng.IntN(v)
				start, size, step = append(start, k), append(size, 1+rng.IntN(v-k)), append(step, 1)
			}
			y = m.node(op.Slice, ids(x), op.Ints("start", start...), op.Ints("size", size...), op.Ints("step", step...))
		case 11:
			y = m.node(op.Flip, ids(x), op.Ints("axes", axes[:rng.IntN(len(s)+1)]...))
		case 12:
			if len(s) == 0 || s.Size() > 500 {
				continue
			}
			y = m.node(op.Concat, ids(x, m.node(op.Neg, ids(x)), x), op.Int("axis", rng.IntN(len(s))))
		case 13:
			if len(s) > 0 {
				y = m.node(op.Softmax, ids(x), op.Int("axis", rng.IntN(len(s))))
			}
		}
		if y != 0 {
			all = append(all, y)
		}
	}
	m.p.Outputs = ids(all[len(all)-1])
	for range rng.IntN(4) {
		m.p.Outputs = append(m.p.Outputs, pick())
	}
	return m
}

// TestRandomPrograms compares three runs of each random program with the reference, on uninitialized memory, with and without groups, and
// with donated inputs.
func TestRandomPrograms(t *testing.T) {
	n := 120
	if long.Tests() {
		n = 5000
	}
	rng := rand.New(rand.NewPCG(5, 6))
	d, _ := openDevice(t, Options{}, func(d *fakeDevice) { d.jitter = true })
	groups := d.policy
	for i := range n {
		m := randomProgram(t, rng)
		donated := make([]bool, len(m.p.Inputs))
		for k := range donated {
			donated[k] = rng.IntN(2) == 0
		}
		if d.policy = groups; i%4 == 0 {
			d.policy.Kinds, d.policy.Absorb = 0, 0
		}
		d.options.keepFrom = i % 2 // every second program recomputes tensors of any size
		compare(t, d, m.p, donated)
		if t.Failed() {
			return
		}
	}
}
