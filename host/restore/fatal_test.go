package restore_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/host/restore"
)

// planted plants two faults: the kernel of exp ends the process, and the kernel of log returns an error.
func planted(m *mortal, _ int) []ref.Option {
	return []ref.Option{ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		switch n.Op {
		case op.Exp:
			m.kill()
		case op.Log:
			return nil, errors.New("no logarithm today")
		}
		return ref.Eval(n, in)
	})}
}

// A node that ends every process is left out after two replays. Errors name it, and nodes that do not depend on it are executed.
func TestFatal(t *testing.T) {
	x := births{with: planted}
	b, d, s := x.device(t, restore.Options{})
	other := stream(t, d)
	write(t, s, desc(1, 1), 1)
	require.NoError(t, core.Sync(ctx, s))
	submit(t, s, node(t, "neg", id(2), desc(1, 1)), node(t, "exp", id(3), desc(1, 1)), node(t, "neg", id(4), desc(3, 1)))
	require.NoError(t, other.Wait(s.Signal()))
	submit(t, other, node(t, "neg", id(5), desc(2, 1)))
	require.Equal(t, f32(1), read(t, other, desc(5, 1)))
	require.EqualValues(t, 3, b.Restarts())
	err := core.Sync(ctx, s)
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "exp t3")
	require.NoError(t, core.Sync(ctx, s), "once")
	for _, n := range []uint64{3, 4} {
		err := readError(s, desc(n, 1))
		require.ErrorIs(t, err, core.ErrBackendLost)
		require.ErrorContains(t, err, "exp t3", "the error must name the node that caused the losses")
	}
	submit(t, s, node(t, "neg", id(6), desc(4, 1)), node(t, "neg", id(7), desc(2, 1)))
	require.ErrorContains(t, readError(s, desc(6, 1)), "exp t3")
	require.Equal(t, f32(1), read(t, s, desc(7, 1)))
	x.kill()
	require.Equal(t, f32(1), read(t, s, desc(7, 1)), "the node must stay left out")
	require.EqualValues(t, 4, b.Restarts())
}

// A blocking call that ends every process is given up after two restarts, and the error names it.
func TestFatalCall(t *testing.T) {
	x := births{with: func(m *mortal, _ int) []ref.Option {
		m.fatal = func(call string) bool { return call == "define" }
		return nil
	}}
	b, d, s := x.device(t, restore.Options{})
	write(t, s, desc(1, 1), 1)
	_, err := extension[core.Programs](t, d).Define(ctx, s, addProgram(t, 1), []op.TensorID{id(1)})
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, `defining "add"`)
	require.EqualValues(t, 2, b.Restarts())
	require.Equal(t, f32(1), read(t, s, desc(1, 1)))
}

// A backend that never completes a restart is given up after Attempts starts.
func TestGivenUp(t *testing.T) {
	var x births
	x.with = func(m *mortal, start int) []ref.Option {
		m.fatal = func(call string) bool { return start > 0 && call == "open" }
		return nil
	}
	_, _, s := x.device(t, restore.Options{Attempts: 3})
	write(t, s, desc(1, 1), 1)
	x.kill()
	err := core.Sync(ctx, s)
	require.ErrorIs(t, err, core.ErrBackendLost)
	require.ErrorContains(t, err, "given up after 3 starts")
	require.Equal(t, 4, x.starts())
}

// A failure is reported once, although its node is executed again after each loss.
func TestFailures(t *testing.T) {
	x := births{with: planted}
	_, d, s := x.device(t, restore.Options{})
	other := stream(t, d)
	write(t, s, desc(1, 1), 1)
	submit(t, s, node(t, "log", id(2), desc(1, 1)))
	require.ErrorContains(t, core.Sync(ctx, s), "log t2")
	x.kill()
	require.NoError(t, core.Sync(ctx, s))
	require.ErrorContains(t, readError(s, desc(2, 1)), "no logarithm today")
	submit(t, s, node(t, "log", id(3), desc(1, 1)))
	x.kill()
	require.NoError(t, core.Sync(ctx, other), "the failure belongs to the other stream")
	require.ErrorContains(t, core.Sync(ctx, s), "log t3")
	require.NoError(t, core.Sync(ctx, s))
}

// If a restarted backend lacks something that the first one had, the error says what is missing.
func TestRestartWithLess(t *testing.T) {
	declare := func(change func(*core.Capabilities)) func(*mortal) []ref.Option {
		return func(*mortal) []ref.Option { return []ref.Option{ref.Declaring(change)} }
	}
	for want, change := range map[string]func(m *mortal) []ref.Option{
		"programs": func(m *mortal) []ref.Option {
			m.lacks = func(target any) bool { _, is := target.(*core.Programs); return is }
			return nil
		},
		"exp version 1": declare(func(c *core.Capabilities) { delete(c.Ops, "exp") }),
		"type f64":      declare(func(c *core.Capabilities) { c.Types &^= dtype.SetOf(dtype.F64) }),
		"neg of i8": declare(func(c *core.Capabilities) {
			claim := c.Ops["neg"]
			claim.Operands = []dtype.Set{claim.Operands[0] &^ dtype.SetOf(dtype.I8)}
			c.Ops["neg"] = claim
		}),
		"its limits":  declare(func(c *core.Capabilities) { c.Limits.Bytes = 1 << 20 }),
		"determinism": declare(func(c *core.Capabilities) { c.Deterministic = false }),
	} {
		t.Run(want, func(t *testing.T) {
			var x births
			x.with = func(m *mortal, start int) []ref.Option {
				if start == 1 {
					return change(m)
				}
				return nil
			}
			_, d, s := x.device(t, restore.Options{})
			ps := extension[core.Programs](t, d)
			write(t, s, desc(1, 1), 1)
			prog, err := ps.Define(ctx, s, addProgram(t, 1), []op.TensorID{id(1)})
			require.NoError(t, err)
			x.kill()
			err = core.Sync(ctx, s)
			require.ErrorIs(t, err, core.ErrBackendLost)
			require.ErrorContains(t, err, "came back without "+want)
			require.NoError(t, core.Sync(ctx, s), "the backend of the next start is complete")
			require.NoError(t, ps.Run(s, core.Run{Program: prog, Inputs: []op.TensorID{id(1)}, Outputs: []op.TensorID{id(2)}}))
			require.Equal(t, f32(-2), read(t, s, desc(2, 1)))
		})
	}
}
