package shared_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// bytesOf returns the bytes of f32 elements.
func bytesOf(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func requireElements(t *testing.T, s core.Stream, id op.TensorID, values ...float32) {
	t.Helper()
	want := bytesOf(values...)
	got := make([]byte, len(want))
	require.NoError(t, core.Read(context.Background(), s, id, got))
	require.Equal(t, want, got)
}

// The backend later.c implements every optional function of the ABI and computes nothing until somebody waits.
func TestQueuesWithMarks(t *testing.T) {
	ctx := context.Background()
	_, d, s := opened(t, "later.c", core.Config{})
	x := vector(d, 2)
	require.NoError(t, s.Write(ctx, x, bytesOf(1, 2)))
	sum := node(t, d, op.Add, []op.Desc{x, x})
	same := node(t, d, op.Copy, sum.Outputs) // it drops its operand, whose memory the output takes
	same.Drop = 1
	require.NoError(t, s.Submit([]op.Node{sum, same}, []op.TensorID{x.ID}))
	requireElements(t, s, same.Outputs[0].ID, 2, 4)
	require.ErrorIs(t, core.Read(ctx, s, sum.Outputs[0].ID, make([]byte, 8)), core.ErrUnknownTensor)

	// A second queue waits for the first.
	other, err := d.OpenStream(ctx)
	require.NoError(t, err)
	y := vector(d, 2)
	require.NoError(t, s.Write(ctx, y, bytesOf(10, 20)))
	require.NoError(t, other.Wait(s.Signal()))
	both := node(t, d, op.Add, []op.Desc{y, same.Outputs[0]})
	require.NoError(t, other.Submit([]op.Node{both}, nil))
	requireElements(t, other, both.Outputs[0].ID, 12, 24)

	// A command that fails late poisons its outputs, and the failure is reported once.
	require.NoError(t, core.Sync(ctx, s))
	bad := node(t, d, op.Exp, []op.Desc{y})
	require.NoError(t, s.Submit([]op.Node{bad}, nil))
	err = core.Sync(ctx, s)
	var ne *core.NodeError
	require.ErrorAs(t, err, &ne)
	require.Equal(t, "exp", ne.Op)
	require.ErrorContains(t, err, "exp burned")
	require.ErrorIs(t, core.Read(ctx, s, bad.Outputs[0].ID, make([]byte, 8)), core.ErrKernel)
	require.NoError(t, core.Sync(ctx, s))
	requireElements(t, s, y.ID, 10, 20)
	require.NoError(t, other.Close())
}

func TestOptionalAnswers(t *testing.T) {
	b, d, _ := opened(t, "later.c", core.Config{})
	require.Equal(t, []core.DeviceInfo{{Index: 0, Name: "slow", Kind: "npu", Memory: 1 << 20}, {Index: 1, Name: "slow", Kind: "npu", Memory: 1 << 20}},
		b.Info().Devices)
	f32 := []dtype.Set{dtype.SetOf(dtype.F32)}
	caps := d.Capabilities()
	require.Equal(t, dtype.SetOf(dtype.I64), caps.Emulated)
	require.Equal(t, core.Limits{Rank: 4, Buffers: 3, Bytes: 1 << 16}, caps.Limits)
	require.Equal(t, core.OpCapability{Version: 1, Operands: f32, Results: f32, Limits: core.Limits{Rank: 2, Elements: 64}}, caps.Ops["add"])

	sel, ok := core.Extension[core.Selective](d)
	require.True(t, ok)
	x := op.DescOf(dtype.F32, 2, 2)
	n := node(t, d, op.Copy, []op.Desc{x})
	require.ErrorIs(t, sel.Supports(&n, []op.Desc{x}), core.ErrUnsupported)
	x = op.DescOf(dtype.F32, 2)
	n = node(t, d, op.Copy, []op.Desc{x})
	require.NoError(t, sel.Supports(&n, []op.Desc{x}))

	stats, ok := core.Extension[core.MemoryStats](d)
	require.True(t, ok)
	require.Equal(t, core.Memory{InUse: 7, Reserved: 8}, stats.Memory())
}

// double returns a program with the outputs z, z and c: y = x + x, z = y + c. If last is not add, z = last(y).
func double(t *testing.T, name string, last op.Code) *program.Program {
	t.Helper()
	d := op.DescOf(dtype.F32, 2)
	of := func(id op.TensorID) op.Desc { return op.Desc{ID: id, DType: d.DType, Shape: d.Shape} }
	p := &program.Program{Name: name, Inputs: []op.Desc{of(1)}, Consts: []op.Desc{of(2)}, Outputs: []op.TensorID{4, 4, 2}}
	for i, in := range [][]op.Desc{{of(1), of(1)}, {of(3), of(2)}} {
		code := op.Add
		if i == 1 && last != op.Add {
			code, in = last, in[:1]
		}
		n, err := op.New(code, in)
		require.NoError(t, err)
		n.Outputs[0].ID = op.TensorID(3 + i)
		p.Nodes = append(p.Nodes, n)
	}
	require.NoError(t, p.Check())
	return p
}

func TestPrograms(t *testing.T) {
	ctx := context.Background()
	_, d, s := opened(t, "later.c", core.Config{})
	programs, ok := core.Extension[core.Programs](d)
	require.True(t, ok)
	x, c := vector(d, 2), vector(d, 2)
	require.NoError(t, s.Write(ctx, x, bytesOf(1, 2)))
	require.NoError(t, s.Write(ctx, c, bytesOf(100, 200)))
	id, err := programs.Define(ctx, s, double(t, "double", op.Add), []op.TensorID{c.ID})
	require.NoError(t, err)
	require.NoError(t, s.Submit(nil, []op.TensorID{c.ID})) // the program keeps it
	out := d.NewIDs(3)
	require.NoError(t, programs.Run(s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Donated: []bool{true},
		Outputs: []op.TensorID{out, out + 1, out + 2}}))
	requireElements(t, s, out, 102, 204)
	requireElements(t, s, out+1, 102, 204)
	requireElements(t, s, out+2, 100, 200)
	require.ErrorIs(t, core.Read(ctx, s, x.ID, make([]byte, 8)), core.ErrUnknownTensor)
	require.NoError(t, programs.Undefine(id))

	// The library reports for which node it lacks memory.
	require.NoError(t, s.Write(ctx, c, bytesOf(1, 1)))
	_, err = programs.Define(ctx, s, double(t, "bad", op.Add), []op.TensorID{c.ID})
	var ne *core.NodeError
	require.ErrorAs(t, err, &ne)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.Equal(t, "add", ne.Op)

	// A program that the library does not accept runs node by node.
	id, err = programs.Define(ctx, s, double(t, "left", op.Copy), []op.TensorID{c.ID})
	require.NoError(t, err)
	require.NoError(t, programs.Undefine(id))
	id, err = programs.Define(ctx, s, double(t, "left", op.Exp), []op.TensorID{c.ID})
	require.NoError(t, err)
	require.NoError(t, s.Write(ctx, x, bytesOf(1, 2)))
	out = d.NewIDs(3)
	require.NoError(t, programs.Run(s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Outputs: []op.TensorID{out, out + 1, out + 2}}))
	require.ErrorIs(t, core.Read(ctx, s, out, make([]byte, 8)), core.ErrKernel)
}
