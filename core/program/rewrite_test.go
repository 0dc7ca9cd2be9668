package program_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// sketch builds the program of a test, with values for its inputs and constants.
type sketch struct {
	*op.Builder
	p      *program.Program
	d      dtype.DType
	last   op.TensorID
	r      *rand.Rand
	values map[op.TensorID]ref.Tensor
	outs   []op.TensorID
}

func newSketch(d dtype.DType, seed uint64) *sketch {
	s := &sketch{p: &program.Program{Name: "sketch"}, d: d, r: rand.New(rand.NewPCG(seed, 5)), values: map[op.TensorID]ref.Tensor{}}
	s.Builder = op.NewBuilder(func() op.TensorID { s.last++; return s.last })
	return s
}

// input adds an input of random values from -3 to 3; integers and bools are 0 or 1.
func (s *sketch) input(d dtype.DType, dims ...int) op.Desc {
	s.last++
	t := ref.Zeros(op.Desc{ID: s.last, DType: d, Shape: dims})
	for i := range t.F {
		t.F[i] = ref.Round(d, 6*s.r.Float64()-3)
	}
	for i := range t.I {
		t.I[i] = s.r.Int64N(2)
	}
	s.values[s.last] = t
	s.p.Inputs = append(s.p.Inputs, t.Desc)
	return t.Desc
}

func (s *sketch) x(dims ...int) op.Desc { return s.input(s.d, dims...) }

// constant adds a constant whose elements repeat v.
func (s *sketch) constant(dims []int, v ...float64) op.Desc {
	s.last++
	t := ref.Zeros(op.Desc{ID: s.last, DType: s.d, Shape: dims})
	for i := range t.F {
		t.F[i] = ref.Round(s.d, v[i%len(v)])
	}
	s.values[s.last] = t
	s.p.Consts = append(s.p.Consts, t.Desc)
	return t.Desc
}

// n returns a number, at random as a node or as a constant of rank 0 or 1.
func (s *sketch) n(v float64) op.Desc {
	switch s.r.IntN(3) {
	case 0:
		return s.constant(nil, v)
	case 1:
		return s.constant([]int{1}, v)
	}
	return s.Scalar(s.d, v)
}

// give adds d to the outputs of the program.
func (s *sketch) give(d op.Desc) { s.outs = append(s.outs, d.ID) }

func (s *sketch) program(t *testing.T) *program.Program {
	t.Helper()
	require.NoError(t, s.Err())
	s.p.Nodes, s.p.Outputs = s.Nodes, s.outs
	require.NoError(t, s.p.Check())
	return s.p
}

// known returns the bytes of constant i.
func (s *sketch) known(i int) []byte {
	v := s.values[s.p.Consts[i].ID]
	var b []byte
	for _, f := range v.F {
		if s.d == dtype.F64 {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		}
	}
	for _, k := range v.I {
		b = append(b, byte(k))
	}
	return b
}

// run returns the outputs of p, computed by the reference.
func (s *sketch) run(t *testing.T, p *program.Program) []ref.Tensor {
	t.Helper()
	at := map[op.TensorID]ref.Tensor{}
	for id, v := range s.values {
		at[id] = v
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in := make([]ref.Tensor, len(n.Inputs))
		for k, id := range n.Inputs {
			in[k] = at[id]
		}
		outs, err := ref.Eval(n, in)
		require.NoError(t, err)
		for k, o := range outs {
			at[n.Outputs[k].ID] = o
		}
	}
	var outs []ref.Tensor
	for _, id := range p.Outputs {
		outs = append(outs, at[id])
	}
	return outs
}

// rewrite returns the rewritten program, after checking that it computes the same results.
func (s *sketch) rewrite(t *testing.T, supports func(*op.Node, []op.Desc) bool) *program.Program {
	t.Helper()
	p := s.program(t)
	before := p.String()
	q := p.Rewrite(s.known, supports)
	require.Equal(t, before, p.String(), "Rewrite does not change its receiver")
	require.NoError(t, q.Check(), "%v", q)
	require.Equal(t, p.Outputs, q.Outputs)
	require.Equal(t, p.Inputs, q.Inputs)
	require.Equal(t, p.Consts, q.Consts)
	unit := 1e-12
	if s.d == dtype.F32 {
		unit = 1e-5
	}
	want, got := s.run(t, p), s.run(t, q)
	for i := range want {
		require.True(t, want[i].Desc.SameType(got[i].Desc))
		for k, w := range want[i].F {
			require.InDelta(t, w, got[i].F[k], unit*(1+math.Abs(w)), "output %d, element %d\n%v", i, k, q)
		}
		require.Equal(t, want[i].I, got[i].I, "output %d\n%v", i, q)
	}
	return q
}

// ops counts the ops of a program, without Full, Reshape and Permute.
func ops(p *program.Program) map[op.Code]int {
	m := map[op.Code]int{}
	for _, n := range p.Nodes {
		switch n.Op {
		case op.Full, op.Reshape, op.Permute:
		default:
			m[n.Op]++
		}
	}
	return m
}

// form is a way to write a computation: write adds its nodes to a sketch and returns its result.
type form struct {
	name  string
	write func(s *sketch) op.Desc
}

// found checks that each form is rewritten to exactly these ops.
func found(t *testing.T, forms []form, want ...op.Code) {
	t.Helper()
	wanted := map[op.Code]int{}
	for _, c := range want {
		wanted[c]++
	}
	each(t, forms, func(t *testing.T, s *sketch, y op.Desc) {
		s.give(y)
		q := s.rewrite(t, nil)
		require.Equal(t, wanted, ops(q), "%v", q)
	})
}

// missed checks that no form is rewritten to any of these ops.
func missed(t *testing.T, forms []form, unwanted ...op.Code) {
	t.Helper()
	each(t, forms, func(t *testing.T, s *sketch, y op.Desc) {
		s.give(y)
		q := s.rewrite(t, nil)
		for _, c := range unwanted {
			require.Zero(t, ops(q)[c], "%v", q)
		}
	})
}

// each calls f with every form, in f32 and f64 and with several seeds.
func each(t *testing.T, forms []form, f func(t *testing.T, s *sketch, y op.Desc)) {
	t.Helper()
	for _, fm := range forms {
		for seed := range uint64(4) {
			d := []dtype.DType{dtype.F32, dtype.F64}[seed%2]
			t.Run(fmt.Sprintf("%s/%v/%d", fm.name, d, seed), func(t *testing.T) {
				s := newSketch(d, seed)
				f(t, s, fm.write(s))
			})
		}
	}
}
