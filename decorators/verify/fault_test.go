package verify_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/verify"
)

func TestLifetime(t *testing.T) {
	r := reference(t)
	s := r.stream()
	d := r.write(s, 1)
	require.NoError(t, r.free(s, d))
	f := r.refused(s.Submit([]op.Node{r.node(op.Neg, d)}, nil), verify.Unknown, core.ErrUnknownTensor, "operand 0", "free (command 2 of stream 0)")
	require.Equal(t, "neg (command 3 of stream 0)", f.Command)
	r.refused(r.free(s, d), verify.Unknown, core.ErrUnknownTensor, "is freed, got a tensor that free")
	r.refused(core.Read(ctx, s, d.ID, make([]byte, 4)), verify.Unknown, core.ErrUnknownTensor, "is read")

	n := r.node(op.Add, r.write(s, 1), r.write(s, 2))
	n.Inputs[1] = n.Inputs[0]
	n.Drop = 3
	r.refused(s.Submit([]op.Node{n}, nil), verify.Unknown, core.ErrUnknownTensor, "is dropped")
	n.Drop = 1
	require.NoError(t, s.Submit([]op.Node{n}, nil))
	r.refused(s.Submit(nil, n.Inputs[:1]), verify.Unknown, core.ErrUnknownTensor, "add (command")

	r.refused(r.free(s, op.Desc{ID: r.NewIDs(1)}), verify.Unknown, core.ErrUnknownTensor, "no command has made")
	r.refused(r.free(s, op.Desc{ID: 1 << 20}), verify.Unknown, core.ErrUnknownTensor, "NewIDs did not give out")
	r.refused(r.free(s, op.Desc{}), verify.Unknown, core.ErrUnknownTensor, "NewIDs did not give out")
	r.refused(r.programs().Run(s, core.Run{Program: 77}), verify.Unknown, core.ErrNotFound, "program 77")
	r.refused(r.programs().Undefine(77), verify.Unknown, core.ErrNotFound, "program 77")
}

// verify knows all freed ids, also after it has forgotten which command freed them.
func TestLongAgo(t *testing.T) {
	r := reference(t)
	s := r.stream()
	first := r.write(s, 1)
	require.NoError(t, r.free(s, first))
	for range 5000 {
		require.NoError(t, r.free(s, r.write(s, 1)))
	}
	r.refused(r.free(s, first), verify.Unknown, core.ErrUnknownTensor, "a tensor that was freed")
	r.refused(s.Write(ctx, first, make([]byte, 4)), verify.Identity, core.ErrProtocol, "a tensor that was freed, want a new id")
}

func TestIdentity(t *testing.T) {
	r := reference(t)
	s := r.stream()
	d := r.write(s, 1)
	f := r.refused(s.Write(ctx, d, make([]byte, 4)), verify.Identity, core.ErrProtocol, "the id of what write (command 1 of stream 0) made")
	require.Equal(t, "write (command 1 of stream 0)", f.Other)
	require.NoError(t, r.free(s, d))
	r.refused(s.Write(ctx, d, make([]byte, 4)), verify.Identity, core.ErrProtocol, "freed, want a new id")
	d.ID += 1 << 20
	r.refused(s.Write(ctx, d, make([]byte, 4)), verify.Identity, core.ErrProtocol, "NewIDs did not give out")
	n := r.node(op.Neg, r.write(s, 1))
	n.Drop, n.Outputs[0].ID = 1, n.Inputs[0]
	r.refused(s.Submit([]op.Node{n}, nil), verify.Identity, core.ErrProtocol)
}

func TestInvalidNodes(t *testing.T) {
	r := over(t, ref.New(ref.Declaring(func(c *core.Capabilities) { delete(c.Ops, "exp"); c.Limits.Bytes = 64 })))
	s := r.stream()
	x := r.write(s, 1, 2)
	n := r.node(op.Neg, x)
	n.Outputs[0].Shape = []int{3}
	r.refused(s.Submit([]op.Node{n}, nil), verify.Invalid, core.ErrShape, "want f32[2]")
	n = r.node(op.Neg, x)
	n.Inputs = nil
	r.refused(s.Submit([]op.Node{n}, nil), verify.Invalid, core.ErrShape)
	n = r.node(op.Neg, x)
	n.Version = 9
	r.refused(s.Submit([]op.Node{n}, nil), verify.Invalid, core.ErrUnsupported, "version")
	n = r.node(op.Neg, x)
	n.Drop = 2
	r.refused(s.Submit([]op.Node{n}, nil), verify.Invalid, core.ErrAttr, "drop mask")
	r.refused(s.Submit([]op.Node{r.node(op.Exp, x)}, nil), verify.Invalid, core.ErrUnsupported, "exp")
	big, err := op.New(op.Full, nil, op.Dims("shape", []int{17}), op.Type("dtype", dtype.F32), op.ScalarFloat("value", 1))
	require.NoError(t, err)
	big.Outputs[0].ID = r.NewIDs(1)
	r.refused(s.Submit([]op.Node{big}, nil), verify.Invalid, core.ErrUnsupported, "64 bytes")
}

func TestInvalidMemory(t *testing.T) {
	r := reference(t)
	s := r.stream()
	d := r.desc(2)
	r.refused(s.Write(ctx, d, make([]byte, 7)), verify.Invalid, core.ErrShape, "got 7 bytes, want 8")
	d.DType = 99
	r.refused(s.Write(ctx, d, make([]byte, 8)), verify.Invalid, core.ErrDType)
	d.DType, d.Shape = dtype.F32, []int{-1}
	r.refused(s.Write(ctx, d, nil), verify.Invalid, core.ErrShape)
	x := r.write(s, 1, 2)
	r.refused(core.Read(ctx, s, x.ID, make([]byte, 9)), verify.Invalid, core.ErrShape, "room for 9 bytes, want 8")
	narrow := over(t, ref.New(ref.Declaring(func(c *core.Capabilities) { c.Types &^= dtype.SetOf(dtype.F64) })))
	r, s = narrow, narrow.stream()
	r.refused(s.Write(ctx, op.Desc{ID: r.NewIDs(1), DType: dtype.F64}, make([]byte, 8)), verify.Invalid, core.ErrUnsupported, "f64")
}

func TestInvalidPrograms(t *testing.T) {
	r := reference(t)
	s := r.stream()
	p := r.programs()
	c, x := r.write(s, 3, 3), r.write(s, 1, 2)
	ids := func(ds ...op.Desc) (list []op.TensorID) {
		for _, d := range ds {
			list = append(list, d.ID)
		}
		return list
	}
	bad := doubling(t, 2)
	bad.Outputs = []op.TensorID{9}
	_, err := p.Define(ctx, s, bad, ids(c))
	r.refused(err, verify.Invalid, core.ErrAttr, `define "doubling" (command 3 of stream 0)`)
	_, err = p.Define(ctx, s, doubling(t, 2), nil)
	r.refused(err, verify.Invalid, core.ErrAttr, "0 constants, want 1")
	_, err = p.Define(ctx, s, doubling(t, 3), ids(c))
	r.refused(err, verify.Invalid, core.ErrShape, "constant 0", "want f32[3]")
	id, err := p.Define(ctx, s, doubling(t, 2), ids(c))
	require.NoError(t, err)

	out := func(n int) []op.TensorID {
		first := r.NewIDs(n)
		list := make([]op.TensorID, n)
		for i := range list {
			list[i] = first + op.TensorID(i)
		}
		return list
	}
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(x, x), Outputs: out(1)}), verify.Invalid, core.ErrAttr, "2 inputs and 1 outputs, want 1 and 1")
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(x), Outputs: out(2)}), verify.Invalid, core.ErrAttr)
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(x), Outputs: out(1), Donated: []bool{true, false}}), verify.Invalid, core.ErrAttr, "2 donations")
	y := r.write(s, 1)
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(y), Outputs: out(1)}), verify.Invalid, core.ErrShape, "is f32[1], want f32[2]")
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(x), Outputs: ids(c)}), verify.Identity, core.ErrProtocol)
	require.NoError(t, p.Run(s, core.Run{Program: id, Inputs: ids(x), Outputs: out(1), Donated: []bool{true}}))
	r.refused(r.free(s, x), verify.Unknown, core.ErrUnknownTensor, `run "doubling"`)

	twice := doubling(t, 2)
	twice.Inputs, twice.Consts = append(twice.Inputs, twice.Consts...), nil
	id, err = p.Define(ctx, s, twice, nil)
	require.NoError(t, err)
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(c, c), Outputs: out(1), Donated: []bool{false, true}}), verify.Invalid, core.ErrAttr, "is donated")
	require.NoError(t, p.Run(s, core.Run{Program: id, Inputs: ids(c, c), Outputs: out(1), Donated: []bool{false, false}}))
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(c, y), Outputs: out(1)}), verify.Invalid, core.ErrShape)
	require.NoError(t, p.Undefine(id))
	r.refused(p.Run(s, core.Run{Program: id, Inputs: ids(c, c), Outputs: out(1)}), verify.Unknown, core.ErrNotFound)
}

func TestUsage(t *testing.T) {
	r := reference(t)
	s := r.stream()
	d := r.write(s, 1)
	ticket := s.Read(d.ID, make([]byte, 4))
	require.NoError(t, ticket.Wait(ctx))
	r.refused(ticket.Wait(ctx), verify.Usage, core.ErrClosed, "a second time")
	other := reference(t)
	r.refused(s.Wait(other.stream().Signal()), verify.Usage, core.ErrAttr, "of another backend")
	r.refused(s.Wait(core.Failed(core.ErrClosed)), verify.Usage, core.ErrAttr)
	foreign := other.stream()
	r.refused(r.programs().Run(foreign, core.Run{}), verify.Usage, core.ErrAttr, "a stream of another device")

	// one goroutine blocks in Write while another submits
	h := &held{Device: r.Device, in: make(chan struct{}), out: make(chan struct{})}
	r = over(t, substitute{r.backend, h})
	s = r.stream()
	var group sync.WaitGroup
	group.Go(func() { _ = s.Write(ctx, r.desc(1), make([]byte, 4)) })
	<-h.in
	r.refused(s.Submit(nil, nil), verify.Usage, core.ErrProtocol, "two calls at once")
	close(h.out)
	group.Wait()
	require.NoError(t, s.Submit(nil, nil))
}

// With PassOn, faults are reported, and the calls still reach the backend.
func TestPassOn(t *testing.T) {
	r := reference(t, verify.PassOn())
	a, b := r.stream(), r.stream()
	d := r.write(a, 2)
	require.NoError(t, a.Signal().Wait(ctx))
	x := r.do(a, op.Neg, d)
	require.NoError(t, r.free(b, x))
	require.NoError(t, r.free(b, d, d))
	require.Error(t, core.Sync(ctx, b), "the error of the backend")
	require.ErrorIs(t, core.Read(ctx, a, d.ID, make([]byte, 4)), core.ErrUnknownTensor)
	faults, n := r.log.Report()
	require.Equal(t, 4, n)
	require.Equal(t, verify.Order, faults[0].Kind)
	require.Equal(t, x.ID, faults[0].Tensor)
	require.Equal(t, verify.Order, faults[1].Kind, "stream a uses it")
	require.Equal(t, d.ID, faults[1].Tensor)
	require.Equal(t, verify.Unknown, faults[2].Kind)
	require.Equal(t, verify.Unknown, faults[3].Kind)
}

func TestLeaks(t *testing.T) {
	r := reference(t)
	s := r.stream()
	for range 9 {
		r.write(s, 1, 2)
	}
	c := r.write(s, 1, 2)
	id, err := r.programs().Define(ctx, s, doubling(t, 2), []op.TensorID{c.ID})
	require.NoError(t, err)
	require.NoError(t, r.free(s, c))
	require.NoError(t, r.Close())
	require.Len(t, r.leaks, 1)
	l := r.leaks[0]
	require.Equal(t, 9, l.Tensors)
	require.Equal(t, 1, l.Programs)
	require.Equal(t, int64(72), l.Bytes)
	require.Len(t, l.First, 8)
	require.Equal(t, "t1 f32[2] made by write (command 1 of stream 0)", l.First[0])

	r.Device = r.open()
	s = r.stream()
	c = r.write(s, 1, 2)
	id, err = r.programs().Define(ctx, s, doubling(t, 2), []op.TensorID{c.ID})
	require.NoError(t, err)
	require.NoError(t, r.backend.Close(), "closing the backend reports leaks too")
	require.Len(t, r.leaks, 2)
	require.Equal(t, []string{"t1 f32[2] made by write (command 1 of stream 1)", `program "doubling" made by define "doubling" (command 2 of stream 1)`}, r.leaks[1].First)
	require.NotZero(t, id)
	require.NoError(t, r.backend.Close())
	require.Len(t, r.leaks, 2)
	r.clean()
}

// verify denies extensions that it does not know, and those that the device below lacks.
func TestExtensions(t *testing.T) {
	r := reference(t)
	require.Equal(t, "verify<ref>", r.backend.Info().Name)
	_, ok := core.Extension[core.Gradients](r.Device)
	require.False(t, ok)
	_, ok = core.Extension[core.Selective](r.Device)
	require.False(t, ok, "the reference backend lacks it")
	_, ok = core.Extension[core.Pinning](r.Device)
	require.False(t, ok)
	m, ok := core.Extension[core.MemoryStats](r.Device)
	require.True(t, ok)
	require.Zero(t, m.Memory().Tensors)
	var unknown interface{ Unknown() }
	require.False(t, r.Extend(&unknown))
}
