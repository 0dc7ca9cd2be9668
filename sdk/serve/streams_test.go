package serve

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// line is a stream of a hostile host.
type line struct {
	t  *testing.T
	fs *wire.FrameStream
}

func dial(t *testing.T, c *wire.Caller, handle, number byte) *line {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	fs, err := c.Stream(ctx)
	require.NoError(t, err)
	l := &line{t, fs}
	l.say(0x01, handle, number)
	return l
}

func (l *line) say(b ...byte) {
	l.t.Helper()
	require.NoError(l.t, l.fs.Send(wire.NewFrame(b)))
}

// hear returns the next reply.
func (l *line) hear() (r wire.Reply) {
	l.t.Helper()
	f, err := l.fs.Receive()
	require.NoError(l.t, err)
	require.NoError(l.t, r.Parse(f))
	f.Free()
	return r
}

// done asserts that request is answered next, with an error or without.
func (l *line) done(request uint64, want error) {
	l.t.Helper()
	r := l.hear()
	require.Equal(l.t, []any{wire.TagDone, request}, []any{r.Tag, r.Request}, "%v", r.Err)
	if want == nil {
		require.NoError(l.t, r.Err)
	} else {
		require.ErrorIs(l.t, r.Err, want)
	}
}

// two opens two streams of one device and returns them with their caller.
func two(t *testing.T) (c *wire.Caller, a, b *line) {
	c = raw(t, true)
	a, b = dial(t, c, handle, 1), dial(t, c, handle, 2)
	for _, l := range []*line{a, b} {
		require.Equal(t, wire.TagOpened, l.hear().Tag)
	}
	return c, a, b
}

// write1 makes t1 u8[] of 9.
var write1 = []byte{0x04, 2, 12, 0, 9}

// TestShared checks that a stream can use and free tensors of another stream after a wait, and cannot write one that exists.
func TestShared(t *testing.T) {
	_, a, b := two(t)
	a.say(append(write1, 0x08)...)
	b.say(0x0c, 1, 1, 0x03, 1, 2, 0x08, 0x0d, 1, 1) // wait for it, free t1
	b.done(1, nil)
	a.say(0x0c, 2, 1, 0x07, 1, 2, 1) // read t1
	a.done(1, core.ErrUnknownTensor)
	a.say(append(write1, 0x08)...)
	b.say(append([]byte{0x0c, 1, 2}, append(write1, 0x08, 0x0d, 2, 2)...)...)
	b.done(2, core.ErrProtocol) // t1 is there, of the other stream
	b.say(0x03, 1, 2, 0x08, 0x0d, 3, 3)
	b.done(3, nil)
}

// TestUnsignaled waits for an event that is signaled late, and for one that never is. Only the waiting stream stops.
func TestUnsignaled(t *testing.T) {
	_, a, b := two(t)
	b.say(0x0c, 1, 2, 0x08, 0x0d, 1, 1)
	a.say(0x08, 0x0d, 1, 1)
	a.done(1, nil)
	a.say(0x08)
	b.done(1, nil)
	b.say(0x0c, 1, 99, 0x08, 0x0d, 2, 2) // never
	a.say(0x08, 0x0d, 2, 3)
	a.done(2, nil)
	require.NoError(t, a.fs.CloseSend())
	b.done(2, nil) // the other has ended
	b.say(0x0c, 1, 5, 0x0c, 77, 1, 0x08, 0x0d, 3, 3)
	b.done(3, nil)
	b.say(0x0d, 4, 1)
	b.done(4, nil) // settled
}

// TestWaitForEachOther makes two streams wait for events that neither signals. Closing the device ends both.
func TestWaitForEachOther(t *testing.T) {
	c, a, b := two(t)
	a.say(0x0c, 2, 1, 0x08)
	b.say(0x0c, 1, 1, 0x08)
	answer, err := c.Close(context.Background(), handle)
	require.NoError(t, err)
	require.NoError(t, answer)
	for _, l := range []*line{a, b} {
		_, err := l.fs.Receive()
		require.Error(t, err)
	}
	answer, err = c.Close(context.Background(), handle)
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrClosed)
}

// TestHandles opens handles that are invalid or in use, and calls with handles that are not open.
func TestHandles(t *testing.T) {
	c, ctx := raw(t, true), context.Background()
	for name, tc := range map[string]struct {
		open wire.Open
		want error
	}{
		"zero":      {wire.Open{}, core.ErrProtocol},
		"twice":     {wire.Open{Handle: handle}, core.ErrProtocol},
		"no device": {wire.Open{Handle: 8, Device: 1}, core.ErrNotFound},
	} {
		o, err := c.Open(ctx, &tc.open)
		require.NoError(t, err)
		require.ErrorIs(t, o.Err, tc.want, name)
	}
	_, answer, err := c.Memory(ctx, 99)
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrClosed)
	for _, call := range []func() (error, error){
		func() (error, error) { return c.Undefine(ctx, 99, 1, 0) },
		func() (error, error) { return c.Leave(ctx, 99, 1, 0) },
		func() (error, error) { return c.Join(ctx, &wire.Join{Handle: 99}) },
		func() (error, error) { return c.Supports(ctx, 99, []byte{0, 0, 0, 3, 'n', 'e', 'g', 1, 0, 0, 0, 0}) },
	} {
		answer, err := call()
		require.NoError(t, err)
		require.ErrorIs(t, answer, core.ErrClosed)
	}
	answer, err = c.Undefine(ctx, handle, 1, 0)
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrNotFound)
	answer, err = c.Leave(ctx, handle, 1, 0)
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrNotFound)
	answer, err = c.Join(ctx, &wire.Join{Handle: handle, Group: 1, Rank: 2, Size: 1})
	require.NoError(t, err)
	require.ErrorIs(t, answer, core.ErrAttr)
	a := dial(t, c, handle, 5)
	require.Equal(t, wire.TagOpened, a.hear().Tag)
	twin := dial(t, c, handle, 5)
	r := twin.hear()
	require.Equal(t, wire.TagFail, r.Tag)
	require.ErrorIs(t, r.Err, core.ErrProtocol, "the number of another stream")
}

// TestRuns donates inputs with invalid masks, and undefines a program before its last run arrives.
func TestRuns(t *testing.T) {
	c, a, b := two(t)
	// request 1, program 3, no constants: "p" of input t1 u8[] and output t1
	a.say(0x0a, 1, 3, 0, 1, 'p', 1, 2, 12, 0, 0, 0, 1, 0)
	a.done(1, nil)
	a.say(append(write1, 0x08)...)
	run := func(out byte, mask ...byte) []byte { return append([]byte{0x0b, 3, 1, 2, 1, 2 * (out - 1)}, mask...) }
	a.say(append(run(2, 2, 1), 0x08, 0x0d, 2, 2)...) // two bits for one input, and t1 is freed all the same
	a.done(2, core.ErrAttr)
	a.say(0x07, 3, 2, 1)
	a.done(3, core.ErrUnknownTensor)
	a.say(append(append([]byte{}, write1...), 0x08)...)
	answer, err := c.Undefine(context.Background(), handle, 3, 3)
	require.NoError(t, err)
	require.NoError(t, answer)
	b.say(append(append([]byte{0x0c, 1, 3}, run(3, 0)...), 0x08, 0x0d, 1, 1)...)
	b.done(1, nil)
	b.say(append(run(4, 1, 1), 0x07, 2, 5, 1)...) // the last run, which takes t1
	b.done(2, core.ErrUnknownTensor)
	b.say(append(run(5, 0), 0x08, 0x0d, 3, 2)...)
	b.done(3, core.ErrNotFound)
}
