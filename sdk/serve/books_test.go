package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// TestRequests compares requests with a model: numbers of begun requests increase, each request ends once, and a request may be canceled
// at any time, even before it begins.
func TestRequests(t *testing.T) {
	const (
		unseen = iota
		open
		canceledOpen
		canceledBefore
		answered
	)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q requests
		state, latest := map[uint64]int{}, uint64(0)
		for range 60 {
			n := 1 + r.Uint64N(12)
			switch r.IntN(3) {
			case 0:
				err := q.begin(n)
				if n <= latest {
					require.ErrorIs(t, err, core.ErrProtocol)
					continue
				}
				require.NoError(t, err)
				latest = n
				if state[n] == canceledBefore {
					state[n] = canceledOpen
				} else {
					state[n] = open
				}
			case 1:
				require.NoError(t, q.cancel(n))
				switch {
				case state[n] == open:
					state[n] = canceledOpen
				case state[n] == unseen && n > latest:
					state[n] = canceledBefore
				}
			case 2:
				if state[n] == open || state[n] == canceledOpen {
					q.end(n)
					state[n] = answered
				}
			}
			for n := uint64(1); n <= 12; n++ {
				want := state[n] == canceledOpen || state[n] == canceledBefore
				require.Equal(t, want, q.canceled(n), "request %d in state %d", n, state[n])
			}
		}
	}
}

// TestRequestLimit checks that open requests count together with those canceled before they began, and that ended requests make room.
func TestRequestLimit(t *testing.T) {
	var q requests
	for i := range uint64(wire.MaxRequests) {
		require.NoError(t, q.begin(1+i))
	}
	err := q.begin(wire.MaxRequests + 1)
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "request 65537 after 65536, 65536 are open, at most 65536")
	require.ErrorIs(t, q.cancel(wire.MaxRequests+5), core.ErrProtocol)
	q.end(77)
	require.NoError(t, q.cancel(77), "answered already")
	require.NoError(t, q.begin(wire.MaxRequests+1))
	require.False(t, q.canceled(77))
}

// TestEventFailures: an event reports the first failure before it, once, and failures behind it wait for a later event.
func TestEventFailures(t *testing.T) {
	fault := func(n int) error { return fmt.Errorf("fault %d", n) }
	var v events
	signal := func() { require.NoError(t, v.add(core.Failed(nil))) }
	v.note(fault(1))
	v.note(fault(2))
	signal() // 1
	v.note(fault(3))
	signal() // 2
	v.note(fault(4))
	require.Equal(t, fault(1), v.report(1))
	require.NoError(t, v.report(1), "the others before it are reported with the first")
	require.Equal(t, fault(3), v.report(2))
	signal() // 3
	v.note(fault(5))
	signal() // 4
	require.Equal(t, fault(4), v.report(4), "the earliest, of several events")
	require.NoError(t, v.report(4))
	for i := range 3 * maxFailures {
		v.note(fault(i))
	}
	require.Len(t, v.failures, maxFailures, "a stream that fails for ever needs no more memory")
	signal() // 5
	require.Equal(t, fault(0), v.report(5))
	require.Empty(t, v.failures)
}

// TestEventNumbers: an event exists from its signal until it or a later one is settled.
func TestEventNumbers(t *testing.T) {
	var v events
	made := []core.Event{nil}
	for i := range 5 {
		e := core.Failed(fmt.Errorf("event %d", 1+i))
		made = append(made, e)
		require.NoError(t, v.add(e))
	}
	v.settle(2)
	v.settle(1)
	for n := range uint64(7) {
		e, err := v.own(n)
		switch {
		case n == 0 || n > 5:
			require.ErrorIs(t, err, core.ErrProtocol)
			require.ErrorContains(t, err, fmt.Sprintf("event %d, 5 were signaled", n))
		case n <= 2:
			require.NoError(t, err)
			require.Nil(t, e, "settled")
		default:
			require.NoError(t, err)
			require.Equal(t, made[n], e)
		}
	}
	e, err := v.get(context.Background(), 4)
	require.NoError(t, err)
	require.Equal(t, made[4], e)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = v.get(canceled, 6)
	require.ErrorIs(t, err, context.Canceled, "an event to come")
}

// TestEventLimit checks that the limit counts events since the last settled one.
func TestEventLimit(t *testing.T) {
	var v events
	for range wire.MaxEvents {
		require.NoError(t, v.add(nil))
	}
	require.ErrorIs(t, v.add(nil), core.ErrProtocol)
	v.settle(1)
	require.NoError(t, v.add(nil))
	err := v.add(nil)
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "65536 events since the last that was waited for, at most 65536")
}

// TestEventWaiters wakes all requests that wait for an event when it is signaled, and all others when the stream ends.
func TestEventWaiters(t *testing.T) {
	t.Parallel()
	var v events
	type got struct {
		n   uint64
		e   core.Event
		err error
	}
	answers := make(chan got, 8)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, n := range []uint64{1, 1, 2, 9} {
		go func() {
			e, err := v.get(ctx, n)
			answers <- got{n, e, err}
		}()
	}
	first, second := core.Failed(errors.New("first")), core.Failed(errors.New("second"))
	require.NoError(t, v.add(first))
	for range 2 {
		require.Equal(t, got{1, first, nil}, <-answers)
	}
	require.NoError(t, v.add(second))
	require.Equal(t, got{2, second, nil}, <-answers)
	v.end()
	require.Equal(t, got{9, nil, nil}, <-answers)
	e, err := v.get(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, second, e, "events that were there stay")
}

// TestEarlier checks that of a failure of the backend and a failure of the server, the failure of the earlier node is reported.
func TestEarlier(t *testing.T) {
	node := func(id op.TensorID, text string) error {
		return fmt.Errorf("around: %w", &core.NodeError{Op: text, Outputs: []op.Desc{{ID: id}}, Err: core.ErrKernel})
	}
	plain := errors.New("plain")
	for _, c := range []struct {
		what               string
		backend, own, want error
	}{
		{"none", nil, nil, nil},
		{"backend alone", plain, nil, plain},
		{"server alone", nil, plain, plain},
		{"backend first", node(3, "b"), node(5, "o"), node(3, "b")},
		{"server first", node(7, "b"), node(5, "o"), node(5, "o")},
		{"unknown order", plain, node(5, "o"), node(5, "o")},
		{"node without outputs", &core.NodeError{Op: "b", Err: plain}, node(5, "o"), node(5, "o")},
	} {
		require.Equal(t, c.want, earlier(c.backend, c.own), c.what)
	}
}

// TestUses checks that a program is over after its end was requested and its last run has arrived, in either order.
func TestUses(t *testing.T) {
	for runs := range uint64(5) {
		for ended := range uint64(6) { // the call comes after so many runs
			var u uses
			for done := range uint64(6) {
				if done == ended {
					u.ending, u.limit = true, runs
				}
				require.Equal(t, ended <= done && done >= runs, u.over(), "%d runs, ended after %d, %d came", runs, ended, done)
				u.count++
			}
		}
	}
}

// TestDropped lists the tensors of a batch that the backend still holds if it refuses the batch.
func TestDropped(t *testing.T) {
	out := func(ids ...op.TensorID) (l []op.Desc) {
		for _, id := range ids {
			l = append(l, op.Desc{ID: id})
		}
		return l
	}
	many := make([]op.TensorID, 70)
	for i := range many {
		many[i] = op.TensorID(100 + i)
	}
	for _, c := range []struct {
		what  string
		batch []op.Node
		want  []op.TensorID
	}{
		{"nothing dropped", []op.Node{{Inputs: []op.TensorID{1, 2}, Outputs: out(3)}}, nil},
		{"one of two", []op.Node{{Inputs: []op.TensorID{1, 2}, Drop: 2, Outputs: out(3)}}, []op.TensorID{2}},
		{"made in the batch", []op.Node{{Inputs: []op.TensorID{1}, Outputs: out(3)}, {Inputs: []op.TensorID{3, 1}, Drop: 3, Outputs: out(4)}}, []op.TensorID{1}},
		{"an id made only later", []op.Node{{Inputs: []op.TensorID{3}, Drop: 1, Outputs: out(4)}, {Inputs: []op.TensorID{4}, Outputs: out(3)}}, []op.TensorID{3}},
		{"beyond the mask", []op.Node{{Inputs: many, Drop: 1 << 63, Outputs: out(1)}}, []op.TensorID{163}},
	} {
		require.Equal(t, c.want, dropped(c.batch), c.what)
	}
}

// TestOpNames checks that opNames names each op once, in order, and at most eight.
func TestOpNames(t *testing.T) {
	batch := func(names ...string) (l []op.Node) {
		for _, name := range names {
			c, ok := op.ByName(name)
			require.True(t, ok, name)
			l = append(l, op.Node{Op: c})
		}
		return l
	}
	require.Equal(t, "add", opNames(batch("add", "add")))
	require.Equal(t, "mul, add, neg", opNames(batch("mul", "add", "mul", "neg", "add")))
	eight := batch("add", "sub", "mul", "div", "neg", "abs", "exp", "log")
	require.Equal(t, "add, sub, mul, div, neg, abs, exp, log", opNames(append(eight, eight...)))
	require.Equal(t, "add, sub, mul, div, neg, abs, exp, log, ...", opNames(append(eight, batch("sqrt", "sin")...)))
}

// TestUploadGrows checks that the memory for an announced tensor is allocated at once only up to a limit. Beyond it the memory grows with
// the data that arrives, and the data stays.
func TestUploadGrows(t *testing.T) {
	small := &upload{desc: op.DescOf(dtype.U8, 10)}
	small.grow(4, 10)
	require.Len(t, small.data, 4)
	require.Equal(t, 10, cap(small.data))
	const total = 1 << 40
	u := &upload{}
	u.grow(8, total)
	require.Equal(t, trusted, cap(u.data), "a host that announces a terabyte gets no more")
	copy(u.data, "01234567")
	u.got = trusted
	u.data = u.data[:trusted]
	u.grow(1, total)
	require.Len(t, u.data, trusted+1)
	require.Equal(t, 2*trusted, cap(u.data))
	require.Equal(t, "01234567", string(u.data[:8]))
	kept := &upload{data: make([]byte, 0, 100)}
	kept.grow(50, 60)
	require.Equal(t, 100, cap(kept.data), "a staging buffer that fits is used")
}

// TestAddressSpace checks that sizes beyond every machine are refused without an allocation, and that small sizes are accepted.
func TestAddressSpace(t *testing.T) {
	require.NoError(t, checkAddressSpace(0))
	require.NoError(t, checkAddressSpace(minChecked-1))
	require.NoError(t, checkAddressSpace(minChecked))
	err := checkAddressSpace(1 << 62)
	require.ErrorIs(t, err, core.ErrOutOfMemory)
	require.ErrorContains(t, err, "4611686018427387904 bytes in the plugin")
}
