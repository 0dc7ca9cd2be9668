package verify_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/verify"
	"github.com/goburn/burn/plugins/cpu"
)

// wrong returns a reference backend that multiplies the results of op c by factor.
func wrong(c op.Code, factor float64) core.Backend {
	return ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if err == nil && n.Op == c {
			for i := range out[0].F {
				out[0].F[i] *= factor
			}
		}
		return out, err
	}))
}

// tally counts the comparisons and collects what was skipped, with the reasons.
type tally struct {
	compared int
	skipped  []string
}

func (c *tally) note(what string, skipped error) {
	if skipped == nil {
		c.compared++
		return
	}
	c.skipped = append(c.skipped, what+": "+skipped.Error())
}

// beside opens b behind verify, which compares its results with those of second.
func beside(t *testing.T, b, second core.Backend, c *tally, options ...verify.Option) *rig {
	d, err := second.Open(ctx, 0)
	require.NoError(t, err)
	r := over(t, b, append(options, verify.Against(d, c.note))...)
	t.Cleanup(func() { require.NoError(t, errors.Join(r.backend.Close(), d.Close(), second.Close())) })
	return r
}

func TestAgainst(t *testing.T) {
	var c tally
	r := beside(t, wrong(op.Exp, 1.001), ref.New(), &c)
	s := r.stream()
	x := r.write(s, 1, 2, 3)
	y := r.do(s, op.Neg, r.do(s, op.Add, x, x))
	require.NoError(t, core.Sync(ctx, s))
	r.clean()
	require.Equal(t, 2, c.compared)

	z := r.do(s, op.Exp, y)
	r.do(s, op.Abs, z) // its operand is to blame
	f := r.refused(core.Sync(ctx, s), verify.Difference, core.ErrKernel, "exp (command", "at element 0")
	require.Equal(t, z.ID, f.Tensor)
	require.NoError(t, core.Sync(ctx, s), "once")
	_, n := r.log.Report()
	require.Equal(t, 1, n)
	require.Equal(t, 4, c.compared)

	// operands that the node drops, and one that occurs twice
	w := r.write(s, 4)
	drop := r.node(op.Mul, w, w)
	drop.Drop = 2
	require.NoError(t, s.Submit([]op.Node{drop}, nil))
	require.NoError(t, core.Sync(ctx, s))
	require.Equal(t, []float32{16}, r.read(s, drop.Outputs[0]))
	require.Equal(t, 5, c.compared)
	require.Empty(t, c.skipped)
}

// A program is compared node by node, and the fault names the node.
func TestAgainstPrograms(t *testing.T) {
	for name, b := range map[string]core.Backend{"right": ref.New(), "wrong": wrong(op.Mul, 0.5)} {
		t.Run(name, func(t *testing.T) {
			var c tally
			r := beside(t, b, ref.New(), &c, verify.PassOn())
			s := r.stream()
			k := r.write(s, 3, 5)
			id, err := r.programs().Define(ctx, s, doubling(t, 2), []op.TensorID{k.ID})
			require.NoError(t, err)
			x, out := r.write(s, 1, 2), r.desc(2)
			require.NoError(t, r.programs().Run(s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Outputs: []op.TensorID{out.ID}}))
			require.NoError(t, core.Sync(ctx, s))
			require.Equal(t, 2, c.compared)
			if name == "right" {
				r.clean()
				require.Equal(t, []float32{4, 12}, r.read(s, out))
				return
			}
			faults, n := r.log.Report()
			require.Equal(t, 1, n, "the sum is right for its wrong operand")
			require.ErrorContains(t, faults[0], "mul in run \"doubling\"")
			require.Equal(t, []float32{2.5, 7}, r.read(s, out), "results stay those of the checked device")
		})
	}
}

// Ops that the second backend lacks are decomposed, or reported as skipped.
func TestAgainstLesser(t *testing.T) {
	var c tally
	r := beside(t, ref.New(), ref.New(ref.Claiming(func(c op.Code) bool { return c != op.Relu && c != op.Sin })), &c)
	s := r.stream()
	x := r.write(s, -1, 2)
	r.do(s, op.Relu, x)
	require.Equal(t, 1, c.compared)
	r.do(s, op.Sin, x)
	require.Equal(t, 1, c.compared)
	require.Len(t, c.skipped, 1)
	require.Contains(t, c.skipped[0], "sin: ")

	// a node with a poisoned operand is not a fault
	big, err := op.New(op.Gather, []op.Desc{x, index(r, s, 7)}, op.Int("axis", 0))
	require.NoError(t, err)
	big.Outputs[0].ID = r.NewIDs(1)
	require.NoError(t, s.Submit([]op.Node{big}, nil))
	r.do(s, op.Neg, big.Outputs[0])
	require.Error(t, core.Sync(ctx, s))
	_, n := r.log.Report()
	require.Zero(t, n)
}

// index returns an i64 tensor of one element.
func index(r *rig, s core.Stream, i int64) op.Desc {
	d := op.Desc{ID: r.NewIDs(1), DType: dtype.I64, Shape: []int{1}}
	require.NoError(r.t, s.Write(ctx, d, dtype.Bytes([]int64{i})))
	return d
}

// Different results are detected in every type.
func TestAgainstTypes(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I32, dtype.U8} {
		var c tally
		r := beside(t, ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			out, err := ref.Eval(n, in)
			if err == nil && n.Op == op.Abs {
				for i := range out[0].F {
					out[0].F[i] *= 2
				}
				for i := range out[0].I {
					out[0].I[i]++
				}
			}
			return out, err
		})), ref.New(), &c)
		s := r.stream()
		n, err := op.New(op.Cast, []op.Desc{r.write(s, 1, 2)}, op.Type("dtype", d))
		require.NoError(t, err)
		n.Outputs[0].ID = r.NewIDs(1)
		require.NoError(t, s.Submit([]op.Node{n}, nil))
		require.NoError(t, core.Sync(ctx, s))
		r.do(s, op.Abs, n.Outputs[0])
		r.refused(core.Sync(ctx, s), verify.Difference, core.ErrKernel, "abs", d.String())
	}
}

// Sums of large terms that cancel depend on the order of addition; the difference is not a fault.
func TestAgainstSums(t *testing.T) {
	var c tally
	b, err := cpu.New(core.Config{Threads: 1})
	require.NoError(t, err)
	r := beside(t, b, ref.New(), &c)
	s := r.stream()
	const n = 4096
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(1000+i) / 3
		if i%2 > 0 {
			values[i] = -float32(1000+i-1) / 3 * 1.0000001
		}
	}
	x := r.write(s, values...)
	sum, err := op.New(op.Sum, []op.Desc{x}, op.Ints("axes", 0))
	require.NoError(t, err)
	sum.Outputs[0].ID = r.NewIDs(1)
	require.NoError(t, s.Submit([]op.Node{sum}, nil))
	require.NoError(t, core.Sync(ctx, s))
	r.clean()
	require.Equal(t, 1, c.compared)
}
