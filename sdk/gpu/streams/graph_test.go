package streams

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// library is a candidate that starts a copy, or adds nodes of its own to a graph.
type library struct {
	gpu.Candidate
	native        bool
	refuses       error // of Call, Populate and Update
	called, wrote int
}

func (l *library) Call(q gpu.Queue, args []gpu.Ref, _ gpu.Ref) error {
	l.called++
	return errors.Join(l.refuses, q.Copy(args[0], args[1], 4))
}
func (l *library) Native() bool { return l.native }
func (l *library) Populate([]gpu.Ref, gpu.Ref, Graph) error {
	l.wrote++
	return l.refuses
}
func (l *library) Update([]gpu.Ref, gpu.Ref, Graph) error { return l.refuses }

// TestGraphs checks that each step becomes a node that depends on the previous step, or on the steps that it names, and that updates
// change the nodes of their steps.
func TestGraphs(t *testing.T) {
	d, g, q, f := opened(t)
	launch := func(bits uint64) *gpu.Launch {
		return &gpu.Launch{Function: f, Grid: [3]int{2, 1, 1}, Args: []gpu.Arg{{Ref: at(0x40, 0)}, {Bits: bits}}}
	}
	x, err := g.NewGraph([]gpu.Step{
		{Launch: launch(5)},
		{Copy: &gpu.Copy{Dst: at(0x100, 4), Src: at(0x200, 0), Bytes: 8}},
		{Fill: &gpu.Fill{Dst: at(0x300, 0), Bytes: 8, Pattern: 0xab, Width: 2}, After: []int{}},
		{Launch: launch(6), After: []int{1, 2}},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"graph", "kernel after [] {2 1 1} [64 5]", "add copy after [4] 0x104 0x200 8", "add set after [] 0x300 0xab 4 of 2", "kernel after [5 6] {2 1 1} [64 6]",
		"instantiate 3"}, d.taken())
	require.NoError(t, x.Update(3, gpu.Step{Launch: launch(9)}))
	require.NoError(t, x.Update(1, gpu.Step{Copy: &gpu.Copy{Dst: at(0x101, 0), Src: at(0x202, 0), Bytes: 8}}))
	require.NoError(t, x.Update(2, gpu.Step{Fill: &gpu.Fill{Dst: at(0x303, 0), Bytes: 8, Pattern: 1, Width: 4}}))
	require.NoError(t, x.Launch(q))
	require.Equal(t, []string{"set kernel 7 [64 9]", "set copy 5 0x101 0x202 8", "set set 6 0x303 0x1 2 of 4", "launch graph 8 on 3"}, d.taken())
	require.ErrorContains(t, x.Update(0, gpu.Step{Call: &gpu.Call{Candidate: &library{}}}), "fake: graph: change of step 0: unsupported operation: a call in the place of something else")
	d.errs["copy"] = vendor.ErrFault
	require.ErrorContains(t, q.Copy(at(1, 0), at(2, 0), 4), "a fault in a graph of 4 steps with kernel scale")
	delete(d.errs, "copy")
	d.taken()
	x.Close()
	require.Equal(t, []string{"destroy exec 8", "destroy graph 3"}, d.taken())

	_, err = g.NewGraph([]gpu.Step{{Launch: launch(1)}, {}})
	require.ErrorIs(t, err, core.ErrKernel)
	require.ErrorContains(t, err, "fake: graph: step 1: neither launch, call, copy nor fill")
	require.Equal(t, []string{"graph", "kernel after [] {2 1 1} [64 1]", "destroy graph 9"}, d.taken(), "what was made is destroyed")
	d.errs["instantiate"] = vendor.ErrUnsupported
	_, err = g.NewGraph(nil)
	require.ErrorIs(t, err, core.ErrUnsupported)
}

// TestGraphCalls checks that a call of a library becomes the nodes that the library adds, or else a child graph recorded from the call.
// An update with another call, or with one that fails, is refused, so that the steps run one by one.
func TestGraphCalls(t *testing.T) {
	d, g, q, _ := opened(t)
	call := func(l *library) gpu.Step {
		return gpu.Step{Call: &gpu.Call{Candidate: l, Args: []gpu.Ref{at(0x10, 0), at(0x20, 0)}}}
	}
	recorded := &library{}
	x, err := g.NewGraph([]gpu.Step{call(recorded)})
	require.NoError(t, err)
	require.Equal(t, []string{"graph", "stream", "capture 3", "copy 0x10 0x20 4 on 3", "captured 3", "add child after [] 4", "destroy graph 4", "instantiate 3"}, d.taken())
	require.NoError(t, x.Update(0, call(recorded)))
	require.Equal(t, []string{"capture 3", "copy 0x10 0x20 4 on 3", "captured 3", "set child 5 7", "destroy graph 7"}, d.taken())
	d.errs["set child"] = errors.New("other nodes")
	err = x.Update(0, call(recorded))
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.ErrorContains(t, err, "a call with other operands: other nodes")
	d.errs["set child"] = vendor.ErrFault
	require.ErrorIs(t, x.Update(0, call(recorded)), core.ErrBackendLost)
	delete(d.errs, "set child")
	d.taken()
	recorded.refuses = errors.New("no such shape")
	_, err = g.NewGraph([]gpu.Step{call(recorded)})
	require.ErrorContains(t, err, "no such shape")
	require.Contains(t, d.taken(), "destroy graph 11", "what was recorded of it")
	require.NoError(t, x.Launch(q))
	d.taken()
	x.Close()

	native := &library{native: true}
	x, err = g.NewGraph([]gpu.Step{call(native)})
	require.NoError(t, err)
	require.Zero(t, native.called)
	require.Equal(t, 1, native.wrote)
	d.taken()
	require.NoError(t, x.Update(0, call(native)))
	require.Len(t, d.taken(), 1)
	native.refuses = errors.New("another layout")
	require.ErrorIs(t, x.Update(0, call(native)), core.ErrUnsupported)
	require.ErrorIs(t, x.Update(0, gpu.Step{Call: &gpu.Call{Candidate: recorded.Candidate}}), core.ErrUnsupported)
	d.taken()
	x.Close()
	require.Len(t, d.taken(), 3, "the instance, the graph of the library and the graph")
	g.Close()
	require.Equal(t, []string{"end 3"}, d.taken(), "the stream for recording")
}
