package verify_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/verify"
)

// Each kind of use of a tensor of another stream requires order, by an event or by a wait of the host.
func TestUseWithoutOrder(t *testing.T) {
	uses := map[string]func(r *rig, s core.Stream, d op.Desc) error{
		"node": func(r *rig, s core.Stream, d op.Desc) error { return s.Submit([]op.Node{r.node(op.Neg, d)}, nil) },
		"free": func(r *rig, s core.Stream, d op.Desc) error { return r.free(s, d) },
		"drop": func(r *rig, s core.Stream, d op.Desc) error {
			n := r.node(op.Neg, d)
			n.Drop = 1
			return s.Submit([]op.Node{n}, nil)
		},
		"read": func(r *rig, s core.Stream, d op.Desc) error {
			return core.Read(ctx, s, d.ID, make([]byte, d.Bytes()))
		},
		"view": func(r *rig, s core.Stream, d op.Desc) error {
			h, ok := core.Extension[core.HostMemory](r.Device)
			require.True(r.t, ok)
			return h.View(ctx, s, d.ID, func([]byte) error { return nil })
		},
		"constant": func(r *rig, s core.Stream, d op.Desc) error {
			_, err := r.programs().Define(ctx, s, doubling(r.t, 2), []op.TensorID{d.ID})
			return err
		},
		"input": func(r *rig, s core.Stream, d op.Desc) error {
			c := r.write(s, 1, 2)
			p, err := r.programs().Define(ctx, s, doubling(r.t, 2), []op.TensorID{c.ID})
			require.NoError(r.t, err)
			return r.programs().Run(s, core.Run{Program: p, Inputs: []op.TensorID{d.ID}, Outputs: []op.TensorID{r.NewIDs(1)}})
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			r := processor(t)
			a, b := r.stream(), r.stream()
			r.write(a, 1)
			d := r.write(a, 1, 2)
			err := use(r, b, d)
			f := &verify.Fault{}
			require.ErrorAs(t, err, &f)
			require.Equal(t, verify.Order, f.Kind)
			require.Equal(t, d.ID, f.Tensor)
			require.ErrorIs(t, err, core.ErrProtocol)
			require.Equal(t, "write (command 2 of stream 0)", f.Other)
			require.Contains(t, f.Command, "of stream 1)")
			require.Contains(t, f.Error(), f.Other)
			require.Contains(t, f.Error(), f.Command)
		})
		t.Run(name+" in order", func(t *testing.T) {
			for _, order := range []func(a, b core.Stream) error{
				func(a, b core.Stream) error { return b.Wait(a.Signal()) },
				func(a, b core.Stream) error { return core.Sync(ctx, a) },
				func(a, b core.Stream) error { return errors.Join(core.Sync(ctx, a), a.Close()) },
			} {
				r := processor(t)
				a, b := r.stream(), r.stream()
				d := r.do(a, op.Neg, r.write(a, 1, 2))
				require.NoError(t, order(a, b))
				require.NoError(t, use(r, b, d))
				r.clean()
			}
		})
	}
}

// Order is transitive, and an event orders only the commands before it.
func TestOrderThroughStreams(t *testing.T) {
	r := reference(t)
	a, b, c := r.stream(), r.stream(), r.stream()
	d := r.write(a, 1)
	e := a.Signal()
	late := r.write(a, 2)
	require.NoError(t, b.Wait(e))
	require.NoError(t, c.Wait(b.Signal()))
	r.do(c, op.Neg, d)
	r.clean()
	r.refused(c.Submit([]op.Node{r.node(op.Neg, late)}, nil), verify.Order, core.ErrProtocol, "neg (command 3 of stream 2)", "write (command 3 of stream 0)")
	require.NoError(t, e.Wait(ctx)) // late is not ordered before this event either
	r.refused(b.Submit([]op.Node{r.node(op.Neg, late)}, nil), verify.Order, core.ErrProtocol)
}

// Freeing, dropping or donating a tensor must be ordered after its uses on other streams.
func TestFreeWithoutOrder(t *testing.T) {
	ends := map[string]func(r *rig, s core.Stream, d op.Desc) error{
		"freed": func(r *rig, s core.Stream, d op.Desc) error { return r.free(s, d) },
		"dropped": func(r *rig, s core.Stream, d op.Desc) error {
			n := r.node(op.Neg, d)
			n.Drop = 1
			return s.Submit([]op.Node{n}, nil)
		},
		"donated": func(r *rig, s core.Stream, d op.Desc) error {
			c := r.write(s, 1, 2)
			p, err := r.programs().Define(ctx, s, doubling(r.t, 2), []op.TensorID{c.ID})
			require.NoError(r.t, err)
			return r.programs().Run(s, core.Run{Program: p, Inputs: []op.TensorID{d.ID}, Donated: []bool{true}, Outputs: []op.TensorID{r.NewIDs(1)}})
		},
	}
	for does, end := range ends {
		t.Run(does, func(t *testing.T) {
			r := reference(t)
			a, b := r.stream(), r.stream()
			d := r.write(a, 1, 2)
			require.NoError(t, b.Wait(a.Signal()))
			r.do(b, op.Neg, d)
			ticket := b.Read(d.ID, make([]byte, 8))
			f := r.refused(end(r, a, d), verify.Order, core.ErrProtocol, does, "read (command 3 of stream 1)", "of stream 0)")
			require.Equal(t, d.ID, f.Tensor)
			require.Equal(t, "read (command 3 of stream 1)", f.Other)
			require.NoError(t, ticket.Wait(ctx)) // the host has waited for the read and all commands before it
			require.NoError(t, end(r, a, d))
		})
	}
}

// A refused command has no effect: its frees, uses and outputs are not recorded.
func TestRefusedIsTakenBack(t *testing.T) {
	r := reference(t)
	a, b := r.stream(), r.stream()
	x := r.write(a, 1)
	y := r.write(b, 2)
	require.NoError(t, b.Wait(a.Signal()))
	neg, add := r.node(op.Neg, x), r.node(op.Abs, x)
	neg.Drop = 0
	add.Drop = 1
	bad := r.node(op.Neg, op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{1}})
	r.refused(b.Submit([]op.Node{neg, add, bad}, []op.TensorID{y.ID}), verify.Unknown, core.ErrUnknownTensor, "no command has made")
	require.Equal(t, []float32{1}, r.read(a, x))
	require.NoError(t, r.free(a, x)) // b did not use it
	require.Equal(t, []float32{2}, r.read(b, y))
	z := op.Desc{ID: neg.Outputs[0].ID, DType: dtype.F32, Shape: []int{1}}
	require.NoError(t, b.Write(ctx, z, make([]byte, 4)), "the id is still new")
	_, n := r.log.Report()
	require.Equal(t, 1, n)
}

// A stream that reuses the slot of a closed one is a different stream.
func TestManyStreams(t *testing.T) {
	r := reference(t)
	keep := r.stream()
	for range 20 {
		s := r.stream()
		d := r.write(s, 1)
		require.NoError(t, core.Sync(ctx, s))
		require.NoError(t, s.Close())
		require.NoError(t, r.free(keep, r.do(keep, op.Neg, d), d))
	}
	r.clean()
	s := r.stream()
	d := r.write(s, 1)
	r.refused(r.free(keep, d), verify.Order, core.ErrProtocol, "write (command 1 of stream 21)")
}

// The last commands of a closed stream may never have been executed: uses of their results are no faults, and the results are no leaks.
func TestClosedStream(t *testing.T) {
	r := reference(t)
	a, b := r.stream(), r.stream()
	d := r.write(a, 1, 2)
	for range 100 {
		d = r.do(a, op.Neg, d)
	}
	require.NoError(t, a.Close())
	_ = r.free(b, d)
	require.NoError(t, r.Close())
	r.clean()
	require.Empty(t, r.leaks)
	require.ErrorIs(t, a.Submit(nil, nil), core.ErrClosed)
	require.ErrorIs(t, b.Signal().Wait(ctx), core.ErrClosed)
	r.clean()
}
