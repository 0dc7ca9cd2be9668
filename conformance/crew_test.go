package conformance_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// Cases that run at the same time have the results of cases that run one after the other, in the same order.
func TestJobsAgree(t *testing.T) {
	t.Parallel()
	broken := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		outs, err := ref.Eval(n, in)
		if n.Op == op.Exp && err == nil && len(outs[0].F) == 7 {
			outs[0].F[3] = 5
		}
		return outs, err
	}))
	type outcome struct {
		id, reason string
		status     conformance.Status
		shrunk     bool
	}
	run := func(jobs int) (l []outcome, r *conformance.Report) {
		var opened, calls atomic.Int32
		var inside atomic.Bool
		r, err := conformance.Check(context.Background(), func() (core.Backend, error) {
			opened.Add(1)
			return broken()
		}, conformance.Options{Run: "^(exp|add|stream|sum)/", Jobs: jobs, Shrink: 100, Progress: func(conformance.Result, int) {
			require.True(t, inside.CompareAndSwap(false, true), "two calls of Progress at the same time")
			calls.Add(1)
			inside.Store(false)
		}})
		require.NoError(t, err)
		require.GreaterOrEqual(t, int(opened.Load()), jobs)
		require.Len(t, r.Results, int(calls.Load()))
		for _, x := range r.Results {
			l = append(l, outcome{x.ID, x.Reason, x.Status, x.Minimal != nil})
		}
		return l, r
	}
	want, one := run(1)
	got, four := run(4)
	require.Positive(t, one.Failed)
	require.Equal(t, want, got)
	require.Equal(t, one.Profiles, four.Profiles)
	require.Equal(t, one.Accuracy, four.Accuracy)
	require.Positive(t, len(four.Accuracy))
}

// A run that is interrupted keeps the results of the cases that ended, in order.
func TestJobsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var n int
	r, err := conformance.Check(ctx, openRef(), conformance.Options{Run: "^add/", Jobs: 3, Progress: func(conformance.Result, int) {
		if n++; n == 20 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, r.Results, 20)
	ids, err := conformance.IDs(conformance.Options{Run: "^add/"})
	require.NoError(t, err)
	at := 0
	for _, x := range r.Results {
		for ids[at] != x.ID {
			at++
		}
	}
}

// A run with two jobs returns the error of a backend that can be opened only once.
func TestJobsWithoutBackends(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	_, err := conformance.Check(context.Background(), func() (core.Backend, error) {
		if opened.Add(1) > 1 {
			return nil, core.ErrNotFound
		}
		return openRef()()
	}, conformance.Options{Run: "^add/", Jobs: 2})
	require.ErrorIs(t, err, core.ErrNotFound)
}
