package client

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// parsed returns a reply as it comes from a plugin, with its frame.
func parsed(t *testing.T, f *wire.Frame) (*wire.Reply, *wire.Frame) {
	t.Helper()
	p := &wire.Reply{}
	require.NoError(t, p.Parse(f))
	return p, f
}

// data returns a reply with bytes lo to hi of content.
func data(t *testing.T, request uint64, content []byte, lo, hi int, last bool) (*wire.Reply, *wire.Frame) {
	t.Helper()
	b := wire.NewBuffer(len(content))
	copy(b.Data(), content)
	return parsed(t, wire.DataFrame(request, b, lo, hi, last))
}

// answered returns the answer of a request, and whether there is one.
func answered(r *request) (error, bool) {
	select {
	case err := <-r.done:
		return err, true
	default:
		return nil, false
	}
}

var content = []byte("0123456789")

// TestReadData receives a tensor in three parts, with a waiter that attaches before, between or after them, and checks that all bytes arrive in
// order.
func TestReadData(t *testing.T) {
	for attach := range 4 { // after so many of the three parts
		var q requests
		r := q.put(&request{read: true, size: 10})
		dst := make([]byte, 10)
		for i, cut := range []int{0, 4, 7} {
			if i == attach {
				q.attach(r, dst)
			}
			end := []int{4, 7, 10}[i]
			p, f := data(t, r.id, content, cut, end, end == 10)
			require.NoError(t, q.data(p, f))
			_, done := answered(r)
			require.Equal(t, end == 10, done)
		}
		if attach == 3 {
			q.attach(r, dst)
		}
		require.Equal(t, content, dst, "attached after %d parts", attach)
		require.Empty(t, q.open)
		p, f := data(t, r.id, content, 0, 4, false)
		require.NoError(t, q.data(p, f), "what still comes for an answered request is dropped")
	}
}

// TestHostileReplies checks that a plugin cannot answer a request that was not made, write beyond a tensor, or answer without the data.
func TestHostileReplies(t *testing.T) {
	type handle func(*requests, *testing.T) error
	reply := func(f *wire.Frame) handle {
		return func(q *requests, t *testing.T) error {
			p, f := parsed(t, f)
			switch p.Tag {
			case wire.TagPart:
				return q.part(p)
			case wire.TagData:
				return q.data(p, f)
			}
			return q.answer(p)
		}
	}
	bytes := func(request uint64, lo, hi int, last bool) handle {
		return func(q *requests, t *testing.T) error {
			p, f := data(t, request, content, lo, hi, last)
			return q.data(p, f)
		}
	}
	// Requests 1: a read of 8 bytes; 2: a write; 3: a write in shared memory; 4: a read of 8 bytes in shared memory.
	for _, c := range []struct {
		what string
		do   handle
		want string
	}{
		{"request 0", reply(wire.DoneFrame(0, nil)), "reply 0x83 to request 0, the last was 4"},
		{"a request to come", reply(wire.DoneFrame(5, nil)), "reply 0x83 to request 5, the last was 4"},
		{"a part of a request to come", reply(wire.PartFrame(9, 1)), "reply 0x86 to request 9, the last was 4"},
		{"data of a request to come", bytes(9, 0, 1, false), "reply 0x82 to request 9, the last was 4"},
		{"a read without data", reply(wire.DoneFrame(1, nil)), "request 1 is done without its data"},
		{"a read that is kept", reply(wire.KeptFrame(1)), "request 1 is kept, which writes nothing"},
		{"a read that comes in shared memory", reply(wire.PartFrame(1, 8)), "8 bytes for request 1, which has 0 of 8"},
		{"more than was asked for", bytes(1, 0, 9, false), "9 bytes for request 1, which has 0 of 8"},
		{"too little", bytes(1, 0, 7, true), "7 bytes for request 1, which has 0 of 8"},
		{"all without an end", bytes(1, 0, 8, false), "8 bytes for request 1, which has 0 of 8"},
		{"data for a write", bytes(2, 0, 1, false), "1 bytes for request 2"},
		{"a write that is kept in no segment", reply(wire.KeptFrame(2)), "request 2 is kept, which writes nothing"},
		{"a part of a write", reply(wire.PartFrame(3, 1)), "1 bytes for request 3"},
		{"a part beyond the tensor", reply(wire.PartFrame(4, 9)), "9 bytes for request 4, which has 0 of 8"},
		{"a part of nothing", reply(wire.PartFrame(4, 0)), "0 bytes for request 4, which has 0 of 8"},
		{"a part beyond all numbers", reply(wire.PartFrame(4, -1)), "18446744073709551615 bytes for request 4"},
		{"a shared read without data", reply(wire.DoneFrame(4, nil)), "request 4 is done without its data"},
		{"data for a shared read", bytes(4, 0, 8, true), "8 bytes for request 4"},
	} {
		var q requests
		all := []*request{q.put(&request{read: true, size: 8}), q.put(&request{size: 8}), q.put(&request{write: true, size: 8}),
			q.put(&request{size: 8, parts: make(chan struct{}, 1)})}
		err := c.do(&q, t)
		require.ErrorIs(t, err, core.ErrProtocol, c.what)
		require.ErrorContains(t, err, c.want, c.what)
		for _, r := range all {
			_, done := answered(r)
			require.False(t, done, "%s: nobody is told that the data is there", c.what)
		}
	}
}

// TestParts checks that the parts of a tensor grow until it is complete, and that a part that does not grow is an ErrProtocol.
func TestParts(t *testing.T) {
	var q requests
	r := q.put(&request{size: 100, parts: make(chan struct{}, 1)})
	part := func(end int) error {
		p, _ := parsed(t, wire.PartFrame(r.id, end))
		return q.part(p)
	}
	require.NoError(t, part(10))
	require.NoError(t, part(60), "nobody has looked since")
	require.Equal(t, 60, q.sofar(r))
	require.Len(t, r.parts, 1)
	require.ErrorIs(t, part(60), core.ErrProtocol)
	require.ErrorIs(t, part(59), core.ErrProtocol)
	require.NoError(t, part(100))
	err, done := answered(r)
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, part(100), "answered")
}

// TestDroppedRequests checks that after drop nothing writes to the caller's memory, and that settle learns that nobody waits.
func TestDroppedRequests(t *testing.T) {
	var q requests
	dst := bytes.Repeat([]byte{7}, 10)
	var settled []any
	r := q.put(&request{read: true, size: 10, dst: dst, settle: func(err error, dropped bool) { settled = append(settled, err, dropped) }})
	p, f := data(t, r.id, content, 0, 3, false)
	require.NoError(t, q.data(p, f))
	require.True(t, q.drop(r))
	p, f = data(t, r.id, content, 3, 10, true)
	require.NoError(t, q.data(p, f))
	require.Equal(t, []byte{'0', '1', '2', 7, 7, 7, 7, 7, 7, 7}, dst)
	require.Equal(t, []any{nil, true}, settled)
	require.False(t, q.drop(r), "it was answered")

	w := q.put(&request{write: true, settle: func(err error, dropped bool) { settled = append(settled, err, dropped) }})
	p, _ = parsed(t, wire.KeptFrame(w.id))
	require.NoError(t, q.answer(p))
	require.True(t, w.kept)
	require.Equal(t, []any{nil, true, nil, false}, settled)
	removed := q.put(&request{})
	q.remove(removed)
	require.Empty(t, q.open)
}

// TestStreamOver checks that failAll answers all open requests with the reason, and that later requests get the same answer at once.
func TestStreamOver(t *testing.T) {
	var q requests
	over := errors.New("over")
	a, b := q.put(&request{}), q.put(&request{read: true, size: 1})
	q.failAll(over)
	c := q.put(&request{})
	for _, r := range []*request{a, b, c} {
		err, done := answered(r)
		require.True(t, done)
		require.Equal(t, over, err)
	}
	require.Empty(t, q.open)
	require.Equal(t, []uint64{1, 2, 3}, []uint64{a.id, b.id, c.id}, "the protocol numbers requests from 1")
}

// TestFull checks that full holds the caller back at half of the requests that the protocol allows.
func TestFull(t *testing.T) {
	var q requests
	var first *request
	for i := range wire.MaxRequests / 2 {
		require.False(t, q.full())
		if r := q.put(&request{}); i == 0 {
			first = r
		}
	}
	require.True(t, q.full())
	q.remove(first)
	require.False(t, q.full())
}
