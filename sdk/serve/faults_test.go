package serve

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/wire"
)

// neg writes t3 = neg(t1), i8[]: ids are differences, each encoded as twice its value, or twice less one if negative.
func neg(drop byte) []byte { return []byte{0x02, 0, 3, 'n', 'e', 'g', 1, 1, 2, drop, 1, 4, 8, 0, 0} }

// sync asks for the failure of the commands sent so far, as request and event n.
func (l *line) sync(n byte, b ...byte) wire.Reply {
	l.t.Helper()
	return l.sync2(n, n, b...)
}

// sync2 is sync with a request and an event of different numbers.
func (l *line) sync2(request, event byte, b ...byte) wire.Reply {
	l.t.Helper()
	l.say(append(append([]byte{}, b...), 0x08, 0x0d, request, event)...)
	r := l.hear()
	require.Equal(l.t, []any{wire.TagDone, uint64(request)}, []any{r.Tag, r.Request}, "%v", r.Err)
	return r
}

// TestBackendFaults makes each call of the stream's backend fail and panic. The failure is answered once, a panic as a kernel fault that
// names the call, and the stream serves the next command.
func TestBackendFaults(t *testing.T) {
	s, _, l := playing(t)
	n := byte(0)
	next := func() byte { n++; return n }
	for _, c := range []struct {
		call  string
		say   []byte
		panic string // where the message puts the panic
	}{
		{"write", []byte{0x04, 2, 8, 0, 9}, "write: panic: oops"},
		{"submit", append([]byte{0x04, 2, 8, 0, 9}, 0x02, 0, 3, 'n', 'e', 'g', 1, 1, 0, 0, 1, 4, 8, 0, 0), "submit of neg: panic: oops"},
		{"free", []byte{0x04, 2, 8, 0, 9, 0x03, 1, 0}, "free: panic: oops"},
		{"signal", nil, "signal: panic: oops"},
		{"await", nil, "await: panic: oops"},
	} {
		if c.call == "submit" {
			// the op gets number 1 at its first use
			require.NoError(t, l.sync(next(), 0x04, 10, 8, 0, 9, 0x02, 0, 3, 'n', 'e', 'g', 1, 1, 0, 1, 1, 2, 8, 0, 0, 0x03, 1, 0).Err)
			c.say = []byte{0x04, 2, 8, 0, 9, 0x02, 1, 1, 0, 0, 1, 4, 8, 0, 0}
		}
		for _, fault := range []any{core.ErrOutOfMemory, "oops", fmt.Errorf("plain")} {
			s.fail(c.call, fault)
			r := l.sync(next(), c.say...)
			switch f := fault.(type) {
			case error:
				require.ErrorContains(t, r.Err, f.Error(), c.call)
				want := core.ErrKernel // of an error without a sentinel
				if errors.Is(f, core.ErrOutOfMemory) {
					want = core.ErrOutOfMemory
				}
				require.ErrorIs(t, r.Err, want, c.call)
			default:
				require.ErrorIs(t, r.Err, core.ErrKernel, c.call)
				require.ErrorContains(t, r.Err, c.panic)
			}
			s.fail(c.call, nil)
			// Free what is there, poisoned or not: it can be made again.
			_ = l.sync(next(), 0x03, 2, 2, 4)
			require.NoError(t, l.sync(next()).Err, "%s: once", c.call)
		}
	}
}

// TestPoison checks that all outputs of a batch that the backend refuses are poisoned, with the error of the first node, and that the
// tensors that the batch would drop are freed.
func TestPoison(t *testing.T) {
	s, _, l := playing(t)
	require.NoError(t, l.sync(1, 0x04, 2, 8, 0, 9).Err)
	require.Equal(t, []string{"write t1 1"}, s.made())
	s.fail("submit", core.ErrOutOfMemory)
	// t3 = neg(t1!); t4 = neg(t3!)
	r := l.sync(2, append(neg(1), 0x02, 1, 1, 0, 1, 1, 2, 8, 0, 0)...)
	require.ErrorIs(t, r.Err, core.ErrOutOfMemory)
	var node *core.NodeError
	require.ErrorAs(t, r.Err, &node)
	require.Equal(t, "neg", node.Op)
	require.Equal(t, op.TensorID(3), node.Outputs[0].ID)
	require.Equal(t, []string{"submit 2 []", "free [t1]"}, s.made(), "t1 is freed, t3 was never made")
	s.fail("submit", nil)

	// t5 = neg(t4) does not run, and passes the poison on without a failure of its own.
	require.NoError(t, l.sync(3, 0x02, 1, 1, 8, 0, 1, 2, 8, 0, 0).Err, "poison is no failure")
	for request, id := range []byte{8, 10} { // t4, t5
		l.say(0x07, byte(4+request), id, 1)
		l.done(uint64(4+request), core.ErrOutOfMemory)
	}
	require.NoError(t, l.sync2(6, 4, 0x03, 2, 8, 2).Err)
	require.Empty(t, s.made(), "the backend has never seen them")
	l.say(0x07, 7, 2, 1)
	l.done(7, core.ErrUnknownTensor)
}

// TestReads reads tensors of one byte and of none, and checks that wrong sizes, missing tensors, failures of the backend and canceled
// requests are answered with errors.
func TestReads(t *testing.T) {
	s, _, l := playing(t)
	for _, c := range []struct {
		what  string
		frame []byte
		want  error
	}{
		{"another size", []byte{0x07, 1, 2, 2}, core.ErrShape},
		{"no tensor", []byte{0x07, 2, 4, 1}, core.ErrUnknownTensor},
		{"a stale one", append([]byte{0x07, 3}, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 1), core.ErrStale},
	} {
		if c.what == "another size" {
			l.say(0x04, 2, 8, 0, 9)
		}
		l.say(c.frame...)
		l.done(uint64(c.frame[1]), c.want)
	}
	l.say(0x07, 4, 2, 1)
	r := l.hear()
	require.Equal(t, []any{wire.TagData, uint64(4), true, 1}, []any{r.Tag, r.Request, r.Last, r.Size()})
	for i, fault := range []any{core.ErrBackendLost, "oops"} {
		s.fail("read", fault)
		l.say(0x07, byte(5+i), 2, 1)
		l.done(uint64(5+i), map[bool]error{true: core.ErrBackendLost, false: core.ErrKernel}[i == 0])
	}
	s.fail("read", nil)
	// t2 is i8[0]: one empty piece
	l.say(0x04, 4, 8, 1, 0)
	l.say(0x07, 7, 4, 0)
	r = l.hear()
	require.Equal(t, []any{wire.TagData, uint64(7), true, 0}, []any{r.Tag, r.Request, r.Last, r.Size()})
	l.say(append([]byte{0x09}, 8)...) // canceled before it comes
	l.say(0x07, 8, 2, 1)
	l.done(8, core.ErrCanceled)
	l.say(0x07, 9, 2, 1)
	require.Equal(t, wire.TagData, l.hear().Tag)
}

// TestChunks writes a tensor in chunks, abandons a write, and makes the backend refuse one. The server receives all chunks in each case.
func TestChunks(t *testing.T) {
	s, _, l := playing(t)
	const size = wire.ChunkSize + 5
	dims := []byte{0x85, 0x80, 0x40}
	begin := func(request byte) []byte { return append([]byte{0x05, request, 2, 8, 1}, dims...) }
	chunk := func(request byte, n int) []byte { return append([]byte{0x06, request}, make([]byte, n)...) }
	send := func(request byte) {
		l.say(begin(request)...)
		l.say(chunk(request, wire.ChunkSize)...)
		l.say(chunk(request, size-wire.ChunkSize)...)
	}
	// 1048581 bytes exceed the limit of the device, 1 MiB
	send(1)
	l.done(1, core.ErrUnsupported)
	require.Empty(t, s.made(), "the backend sees nothing of it")
	l.say(0x03, 1, 2)
	dims = []byte{0x80, 0x80, 0x04} // 65536
	l.say(begin(2)...)
	l.say(chunk(2, 65000)...)
	l.say(chunk(2, 536)...)
	l.done(2, nil)
	require.Equal(t, []string{"write t1 65536"}, s.made())
	l.say(begin(3)...)
	l.say(chunk(3, 65536)...)
	l.done(3, core.ErrProtocol) // t1 is there
	require.Empty(t, s.made())
	l.say(0x03, 1, 2)
	l.say(begin(4)...)
	l.say(chunk(4, 100)...)
	l.say(chunk(4, 0)...)
	l.done(4, core.ErrCanceled)
	l.say(0x07, 5, 2, 0x80, 0x80, 0x04)
	l.done(5, core.ErrCanceled) // poisoned
	l.say(0x03, 1, 2)
	s.fail("write", "oops")
	l.say(begin(6)...)
	l.say(chunk(6, 65536)...)
	l.done(6, core.ErrKernel)
}

// TestProgramFaults defines invalid programs and requests invalid runs. Donated inputs are freed even if the run fails.
func TestProgramFaults(t *testing.T) {
	s, c, l := playing(t)
	// "p": input t1 i8[], constant t2 i8[], output t1
	program := func(request, number byte, consts ...byte) []byte {
		b := append([]byte{0x0a, request, number, byte(len(consts))}, consts...)
		return append(b, 1, 'p', 1, 2, 8, 0, 1, 2, 8, 0, 0, 1, 1)
	}
	l.say(program(1, 1)...)
	l.done(1, core.ErrAttr) // one constant is missing
	l.say(program(2, 1, 2)...)
	l.done(2, core.ErrUnknownTensor)
	l.say(0x04, 2, 2, 0, 0, 0, 0, 0) // t1 f32[]
	l.say(program(3, 1, 2)...)
	l.done(3, core.ErrShape) // a constant of another type
	l.say(0x04, 4, 8, 0, 9)  // t2 i8[]
	s.made()
	for i, fault := range []any{core.ErrUnsupported, "oops"} {
		s.fail("define", fault)
		l.say(program(byte(4+i), 1, 4)...)
		l.done(uint64(4+i), map[bool]error{true: core.ErrUnsupported, false: core.ErrKernel}[i == 0])
	}
	s.fail("define", nil)
	s.made()
	l.say(program(6, 1, 4)...)
	l.done(6, nil)
	require.Equal(t, []string{"define p [t2]"}, s.made())
	l.say(program(7, 1, 4)...)
	l.done(7, core.ErrProtocol)
	require.Equal(t, []string{"define p [t2]", "undefine 42"}, s.made(), "the twin is given up again")

	events := byte(0)
	run := func(b ...byte) error {
		events++
		l.say(append(append([]byte{0x0b, 1}, b...), 0x08, 0x0d, 7+events, events)...)
		r := l.hear()
		require.Equal(t, wire.TagDone, r.Tag)
		return r.Err
	}
	require.NoError(t, run(1, 4, 1, 2, 0)) // t3 = p(t2)
	require.Equal(t, []string{"run 42 [t2] [] [t3]"}, s.made())
	err := run(1, 2, 1, 6, 0) // t4 = p(t1), of another type
	require.ErrorIs(t, err, core.ErrShape)
	require.ErrorContains(t, err, `run "p": input 0 is f32[], want i8[]`)
	require.ErrorIs(t, run(1, 20, 1, 2, 0), core.ErrUnknownTensor) // t11 = p(t10)
	require.ErrorIs(t, run(2, 4, 0, 1, 6, 0), core.ErrAttr)
	require.ErrorIs(t, run(1, 4, 1, 2, 0), core.ErrProtocol) // t3 is there
	require.Empty(t, s.made(), "the backend sees none of these")
	s.fail("run", "oops")
	err = run(1, 4, 1, 10, 1, 1) // t7 = p(t2!)
	require.ErrorIs(t, err, core.ErrKernel)
	var node *core.NodeError
	require.ErrorAs(t, err, &node)
	require.Equal(t, []string{"", "p"}, []string{node.Op, node.Program})
	require.Equal(t, []string{"run 42 [t2] [true] [t7]", "free [t2]"}, s.made())

	s.fail("undefine", core.ErrBackendLost)
	answer, err := c.Undefine(context.Background(), handle, 1, 99)
	require.NoError(t, err)
	require.NoError(t, answer, "not yet")
	answer, err = c.Undefine(context.Background(), handle, 1, 99)
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrNotFound, "it is ending already")
}

// TestCallFaults makes calls of the device fail and panic. The answer contains the error, and the plugin continues.
func TestCallFaults(t *testing.T) {
	s, c, _ := playing(t)
	ctx := context.Background()
	query := wire.AppendQuery(nil, &op.Node{Op: codeOf(t, "neg"), Version: 1, Outputs: []op.Desc{{DType: 8}}}, []op.Desc{{DType: 8}})
	for _, f := range []struct {
		call string
		do   func() (error, error)
	}{
		{"supports", func() (error, error) { return c.Supports(ctx, handle, query) }},
		{"memory", func() (error, error) { _, answer, err := c.Memory(ctx, handle); return answer, err }},
		{"start profile", func() (error, error) { return c.StartProfile(ctx, handle) }},
		{"stop profile", func() (error, error) { _, answer, err := c.StopProfile(ctx, handle); return answer, err }},
		{"join", func() (error, error) { return c.Join(ctx, &wire.Join{Handle: handle, Group: 9, Key: "k", Size: 1}) }},
	} {
		s.fail(f.call, core.ErrOutOfMemory)
		answer, err := f.do()
		require.NoError(t, err, f.call)
		if f.call == "memory" { // it has no error, and panics
			require.ErrorIs(t, answer, core.ErrKernel)
		} else {
			require.ErrorIs(t, answer, core.ErrOutOfMemory, f.call)
		}
		s.fail(f.call, "oops")
		answer, err = f.do()
		require.NoError(t, err, f.call)
		require.ErrorIs(t, answer, core.ErrKernel, f.call)
		require.ErrorContains(t, answer, f.call+": panic: oops")
		s.fail(f.call, nil)
		answer, err = f.do()
		require.NoError(t, err, f.call)
		if f.call == "stop profile" {
			require.ErrorIs(t, answer, core.ErrKernel)
			require.ErrorContains(t, answer, "a profile without content")
			continue
		}
		require.NoError(t, answer, f.call)
	}
	u, answer, err := c.Memory(ctx, handle)
	require.NoError(t, errors.Join(answer, err))
	require.Equal(t, core.Memory{InUse: 5, Reserved: 6, Tensors: 7}, u)
	s.made()
	bad := wire.AppendQuery(nil, &op.Node{Op: codeOf(t, "exp"), Version: 1, Outputs: []op.Desc{{DType: 2}}}, []op.Desc{{DType: 2}})
	answer, err = c.Supports(ctx, handle, bad)
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrUnsupported)
	require.Empty(t, s.made(), "the backend is not asked about what it does not claim")
}

// TestGroups checks that the commands of a group reach the backend unchanged, and that the membership ends after the last of them.
func TestGroups(t *testing.T) {
	s, c, l := playing(t)
	ctx := context.Background()
	join := func() error {
		answer, err := c.Join(ctx, &wire.Join{Handle: handle, Group: 3, Key: "k", Rank: 1, Size: 2})
		require.NoError(t, err)
		return answer
	}
	require.NoError(t, join())
	require.Equal(t, []string{"join k 1 2"}, s.made())
	require.ErrorIs(t, join(), core.ErrProtocol)
	require.Equal(t, []string{"join k 1 2", "leave"}, s.made(), "the twin leaves again")
	require.NoError(t, l.sync(1, 0x04, 2, 8, 0, 9).Err) // t1
	s.made()
	require.NoError(t, l.sync(2, 0x13, 3, 2, 2, 2, 8, 0).Err) // t2: the greatest
	require.NoError(t, l.sync(3, 0x14, 3, 2, 4, 8, 1, 2).Err) // t3
	require.NoError(t, l.sync(4, 0x15, 3, 7, 2, 6, 8, 0).Err) // t4: of rank 7
	require.Equal(t, []string{"reduce 2 t1 t2", "gather t1 t3", "broadcast 7 t1 t4"}, s.made())
	require.ErrorIs(t, l.sync(5, 0x13, 3, 4, 2, 8, 8, 0).Err, core.ErrAttr, "reduction 4")
	require.ErrorIs(t, l.sync(6, 0x13, 3, 0, 2, 2, 8, 0).Err, core.ErrProtocol, "t2 is there")
	s.fail("gather", "oops")
	require.ErrorIs(t, l.sync(7, 0x14, 3, 2, 12, 8, 0).Err, core.ErrKernel)
	s.made()
	require.NoError(t, l.sync(8, 0x15, 3, 0, 40, 2, 8, 0).Err, "the backend reports a missing tensor itself, as the other ranks wait")
	require.Equal(t, []string{"broadcast 0 t20 t21"}, s.made())
	answer, err := c.Leave(ctx, handle, 3, 8)
	require.NoError(t, errors.Join(answer, err))
	require.Empty(t, s.made(), "one command is to come")
	require.NoError(t, l.sync(9, 0x15, 3, 0, 2, 48, 8, 0).Err)
	require.Equal(t, []string{"broadcast 0 t1 t25", "leave"}, s.made())
	require.ErrorIs(t, l.sync(10, 0x15, 3, 0, 2, 50, 8, 0).Err, core.ErrNotFound)
}

// TestOpenFaults makes a backend fail before it has an open device or stream.
func TestOpenFaults(t *testing.T) {
	s, c := play(t)
	ctx := context.Background()
	hello := func() error {
		w, err := c.Hello(ctx, &wire.Hello{Protocol: wire.Speaks()})
		require.NoError(t, err)
		return w.Err
	}
	s.fail("open backend", fmt.Errorf("no driver: %w", core.ErrNotFound))
	require.EqualError(t, hello(), "plugin scripted: open: no driver: not found")
	s.fail("open backend", "oops")
	require.ErrorIs(t, hello(), core.ErrKernel)
	s.fail("open backend", nil)
	s.fail("info", "oops")
	require.ErrorIs(t, hello(), core.ErrKernel)
	s.fail("info", nil)
	require.NoError(t, hello(), "a host may try again")
	for _, f := range []struct {
		call string
		with any
		want error
	}{{"open", core.ErrOutOfMemory, core.ErrOutOfMemory}, {"open", "oops", core.ErrKernel}, {"capabilities", core.ErrShape, core.ErrKernel}} {
		s.fail(f.call, f.with)
		o, err := c.Open(ctx, &wire.Open{Handle: handle})
		require.NoError(t, err)
		require.ErrorIs(t, o.Err, f.want, f.call)
		s.fail(f.call, nil)
	}
	o, err := c.Open(ctx, &wire.Open{Handle: handle})
	require.NoError(t, err)
	require.NoError(t, o.Err)
	for i, fault := range []any{core.ErrOutOfMemory, "oops"} {
		s.fail("open stream", fault)
		r := dial(t, c, handle, byte(1+i)).hear()
		require.Equal(t, wire.TagFail, r.Tag)
		require.ErrorIs(t, r.Err, map[bool]error{true: core.ErrOutOfMemory, false: core.ErrKernel}[i == 0])
	}
	s.fail("open stream", nil)
	require.Equal(t, wire.TagOpened, dial(t, c, handle, 1).hear().Tag, "the number is free")
}

func codeOf(t *testing.T, name string) op.Code {
	t.Helper()
	c, ok := op.ByName(name)
	require.True(t, ok)
	return c
}
