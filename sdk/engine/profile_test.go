package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// TestProfile checks that a recording contains every node and every step of a program, with counts computed by hand and plausible times: the
// kernel of exp sleeps for two milliseconds.
func TestProfile(t *testing.T) {
	r := open(t, new(driver))
	x, ok := core.Extension[core.Profiling](r.dev)
	require.True(t, ok)
	programs, ok := core.Extension[core.Programs](r.dev)
	require.True(t, ok)
	last := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { last++; return last })
	y := b.Do(op.Exp, b.Do(op.Neg, vector(1, 3)))
	require.NoError(t, b.Err())
	p := &program.Program{Name: "steps", Inputs: []op.Desc{vector(1, 3)}, Nodes: b.Nodes, Outputs: []op.TensorID{y.ID}}
	id, err := programs.Define(t.Context(), r.stream, p, nil)
	require.NoError(t, err)

	in := r.put(1, 2, 3)
	r.do(op.Abs, 0, in) // before the recording
	require.NoError(t, core.Sync(t.Context(), r.stream))
	began := time.Now()
	require.NoError(t, x.StartProfile(t.Context()))
	r.do(op.Neg, 0, in)
	r.do(op.Neg, 0, in)
	r.do(op.Log, 0, in) // fails, and is not recorded
	for range 2 {
		require.NoError(t, programs.Run(r.stream, core.Run{Program: id, Inputs: []op.TensorID{in.ID}, Outputs: []op.TensorID{r.dev.NewIDs(1)}}))
	}
	require.ErrorIs(t, core.Sync(t.Context(), r.stream), core.ErrIndex)
	got, err := x.StopProfile(t.Context())
	require.NoError(t, err)
	wall := time.Since(began)
	r.do(op.Abs, 0, in) // after it

	v := op.DescOf(in.DType, 3)
	one := func(index int, name, program string) core.ProfileStep {
		return core.ProfileStep{Program: program, Index: index, Ops: []string{name}, In: []op.Desc{v}, Out: []op.Desc{v}, Bytes: 24}
	}
	require.Equal(t, []core.ProfileStep{one(0, "neg", ""), one(0, "neg", "steps"), one(1, "exp", "steps"),
		{Program: "steps", Index: core.WholeRun, In: []op.Desc{v}, Out: []op.Desc{v}}}, got.Steps)
	var steps []int
	for _, rec := range got.Records {
		steps = append(steps, rec.Step)
		require.LessOrEqual(t, rec.Start+rec.Duration, wall)
		if rec.Step >= 2 {
			require.GreaterOrEqual(t, rec.Duration, 2*time.Millisecond)
		}
	}
	require.Equal(t, []int{0, 0, 1, 2, 3, 1, 2, 3}, steps)
	require.Zero(t, got.Dropped)
	r.closed()
}

// TestProfileLimit checks that records beyond the limit of a profile are counted as dropped.
func TestProfileLimit(t *testing.T) {
	r := open(t, new(driver))
	x, _ := core.Extension[core.Profiling](r.dev)
	in := r.put(1)
	require.NoError(t, x.StartProfile(t.Context()))
	const more = 100
	n := r.node(op.Neg, 0, in)
	for range (core.MaxProfileRecords + more) / 8 {
		nodes := make([]op.Node, 8)
		var ids []op.TensorID
		for i := range nodes {
			nodes[i] = n
			nodes[i].Outputs = []op.Desc{vector(r.dev.NewIDs(1), 1)}
			ids = append(ids, nodes[i].Outputs[0].ID)
		}
		require.NoError(t, r.stream.Submit(nodes, ids))
	}
	require.NoError(t, core.Sync(t.Context(), r.stream))
	p, err := x.StopProfile(t.Context())
	require.NoError(t, err)
	require.Len(t, p.Records, core.MaxProfileRecords)
	require.EqualValues(t, (core.MaxProfileRecords+more)/8*8-core.MaxProfileRecords, p.Dropped)
	r.closed()
}

// TestOneRecording checks that a device has one recording at a time, and none after it is closed.
func TestOneRecording(t *testing.T) {
	r := open(t, new(driver))
	x, _ := core.Extension[core.Profiling](r.dev)
	_, err := x.StopProfile(t.Context())
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NoError(t, x.StartProfile(t.Context()))
	require.ErrorIs(t, x.StartProfile(t.Context()), core.ErrAttr)
	p, err := x.StopProfile(t.Context())
	require.NoError(t, err)
	require.Equal(t, &core.Profile{}, p)
	r.closed()
	require.ErrorIs(t, x.StartProfile(t.Context()), core.ErrClosed)
}

// TestProfileOffCostsNothing checks that after a recording a command allocates as often as before it.
func TestProfileOffCostsNothing(t *testing.T) {
	r := open(t, new(driver))
	x, _ := core.Extension[core.Profiling](r.dev)
	n := r.node(op.Neg, 0, r.put(1, 2, 3))
	ids := []op.TensorID{0}
	nodes := []op.Node{n}
	once := func() {
		n.Outputs[0].ID = r.dev.NewIDs(1)
		ids[0] = n.Outputs[0].ID
		_ = r.stream.Submit(nodes, ids)
		_ = core.Sync(t.Context(), r.stream)
	}
	before := testing.AllocsPerRun(1000, once)
	require.NoError(t, x.StartProfile(t.Context()))
	recording := testing.AllocsPerRun(1000, once)
	_, err := x.StopProfile(t.Context())
	require.NoError(t, err)
	require.Greater(t, recording, before+2)
	require.InDelta(t, before, testing.AllocsPerRun(1000, once), 1) // the race detector empties pools now and then
	r.closed()
}
