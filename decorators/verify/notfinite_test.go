package verify_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/decorators/verify"
)

// found checks that the next event of s returns the fault that was reported last, once.
func (r *rig) found(s core.Stream, parts ...string) {
	r.t.Helper()
	_, before := r.log.Report()
	r.refused(core.Sync(ctx, s), verify.Value, core.ErrKernel, parts...)
	require.NoError(r.t, core.Sync(ctx, s))
	_, after := r.log.Report()
	require.Equal(r.t, before, after)
}

func TestNotFinite(t *testing.T) {
	r := reference(t, verify.NotFinite())
	s := r.stream()
	x := r.write(s, 1, 0, -1)
	y := r.do(s, op.Log, r.do(s, op.Neg, x)) // NaN, -Inf, 0
	r.do(s, op.Exp, y)                       // not a fault: its operand is not finite
	faults, n := r.log.Report()
	require.Equal(t, 1, n)
	require.Equal(t, y.ID, faults[0].Tensor)
	r.found(s, "log (command 3 of stream 0)", "got NaN at element 0")

	z := r.do(s, op.Log, r.do(s, op.Abs, x))
	r.found(s, "-Inf at element 1", z.ID.String())
	big := r.write(s, 1, 2e38)
	r.do(s, op.Add, big, big)
	r.found(s, "+Inf at element 1")

	// non-finite values that the host requests or writes
	n0, err := op.New(op.Full, nil, op.Dims("shape", []int{2}), op.Type("dtype", dtype.F32), op.ScalarFloat("value", math.Inf(-1)))
	require.NoError(t, err)
	n0.Outputs[0].ID = r.NewIDs(1)
	require.NoError(t, s.Submit([]op.Node{n0}, nil))
	nan := r.write(s, 1, float32(math.NaN()))
	r.do(s, op.Neg, nan)
	r.do(s, op.Add, n0.Outputs[0], nan)
	require.NoError(t, core.Sync(ctx, s))

	// within one Submit, whose nodes drop their operands
	w := r.write(s, 0)
	a := r.node(op.Neg, w)
	a.Drop = 1
	b := r.node(op.Log, a.Outputs[0])
	b.Drop = 1
	c := r.node(op.Neg, b.Outputs[0])
	require.NoError(t, s.Submit([]op.Node{a, b, c}, []op.TensorID{b.Outputs[0].ID}))
	r.found(s, "log", b.Outputs[0].ID.String())
	_, n = r.log.Report()
	require.Equal(t, 4, n)
}

func TestNotFiniteTypes(t *testing.T) {
	r := reference(t, verify.NotFinite(), verify.PassOn())
	s := r.stream()
	zero := r.write(s, 1, 0)
	for i, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16} {
		n, err := op.New(op.Cast, []op.Desc{zero}, op.Type("dtype", d))
		require.NoError(t, err)
		n.Outputs[0].ID = r.NewIDs(1)
		require.NoError(t, s.Submit([]op.Node{n}, nil))
		r.do(s, op.Log, n.Outputs[0])
		faults, count := r.log.Report()
		require.Equal(t, i+1, count)
		require.ErrorContains(t, faults[i], d.String()+"[2] is made of finite operands, got -Inf at element 1")
	}
	require.NoError(t, core.Sync(ctx, s), "with PassOn, events return no fault")

	// NaN in f8e4m3fn: written by the host, and as the result of a cast of 1e9, which does not fit
	small := op.Desc{ID: r.NewIDs(1), DType: dtype.F8E4M3FN, Shape: []int{2}}
	require.NoError(t, s.Write(ctx, small, []byte{0, 0x7f}))
	to := func(x op.Desc, d dtype.DType) op.Desc {
		n, err := op.New(op.Cast, []op.Desc{x}, op.Type("dtype", d), op.Flag("saturate", false))
		require.NoError(t, err)
		n.Outputs[0].ID = r.NewIDs(1)
		require.NoError(t, s.Submit([]op.Node{n}, nil))
		return n.Outputs[0]
	}
	to(small, dtype.F32)
	_, count := r.log.Report()
	require.Equal(t, 4, count)
	to(to(r.write(s, 1, 1e9), dtype.F8E4M3FN), dtype.F32)
	faults, count := r.log.Report()
	require.Equal(t, 5, count)
	require.ErrorContains(t, faults[4], "f8e4m3fn[2] is made of finite operands, got NaN at element 1")
}

// logarithm returns a program with the outputs log|x-c| (twice), x, c and x == c: the logarithm is -Inf where x equals the constant c.
func logarithm(t *testing.T) *program.Program {
	x, c := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{2}}, op.Desc{ID: 2, DType: dtype.F32, Shape: []int{2}}
	sub, err := op.New(op.Sub, []op.Desc{x, c})
	require.NoError(t, err)
	sub.Outputs[0].ID = 3
	abs, err := op.New(op.Abs, []op.Desc{sub.Outputs[0]})
	require.NoError(t, err)
	abs.Outputs[0].ID, abs.Drop = 4, 1
	log, err := op.New(op.Log, []op.Desc{abs.Outputs[0]})
	require.NoError(t, err)
	log.Outputs[0].ID = 5
	same, err := op.New(op.Equal, []op.Desc{x, c})
	require.NoError(t, err)
	same.Outputs[0].ID = 6
	return &program.Program{Name: "logarithm", Inputs: []op.Desc{x}, Consts: []op.Desc{c}, Nodes: []op.Node{sub, abs, log, same},
		Outputs: []op.TensorID{5, 5, 1, 2, 6}}
}

// run donates x to a new run of p, which has n outputs.
func (r *rig) run(s core.Stream, p core.ProgramID, x op.Desc, n int) []op.TensorID {
	first := r.NewIDs(n)
	outs := make([]op.TensorID, n)
	for i := range outs {
		outs[i] = first + op.TensorID(i)
	}
	require.NoError(r.t, r.programs().Run(s, core.Run{Program: p, Inputs: []op.TensorID{x.ID}, Donated: []bool{true}, Outputs: outs}))
	return outs
}

func TestNotFinitePrograms(t *testing.T) {
	r := reference(t, verify.NotFinite())
	s := r.stream()
	c := r.write(s, 1, 2)
	p, err := r.programs().Define(ctx, s, logarithm(t), []op.TensorID{c.ID})
	require.NoError(t, err)
	require.NoError(t, r.free(s, c))
	pair := func(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: dtype.F32, Shape: []int{2}} }
	good := r.run(s, p, r.write(s, 2, 3), 5)
	require.NoError(t, core.Sync(ctx, s))
	require.Equal(t, []float32{0, 0}, r.read(s, pair(good[0])))
	require.Equal(t, []float32{2, 3}, r.read(s, pair(good[2])))
	require.Equal(t, []float32{1, 2}, r.read(s, pair(good[3])))
	bad := r.run(s, p, r.write(s, 2, 2), 5)
	r.found(s, `log in run "logarithm" (command`, "-Inf at element 1")
	r.do(s, op.Neg, pair(bad[1]))
	require.NoError(t, core.Sync(ctx, s), "not a fault: its operand is not finite")
	r.do(s, op.Log, r.do(s, op.Sub, pair(bad[3]), pair(bad[3])))
	r.found(s, "log (command")
	same := make([]byte, 2)
	require.NoError(t, core.Read(ctx, s, bad[4], same))
	require.Equal(t, []byte{0, 1}, same)
	require.NoError(t, s.Submit(nil, append(good, bad...)))
	require.NoError(t, r.programs().Undefine(p))
	require.NoError(t, core.Sync(ctx, s))
	m, ok := core.Extension[core.MemoryStats](r.Device)
	require.True(t, ok)
	require.Equal(t, int64(3), m.Memory().Tensors, "the results of neg, sub and log, and no tensors of verify")
	_, n := r.log.Report()
	require.Equal(t, 2, n)
}

// On a device without copy, programs run as a whole, and the fault names the run instead of the node.
func TestNotFiniteWholePrograms(t *testing.T) {
	r := over(t, ref.New(ref.Declaring(func(c *core.Capabilities) { delete(c.Ops, "copy") })), verify.NotFinite())
	s := r.stream()
	c := r.write(s, 1, 2)
	log := logarithm(t)
	log.Outputs = []op.TensorID{5}
	p, err := r.programs().Define(ctx, s, log, []op.TensorID{c.ID})
	require.NoError(t, err)
	r.run(s, p, r.write(s, 2, 3), 1)
	require.NoError(t, core.Sync(ctx, s))
	r.run(s, p, r.write(s, 2, 2), 1)
	r.found(s, `run "logarithm" (command`, "-Inf at element 1")
	r.run(s, p, r.write(s, 2, float32(math.Inf(1))), 1)
	require.NoError(t, core.Sync(ctx, s))
}
