package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
)

// bytesOf returns a copy of the content of a frame.
func bytesOf(t testing.TB, f *Frame) []byte {
	t.Helper()
	var out []byte
	require.NoError(t, f.Bytes(func(b []byte) error { out = append(out, b...); return nil }))
	return out
}

// split returns a frame of content, in parts that end at the given places.
func split(content []byte, at ...int) *Frame {
	f, from := &Frame{}, 0
	for _, to := range append(at, len(content)) {
		f.parts = append(f.parts, mem.SliceBuffer(bytes.Clone(content[from:to])))
		from = to
	}
	return f
}

// splits calls use with content as frames of two and of three parts, empty parts included, split at each of the first bytes.
func splits(content []byte, use func(*Frame)) {
	n := min(len(content), 24)
	for i := range n + 1 {
		use(split(content, i))
		for j := i; j <= n; j++ {
			use(split(content, i, j))
		}
	}
}

// TestSplitFrames checks that every reader of a frame returns the same bytes, however the transport has split the frame.
func TestSplitFrames(t *testing.T) {
	b := NewBuffer(40)
	for i := range b.Data() {
		b.Data()[i] = byte(i)
	}
	data := bytesOf(t, DataFrame(1<<40, b, 3, 38, true))
	splits(data, func(f *Frame) {
		require.Equal(t, data, bytesOf(t, f))
		var p Reply
		require.NoError(t, p.Parse(f))
		require.Equal(t, []any{TagData, uint64(1 << 40), true, 35}, []any{p.Tag, p.Request, p.Last, p.Size()})
		dst := make([]byte, p.Size())
		p.Copy(f, dst)
		require.Equal(t, b.Data()[3:38], dst)
	})
	chunk := bytesOf(t, ChunkFrame(1<<63, b.Data()))
	splits(chunk, func(f *Frame) {
		request, size, ok := Chunk(f)
		require.Equal(t, []any{uint64(1 << 63), 40, true}, []any{request, size, ok})
		dst := make([]byte, size)
		CopyChunk(f, dst)
		require.Equal(t, b.Data(), dst)
	})
	splits(bytesOf(t, CancelFrame(1<<63)), func(f *Frame) {
		tag, request, ok := Overtakes(f)
		require.Equal(t, []any{TagCancel, uint64(1 << 63), true}, []any{tag, request, ok})
	})
	splits(bytesOf(t, SegmentFrame(1<<63, 1<<62)), func(f *Frame) {
		segment, size, ok := ParseSegment(f)
		require.Equal(t, []any{uint64(1 << 63), 1 << 62, true}, []any{segment, size, ok})
	})
	splits(bytesOf(t, PartFrame(300, 1<<50)), func(f *Frame) {
		var p Reply
		require.NoError(t, p.Parse(f))
		require.Equal(t, Reply{Tag: TagPart, Request: 300, End: 1 << 50}, p)
	})
}

// TestRepliesAsWritten compares replies with bytes written by hand from section 4 of PROTOCOL.md.
func TestRepliesAsWritten(t *testing.T) {
	b := NewBuffer(3)
	copy(b.Data(), "abc")
	for _, c := range []struct {
		name string
		f    *Frame
		want []byte
	}{
		{"OPENED", OpenedFrame(), []byte{0x81}},
		{"DATA", DataFrame(300, b, 0, 2, false), []byte{0x82, 0xac, 0x02, 0, 'a', 'b'}},
		{"last DATA", DataFrame(1, b, 1, 3, true), []byte{0x82, 1, 1, 'b', 'c'}},
		{"DATA of an empty tensor", DataFrame(1, b, 3, 3, true), []byte{0x82, 1, 1}},
		{"DONE", DoneFrame(128, nil), []byte{0x83, 0x80, 0x01}},
		{"KEPT", KeptFrame(2), []byte{0x85, 2}},
		{"PART", PartFrame(2, 4096), []byte{0x86, 2, 0x80, 0x20}},
		{"RELEASE", ReleaseFrame(129), []byte{0x87, 0x81, 0x01}},
		{"OPEN", OpenFrame(1<<63, 5), []byte{0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 5}},
		{"CHUNK", ChunkFrame(1, []byte("xyz")), []byte{0x06, 1, 'x', 'y', 'z'}},
		{"CHUNK that gives up", ChunkFrame(1, nil), []byte{0x06, 1}},
		{"RETIRE", RetireFrame(9), []byte{0x0f, 9}},
	} {
		require.Equal(t, c.want, bytesOf(t, c.f), c.name)
		require.Equal(t, len(c.want), c.f.Len(), c.name)
	}
}

// TestBadReplies: every reply that is cut short, too long, or out of range is refused with the reason.
func TestBadReplies(t *testing.T) {
	over := bytes.Repeat([]byte{0xff}, 10)
	for _, c := range []struct {
		why  string
		b    []byte
		want string
	}{
		{"nothing at all", nil, "reply 0x00"},
		{"a command", []byte{0x02}, "reply 0x02"},
		{"a tag to come", []byte{0x88}, "reply 0x88"},
		{"OPENED with more", []byte{0x81, 0}, "1 bytes too many"},
		{"DATA without request", []byte{0x82}, "truncated"},
		{"DATA without flag", []byte{0x82, 1}, "truncated"},
		{"DATA of an odd flag", []byte{0x82, 1, 2, 'x'}, "data with flag 2"},
		{"DATA of an overlong request", append([]byte{0x82}, over...), "truncated or overlong number"},
		{"DONE without request", []byte{0x83}, "truncated or overlong number"},
		{"DONE with half an error", []byte{0x83, 1, 0, 8, 9}, "9 bytes of text in 0 bytes"},
		{"DONE with an odd error", []byte{0x83, 1, 4}, "error of form 4"},
		{"DONE with more than an error", []byte{0x83, 1, 0, 8, 1, 'x', 'y'}, "1 bytes too many"},
		{"FAIL without an error", []byte{0x84}, "failure without an error"},
		{"KEPT without request", []byte{0x85}, "truncated or overlong number"},
		{"KEPT with more", []byte{0x85, 1, 1}, "1 bytes too many"},
		{"PART without its end", []byte{0x86, 1}, "truncated or overlong number"},
		{"RELEASE with more", []byte{0x87, 1, 2, 3}, "2 bytes too many"},
	} {
		var p Reply
		err := p.Parse(split(c.b))
		require.ErrorContains(t, err, "protocol error: "+c.want, c.why)
		err = p.Parse(split(c.b, 0, len(c.b)/2))
		require.ErrorContains(t, err, "protocol error: "+c.want, "%s, in parts", c.why)
	}
}

// TestNotOvertaking: only whole CANCEL and RETIRE frames overtake, only SEGMENT introduces a segment, only CHUNK holds data.
func TestNotOvertaking(t *testing.T) {
	long := slices.Clip(append([]byte{0x09}, bytes.Repeat([]byte{0x80}, 9)...))
	for _, b := range [][]byte{nil, {}, {0x09}, {0x0f}, {0x09, 1, 0}, {0x0e, 1}, {0x07, 1}, append(long, 2), append(append(long, 1), make([]byte, 20)...)} {
		_, _, ok := Overtakes(split(b))
		require.False(t, ok, "%x", b)
	}
	tag, request, ok := Overtakes(split(append(long, 1)))
	require.Equal(t, []any{TagCancel, uint64(1 << 63), true}, []any{tag, request, ok}, "the longest number")
	for _, b := range [][]byte{nil, {0x0e}, {0x0e, 1}, {0x0e, 1, 2, 3}, {0x0f, 1, 2},
		append([]byte{0x0e, 1}, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01)} {
		_, _, ok := ParseSegment(split(b))
		require.False(t, ok, "%x", b)
	}
	for _, b := range [][]byte{nil, {0x06}, {0x06, 0x80}, {0x05, 1, 2}} {
		_, _, ok := Chunk(split(b))
		require.False(t, ok, "%x", b)
	}
}

// TestCodec: the codec passes frames through, and everything else to protobuf.
func TestCodec(t *testing.T) {
	c := newCodec()
	require.Equal(t, "proto", c.Name(), "a plugin in another language needs no content subtype")
	data, err := c.Marshal(split([]byte("abcdef"), 2))
	require.NoError(t, err)
	require.Equal(t, "abcdef", string(data.Materialize()))
	f := &Frame{}
	require.NoError(t, c.Unmarshal(data, f))
	require.Equal(t, "abcdef", string(bytesOf(t, f)))
	require.EqualError(t, c.Unmarshal(data, f), "wire: frame is received into while it is in use")
	f.Free()
	require.Zero(t, f.Len())
	require.NoError(t, c.Unmarshal(data, f), "a freed frame may be used again")
	_, err = c.Marshal("no message")
	require.Error(t, err)
}

// TestPools: a buffer has the length asked for, and only buffers of the two sizes are kept.
func TestPools(t *testing.T) {
	p := &pool{}
	for _, c := range []struct{ n, capacity int }{{0, batchCapacity}, {1, batchCapacity}, {batchCapacity, batchCapacity}, {batchCapacity + 1, ChunkSize},
		{ChunkSize, ChunkSize}, {ChunkSize + 1, ChunkSize + 1}} {
		b := p.Get(c.n)
		require.Len(t, *b, c.n)
		require.Equal(t, c.capacity, cap(*b), "%d bytes", c.n)
		p.Put(b)
		again := p.Get(c.n)
		require.Len(t, *again, c.n)
		require.Equal(t, c.capacity, cap(*again))
	}
	odd := make([]byte, 100)
	p.Put(&odd)
	require.Equal(t, batchCapacity, cap(*p.Get(1)), "a buffer of another size is not handed out for a batch")

	large := &bulk{}
	b := large.Get(10 * ChunkSize)
	large.Put(b)
	require.Len(t, *large.Get(100), 100)
	small := large.Get(100)
	large.Put(small)
	require.Len(t, *large.Get(5 * ChunkSize), 5*ChunkSize, "a kept buffer may be too small")
}
