package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

func TestRun(t *testing.T) {
	t.Parallel()
	conformance.Run(t, openRef(), conformance.Options{Run: "^(stream|claims|add)/"})
}

func TestIDsAreDistinctAndStable(t *testing.T) {
	t.Parallel()
	ids, err := conformance.IDs(conformance.Options{})
	require.NoError(t, err)
	again, err := conformance.IDs(conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, ids, again)
	for _, id := range []string{"add/f32/broadcast-rank0/plain", "add/f32/special", "gelu/f32/matrix/decomposed", "matmul/f32/plain/permuted", "stream/poison", "lifecycle/stale", "sum/f32/last/leak"} {
		require.Contains(t, ids, id)
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), len(again))
}

// A case that runs alone has the same values as one that runs among others.
func TestReplay(t *testing.T) {
	t.Parallel()
	broken := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		outs, err := ref.Eval(n, in)
		if n.Op == op.Exp && err == nil && len(outs[0].F) == 7 {
			outs[0].F[3] = 5
		}
		return outs, err
	}))
	all, err := conformance.Check(context.Background(), broken, conformance.Options{Run: "^exp/"})
	require.NoError(t, err)
	one, err := conformance.Check(context.Background(), broken, conformance.Options{Run: "^exp/f32/odd/plain$"})
	require.NoError(t, err)
	require.Len(t, one.Results, 1)
	i := slices.IndexFunc(all.Results, func(r conformance.Result) bool { return r.ID == "exp/f32/odd/plain" })
	require.Equal(t, all.Results[i].Reason, one.Results[0].Reason)
	require.Contains(t, one.Results[0].Reason, "first at 3: got 5, want")
}

func TestNothingExecutedIsAFailure(t *testing.T) {
	t.Parallel()
	r, err := conformance.Check(context.Background(), openRef(), conformance.Options{Run: "no such case"})
	require.NoError(t, err)
	require.ErrorContains(t, r.Err(), "no case was executed")
}

func TestCheckCannotRun(t *testing.T) {
	t.Parallel()
	_, err := conformance.Check(context.Background(), openRef(), conformance.Options{Run: "("})
	require.ErrorContains(t, err, "pattern")
	broken := errors.New("no device")
	_, err = conformance.Check(context.Background(), func() (core.Backend, error) { return nil, broken }, conformance.Options{})
	require.ErrorIs(t, err, broken)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = conformance.Check(ctx, openRef(), conformance.Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// The case that loses the backend fails, and the backend is opened again for the next case.
func TestLostBackendIsOpenedAgain(t *testing.T) {
	t.Parallel()
	opened := 0
	open := func() (core.Backend, error) {
		opened++
		return ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			if n.Op == op.Sin && len(in[0].F) == 1 {
				return nil, core.ErrBackendLost
			}
			return ref.Eval(n, in)
		})), nil
	}
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^sin/f32/(matrix|odd|rank0)/plain", Shrink: -1})
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 0}, []int{r.Passed, r.Failed, r.Skipped})
	require.Equal(t, 2, opened)
}

// A backend that claims primitives alone passes the cases that decompose composites. The other cases of composites are skipped.
func TestPrimitivesAlone(t *testing.T) {
	t.Parallel()
	open := openRef(ref.Claiming(func(c op.Code) bool { return op.Lookup(c).Class == op.Primitive }))
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^(gelu|mean|topk)/f32/"})
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.NotZero(t, r.Skipped)
	var b bytes.Buffer
	require.NoError(t, r.Write(&b))
	require.Contains(t, b.String(), "not claimed: gelu")
}
