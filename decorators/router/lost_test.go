package router_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// When a member is lost, its tensors are lost, but their copies on other members remain. The loss is reported once, and the router goes on
// with the other members.
func TestLost(t *testing.T) {
	for _, which := range []int{0, 1} {
		members := []*planted{plant(t), plant(t)}
		r := over(t, []*core.Place{place("a", members[0]), place("b", members[1])})
		here, there := r.on(r.s, which), r.on(r.s, 1-which)
		alone, copied, other := r.write(here, 1, 2), r.write(here, 3, 4), r.write(there, 5, 6)
		require.Equal(t, []float32{-3, -4}, r.read(r.s, r.do(there, op.Neg, copied)))
		require.NoError(t, core.Sync(ctx, r.s))
		members[which].lost.Store(true)

		require.ErrorIs(t, core.Read(ctx, r.s, alone.ID, make([]byte, 8)), core.ErrBackendLost)
		err := core.Sync(ctx, r.s)
		if err != nil {
			require.ErrorIs(t, err, core.ErrBackendLost)
		}
		require.NoError(t, core.Sync(ctx, r.s), "the loss is reported once")
		require.ErrorIs(t, r.Stats().Members[which].Lost, core.ErrBackendLost)
		require.NoError(t, r.Stats().Members[1-which].Lost)

		require.Equal(t, []float32{8, 10}, r.read(r.s, r.do(r.s, op.Add, copied, other)), "a copy lives")
		poisoned := r.do(r.s, op.Add, alone, other)
		require.ErrorIs(t, core.Read(ctx, r.s, poisoned.ID, make([]byte, 8)), core.ErrBackendLost)
		require.Equal(t, []float32{7}, r.read(r.s, r.write(here, 7)), "new tensors go to the member that is left")
		s := r.stream()
		require.Equal(t, []float32{-8}, r.read(s, r.do(s, op.Neg, r.write(s, 8))))
		require.NoError(t, core.Sync(ctx, s))
		require.NoError(t, s.Close())

		members[1-which].lost.Store(true)
		require.ErrorIs(t, core.Read(ctx, r.s, other.ID, make([]byte, 8)), core.ErrBackendLost)
		for range 2 {
			require.ErrorIs(t, core.Sync(ctx, r.s), core.ErrBackendLost, "no member is left")
		}
	}
}

// When a member is lost, a program that used it runs on the other members.
func TestProgramLost(t *testing.T) {
	helper := plant(t)
	r := over(t, []*core.Place{place("main", plant(t, "exp")), place("b", helper), place("c", plant(t, "sin"))})
	p, _ := core.Extension[core.Programs](r.Device)
	c := r.write(r.s, 100, 100)
	id, err := p.Define(ctx, r.s, square(t, 2), []op.TensorID{c.ID})
	require.NoError(t, err)
	r.free(r.s, c)
	run := func() ([]float32, error) {
		x := r.write(r.s, 0, 1)
		first := r.NewIDs(4)
		out := []op.TensorID{first, first + 1, first + 2, first + 3}
		if err := p.Run(r.s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Donated: []bool{true}, Outputs: out}); err != nil {
			return nil, err
		}
		v := make([]float32, 2)
		err := core.Read(ctx, r.s, first, dtype.Bytes(v))
		require.NoError(t, r.s.Submit(nil, out))
		return v, err
	}
	want := []float32{100, 102.71828}
	v, err := run()
	require.NoError(t, err)
	require.InDeltaSlice(t, want, v, 1e-4)
	require.Contains(t, r.Plans()[0].String(), "b  ")
	helper.lost.Store(true)
	if v, err = run(); err != nil { // the run was already submitted
		require.ErrorIs(t, err, core.ErrBackendLost)
	}
	for range 3 {
		v, err = run()
		require.NoError(t, err)
		require.InDeltaSlice(t, want, v, 1e-4)
	}
	require.Eventually(t, func() bool {
		units := r.Plans()[0].Units
		for _, u := range units {
			if u.Member == "b" {
				return false
			}
		}
		return len(units) > 0
	}, 30*time.Second, time.Millisecond, "it is placed anew")
	v, err = run()
	require.NoError(t, err)
	require.InDeltaSlice(t, want, v, 1e-4)
	require.NoError(t, p.Undefine(id))
	if err := core.Sync(ctx, r.s); err != nil {
		require.ErrorIs(t, err, core.ErrBackendLost)
	}
	require.Eventually(t, func() bool { return r.live(r.s) == 0 }, 30*time.Second, time.Millisecond)
}

// A member is lost at a random call. Every result is right or ErrBackendLost, and in the end no tensors remain on the other members.
func TestLostAnytime(t *testing.T) {
	for round := range 150 {
		rnd := rand.New(rand.NewPCG(1, uint64(round)))
		main, helper := plant(t, "exp"), plant(t, "mul")
		which := []*planted{main, helper}[round%2]
		r := over(t, []*core.Place{place("main", main), place("helper", helper), place("last", processor(t))})
		p, _ := core.Extension[core.Programs](r.Device)
		s := r.s
		which.until.Store(int64(1 + rnd.IntN(60)))
		var all []op.TensorID
		right := func(err error) bool {
			if err != nil {
				require.ErrorIs(t, err, core.ErrBackendLost)
			}
			return err == nil
		}
		for range 6 {
			x, c := op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{2}}, op.Desc{ID: r.NewIDs(1), DType: dtype.F32, Shape: []int{2}}
			var id core.ProgramID
			err := s.Write(ctx, x, dtype.Bytes([]float32{0, 1}))
			if right(err) {
				all = append(all, x.ID)
				err = s.Write(ctx, c, dtype.Bytes([]float32{100, 100}))
			}
			if right(err) {
				all = append(all, c.ID)
				id, err = p.Define(ctx, s, square(t, 2), []op.TensorID{c.ID})
			}
			if !right(err) {
				continue
			}
			for range 2 {
				first := r.NewIDs(5)
				out := []op.TensorID{first, first + 1, first + 2, first + 3}
				if !right(p.Run(s, core.Run{Program: id, Inputs: []op.TensorID{x.ID}, Outputs: out})) {
					continue
				}
				all = append(all, out...)
				y := op.Desc{ID: first, DType: dtype.F32, Shape: []int{2}}
				n, err := op.New(op.Exp, []op.Desc{y})
				require.NoError(t, err)
				n.Outputs[0].ID = first + 4
				if right(s.Submit([]op.Node{n}, nil)) {
					all = append(all, first+4)
				}
				v := make([]float32, 2)
				if right(core.Read(ctx, s, first, dtype.Bytes(v))) {
					require.InDeltaSlice(t, []float32{100, 102.71828}, v, 1e-4)
				}
				right(core.Sync(ctx, s))
			}
			right(p.Undefine(id))
		}
		right(s.Submit(nil, all))
		require.Eventually(t, func() bool {
			if err := core.Sync(ctx, s); err != nil && !errors.Is(err, core.ErrBackendLost) {
				t.Error(err) // not in the goroutine of the test
				return true
			}
			m, _ := core.Extension[core.MemoryStats](r.Device)
			return m.Memory().Tensors == 0
		}, 30*time.Second, time.Millisecond, "round %d: something is left", round)
		require.NoError(t, r.Router.Close())
	}
}
