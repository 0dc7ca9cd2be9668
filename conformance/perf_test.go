package conformance

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// timed runs Perf on a reference that evaluates nodes by eval, and returns the timings by op and the report.
func timed(t *testing.T, run string, timeout time.Duration, eval func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error)) (map[string]Timing, *Report) {
	t.Helper()
	told := 0
	r, err := Perf(context.Background(), func() (core.Backend, error) { return ref.New(ref.Evaluating(eval)), nil },
		Options{Run: run, Timeout: timeout}, func(Timing) { told++ })
	require.NoError(t, err)
	require.Len(t, r.Timings, told)
	require.Equal(t, "ref", r.Backend.Name)
	by := map[string]Timing{}
	for _, x := range r.Timings {
		by[x.Op] = x
	}
	return by, r
}

// The timing of an op that hangs is an error, and the ops after it are timed. The package contains all timings and describes the
// device and the machine.
func TestPerfGoesOn(t *testing.T) { synctest.Test(t, perfGoesOn) }

func perfGoesOn(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	by, r := timed(t, "^(neg|abs|not)/", 6*time.Second, func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		time.Sleep(100 * time.Millisecond)
		switch n.Op {
		case op.Neg:
			<-end
		case op.Not:
			return ref.Eval(n, in)
		}
		return []ref.Tensor{in[0].Clone()}, nil // wrong
	})
	require.ErrorContains(t, by["neg"].Err, "hang")
	require.ErrorContains(t, by["abs"].Err, "the timed result is wrong")
	require.False(t, by["abs"].Checked)
	require.NoError(t, by["not"].Err)
	require.Equal(t, 100*time.Millisecond, by["not"].Median)
	require.Len(t, by, 3)

	r.Machine.Facts = map[string]string{"gpu0.clocks.sm": "1980 MHz"} // as the command adds them
	path := filepath.Join(t.TempDir(), "timings.tar.gz")
	_, err := r.WritePackage(path)
	require.NoError(t, err)
	m, err := Verify(path)
	require.NoError(t, err)
	require.Equal(t, Timed, m.Profile)
	require.Equal(t, "reference", m.Disclosure.Devices[0].Name)
	require.Equal(t, machine().Processor, m.Disclosure.Machine.Processor)
	require.Equal(t, "1980 MHz", m.Disclosure.Machine.Facts["gpu0.clocks.sm"])
	var rows []timing
	require.NoError(t, json.Unmarshal(untar(t, path)[TimingsFile], &rows))
	require.Len(t, rows, 3)
	for _, x := range rows {
		require.Equal(t, x.Op == "not", x.Checked, x.Op)
		require.Equal(t, x.Op == "not", x.Error == "", x.Op)
	}
}

// Perf checks the results that it times: a backend whose results are wrong only beyond the sizes of the cases is found.
func TestPerfChecksResults(t *testing.T) {
	t.Parallel()
	large := 0
	eval := func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		if n.Op != op.Slice && in[0].Desc.Shape.Size() > 1000 {
			large++
			return []ref.Tensor{ref.Zeros(n.Outputs[0])}, nil
		}
		return ref.Eval(n, in)
	}
	by, _ := timed(t, "^(slice|add|matmul)/f32", 2*time.Minute, eval)
	require.NotZero(t, large)
	require.ErrorContains(t, by["matmul"].Err, "the timed result is wrong")
	require.ErrorContains(t, by["add"].Err, "the timed result is wrong")
	require.NoError(t, by["slice"].Err)
	require.True(t, by["slice"].Checked)
	require.Greater(t, by["slice"].Bytes, int64(4<<20))
	require.Greater(t, by["slice"].Rounds, 1)
	require.LessOrEqual(t, by["slice"].Least, by["slice"].Median)
}

// Every row of a large result may be compared: the first compared one is drawn from all that partRows rows can begin at.
func TestPerfComparesAllRows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	drawn := map[int]int{}
	for range 300 {
		drawn[firstRow(r, partRows+2)]++
	}
	require.Len(t, drawn, 3)
	for first := range 3 { // rows first to first+7 of 10
		require.Greater(t, drawn[first], 60, "row %d", first)
	}
}

// Every op is timed on a node that is large enough for a meaningful time.
func TestPerfNodesAreLarge(t *testing.T) {
	t.Parallel()
	cubic := map[op.Code]bool{op.Cholesky: true, op.TriangularSolve: true, op.LU: true, op.Det: true, op.SlogDet: true, op.Inverse: true,
		op.Solve: true, op.MatrixPower: true, op.Eigh: true, op.SVD: true} // their work grows faster than their bytes
	for _, c := range op.All() {
		row := op.Lookup(c)
		if row.Class == op.Custom {
			continue
		}
		caps := &core.Capabilities{Types: dtype.Any | dtype.Smalls, Ops: map[string]core.OpCapability{row.Name: core.Claim(row, firstTypes(row))}}
		d, ok := perfType(caps, row)
		require.True(t, ok, row.Name)
		s, ok := perfSpec(c, d)
		require.True(t, ok, row.Name)
		n, err := s.node(s.in)
		require.NoError(t, err, row.Name)
		in, out := total(s.in), total(n.Outputs)
		if cubic[c] || op.Flops(&n, s.in) > 1<<20 {
			continue
		}
		assert.Greater(t, in+out, 1<<18, "%v: %v", row.Name, &n)
		if row.Traits.Has(op.Stores) && !row.Traits.Has(op.Reduces) && len(s.in) > 0 {
			assert.Greater(t, out, 1<<16, "%v writes %d bytes and reads %d", &n, out, in)
		}
	}
}
