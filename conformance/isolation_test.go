package conformance_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// A kernel that never ends fails only its own case, and the backend is opened again for the others.
func TestHangIsIsolated(t *testing.T) { synctest.Test(t, hangIsIsolated) }

func hangIsIsolated(t *testing.T) {
	opened, end := 0, make(chan struct{})
	defer close(end)
	open := func() (core.Backend, error) {
		opened++
		return ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
			if n.Op == op.Tan && len(in[0].F) == 7 {
				<-end
			}
			return ref.Eval(n, in)
		})), nil
	}
	start := time.Now()
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^tan/f32/[^/]+/plain", Timeout: time.Second})
	require.NoError(t, err)
	require.Equal(t, 1, r.Failed)
	require.Equal(t, 5, r.Passed)
	require.Equal(t, 2, opened)
	for _, x := range r.Results {
		if x.Status == conformance.Failed {
			require.Equal(t, "tan/f32/odd/plain", x.ID)
			require.Contains(t, x.Reason, "hang")
			require.Contains(t, x.Reason, "left behind")
		}
	}
	require.Less(t, time.Since(start), time.Minute)
}

// panicking is a stream whose Submit panics in the caller's goroutine if the first node is a Tan.
type panicking struct{ base }

func (p panicking) Submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) > 0 && nodes[0].Op == op.Tan {
		panic("planted")
	}
	return p.Stream.Submit(nodes, free)
}

func TestPanicIsIsolated(t *testing.T) {
	t.Parallel()
	open := func() (core.Backend, error) {
		return tampered{Backend: ref.New(), stream: func(s core.Stream) core.Stream { return panicking{base{s}} }}, nil
	}
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^(tan|sin)/f32/odd/plain", Shrink: -1})
	require.NoError(t, err)
	require.Equal(t, 1, r.Passed)
	require.Equal(t, 1, r.Failed)
	require.True(t, strings.HasPrefix(r.Results[1].Reason, "panic: planted"), r.Results[1].Reason)
}

// A failure on one value is shrunk to that value.
func TestShrink(t *testing.T) {
	t.Parallel()
	open := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if n.Op == op.Max && err == nil {
			for i, f := range out[0].F {
				if f != f {
					out[0].F[i] = 0
				}
			}
		}
		return out, err
	}))
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^max/f32/same/nan$"})
	require.NoError(t, err)
	require.Equal(t, 1, r.Failed)
	m := r.Results[0].Minimal
	require.NotNil(t, m)
	require.Equal(t, "max", m.Op)
	require.Len(t, m.Inputs, 2)
	sizes := 0
	for _, in := range m.Inputs {
		sizes += strings.Count(in.Values, " ") + 1
		require.Contains(t, []string{"[NaN]", "[1]"}, in.Values)
	}
	require.Equal(t, 2, sizes)

	// Attributes are shrunk too: the minimal case of a fault in input dilation has no padding and one group.
	open = openRef(ref.Evaluating(attributeFault))
	r, err = conformance.Check(context.Background(), open, conformance.Options{Run: "^conv/f32/transposed/plain$"})
	require.NoError(t, err)
	require.Equal(t, 1, r.Failed)
	m = r.Results[0].Minimal
	require.NotNil(t, m)
	require.Contains(t, m.Attrs, "pad_lo=[0,0]")
	require.Contains(t, m.Attrs, "groups=1")
	require.Contains(t, m.Inputs[1].Type, "f32[1,1,1,")
}

// attributeFault evaluates every convolution with an input dilation of 1.
func attributeFault(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
	if n.Op == op.Conv {
		m := *n
		m.Attrs = append(op.Attrs(nil), n.Attrs...)
		for i, a := range m.Attrs {
			if a.Name == "input_dilation" {
				ones := make([]int, len(a.Value.Ints()))
				for k := range ones {
					ones[k] = 1
				}
				m.Attrs[i] = op.Ints(a.Name, ones...)
			}
		}
		n = &m
	}
	return ref.Eval(n, in)
}

// A case that fails as expected is counted apart. A case that is expected to fail and passes counts as failed, and an expected id
// without a case is an error.
func TestExpectedFailures(t *testing.T) {
	t.Parallel()
	open := openRef(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		out, err := ref.Eval(n, in)
		if n.Op == op.Sin && err == nil && len(out[0].F) == 7 {
			out[0].F[2] = 9
		}
		return out, err
	}))
	o := conformance.Options{Run: "^sin/f32/(odd|matrix)/plain$", Expect: []string{"sin/f32/odd/plain"}}
	r, err := conformance.Check(context.Background(), open, o)
	require.NoError(t, err)
	require.NoError(t, r.Err())
	require.Equal(t, [3]int{1, 0, 1}, [3]int{r.Passed, r.Failed, r.Expected})
	o.Expect = append(o.Expect, "sin/f32/matrix/plain")
	r, err = conformance.Check(context.Background(), open, o)
	require.NoError(t, err)
	require.Error(t, r.Err())
	require.Equal(t, [3]int{0, 1, 1}, [3]int{r.Passed, r.Failed, r.Expected})
	o.Expect = []string{"sin/f32/nowhere"}
	_, err = conformance.Check(context.Background(), open, o)
	require.ErrorContains(t, err, "no case of the suite")
}
