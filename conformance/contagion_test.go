package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// fragile behaves like the reference in a process that runs out of memory and ends on a Floor node. The node itself fails with
// another error; every later call of Open and OpenStream returns that the backend is lost.
type fragile struct {
	core.Backend
	dead *atomic.Bool
}

var errDead = fmt.Errorf("fragile: %w", core.ErrBackendLost)

func openFragile() (core.Backend, error) {
	dead := new(atomic.Bool)
	return fragile{ref.New(ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		if n.Op == op.Floor {
			dead.Store(true)
			return nil, errors.New("fatal error: out of memory") // the node does not report that the backend is lost
		}
		return ref.Eval(n, in)
	})), dead}, nil
}

func (m fragile) Open(ctx context.Context, i int) (core.Device, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	d, err := m.Backend.Open(ctx, i)
	return fragileDevice{d, m.dead}, err
}

type fragileDevice struct {
	core.Device
	dead *atomic.Bool
}

func (d fragileDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	if d.dead.Load() {
		return nil, errDead
	}
	return d.Device.OpenStream(ctx)
}

// A backend that ends within one case fails only that case, regardless of the error that the case received.
func TestOneFailureIsNoOther(t *testing.T) {
	t.Parallel()
	r, err := conformance.Check(context.Background(), openFragile, conformance.Options{Run: "^(floor/f32/odd/plain|round/f32/(odd|rank0|matrix)/plain|errors/read-short|errors/node-fields)$", Shrink: -1})
	require.NoError(t, err)
	require.Equal(t, []int{5, 1}, []int{r.Passed, r.Failed})
	for _, x := range r.Results {
		require.Equal(t, x.ID == "floor/f32/odd/plain", x.Status == conformance.Failed, "%s: %s", x.ID, x.Reason)
	}
}

// A backend that ends after a case has passed makes no other case fail.
func TestDeathBetweenCases(t *testing.T) {
	t.Parallel()
	opened := 0
	var last fragile
	open := func() (core.Backend, error) {
		opened++
		b, err := openFragile()
		last = b.(fragile)
		return b, err
	}
	r, err := conformance.Check(context.Background(), open, conformance.Options{Run: "^round/f32/(odd|rank0|matrix)/plain$",
		Progress: func(conformance.Result, int) { last.dead.Store(true) }})
	require.NoError(t, err)
	require.Equal(t, 3, r.Passed, "%+v", r.Results)
	require.Equal(t, 3, opened)
}
