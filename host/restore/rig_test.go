package restore_test

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

var ctx = context.Background()

// id returns the n-th id of the first generation. Tests use these ids without a call of NewIDs.
func id(n uint64) op.TensorID            { return op.NewTensorID(0, n) }
func desc(n uint64, dims ...int) op.Desc { return op.Desc{ID: id(n), DType: dtype.F32, Shape: dims} }

func f32(vs ...float32) (b []byte) {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func node(t testing.TB, name string, out op.TensorID, in ...op.Desc) op.Node {
	t.Helper()
	code, ok := op.ByName(name)
	require.True(t, ok)
	n, err := op.New(code, in)
	require.NoError(t, err)
	n.Outputs[0].ID = out
	return n
}

func submit(t testing.TB, s core.Stream, nodes ...op.Node) {
	t.Helper()
	require.NoError(t, s.Submit(nodes, nil))
}

func write(t testing.TB, s core.Stream, d op.Desc, vs ...float32) {
	t.Helper()
	require.NoError(t, s.Write(ctx, d, f32(vs...)))
}

func read(t testing.TB, s core.Stream, d op.Desc) []byte {
	t.Helper()
	dst := make([]byte, d.Bytes())
	require.NoError(t, core.Read(ctx, s, d.ID, dst))
	return dst
}

func readError(s core.Stream, d op.Desc) error {
	return core.Read(ctx, s, d.ID, make([]byte, d.Bytes()))
}

func extension[T any](t testing.TB, d core.Device) T {
	t.Helper()
	x, ok := core.Extension[T](d)
	require.True(t, ok)
	return x
}

// addProgram returns the program -(x + c) for vectors of n elements, with the constant c.
func addProgram(t testing.TB, n int) *program.Program {
	p := &program.Program{Name: "add", Inputs: []op.Desc{desc(1, n)}, Consts: []op.Desc{desc(2, n)}, Outputs: []op.TensorID{id(4)}}
	p.Nodes = []op.Node{node(t, "add", id(3), p.Inputs[0], p.Consts[0])}
	p.Nodes = append(p.Nodes, node(t, "neg", id(4), p.Nodes[0].Outputs[0]))
	require.NoError(t, p.Check())
	return p
}

// session runs a sequence of commands and checks their results. It calls kill before each of nine steps; a loss there must not be
// noticeable.
func session(t *testing.T, d core.Device, s core.Stream, kill func(step int)) {
	ps := extension[core.Programs](t, d)
	step := 0
	next := func() { kill(step); step++ }
	next()
	write(t, s, desc(1, 2), 1, 2)
	next()
	prog, err := ps.Define(ctx, s, addProgram(t, 2), []op.TensorID{id(1)})
	require.NoError(t, err)
	next()
	big := make([]byte, 4<<18)
	big[3] = 0x40
	require.NoError(t, s.Write(ctx, desc(2, 1<<18), big))
	require.NoError(t, s.Submit(nil, []op.TensorID{id(1)}), "the program has its constants")
	next()
	write(t, s, desc(3, 2), 10, 20)
	n := node(t, "neg", id(4), desc(3, 2))
	n.Drop = 1
	submit(t, s, n)
	next()
	require.NoError(t, ps.Run(s, core.Run{Program: prog, Inputs: []op.TensorID{id(4)}, Outputs: []op.TensorID{id(5)}}))
	next()
	require.Equal(t, f32(9, 18), read(t, s, desc(5, 2)))
	next()
	require.Equal(t, f32(-10, -20), read(t, s, desc(4, 2)))
	require.Equal(t, big, read(t, s, desc(2, 1<<18)))
	require.NoError(t, core.Sync(ctx, s))
	next()
	require.NoError(t, ps.Run(s, core.Run{Program: prog, Inputs: []op.TensorID{id(5)}, Donated: []bool{true}, Outputs: []op.TensorID{id(6)}}))
	require.NoError(t, s.Submit(nil, []op.TensorID{id(4)}))
	next()
	require.Equal(t, f32(-10, -20), read(t, s, desc(6, 2)))
	require.ErrorIs(t, readError(s, desc(4, 2)), core.ErrUnknownTensor)
	require.NoError(t, ps.Undefine(prog))
	require.ErrorIs(t, ps.Undefine(prog), core.ErrNotFound)
	require.NoError(t, s.Submit(nil, []op.TensorID{id(2), id(6)}))
	require.NoError(t, core.Sync(ctx, s), "nothing was freed twice")
	require.Zero(t, extension[core.MemoryStats](t, d).Memory().Tensors)
}
