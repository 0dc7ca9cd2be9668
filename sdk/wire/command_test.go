package wire

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// TestSharedCommands encodes and decodes the commands of shared memory, and compares frames with bytes by the layout of PROTOCOL.md.
func TestSharedCommands(t *testing.T) {
	const gen = 2
	d := op.Desc{ID: tid(gen, 8), DType: dtype.I16, Shape: shape.Of(2, 2)}
	e := NewEncoder(gen)
	e.WriteShared(13, d, 4)
	e.ReadShared(14, d.ID, 8, 300)
	cs, err := decodeAll(NewDecoder(gen), content(t, e))
	require.NoError(t, err)
	require.Equal(t, []Command{{Tag: TagWriteShared, Request: 13, Desc: d, Segment: 4},
		{Tag: TagReadShared, Request: 14, Desc: op.Desc{ID: d.ID}, Size: 8, Segment: 300}}, cs)

	number, size, ok := ParseSegment(SegmentFrame(300, 1<<40))
	require.Equal(t, []any{uint64(300), 1 << 40, true}, []any{number, size, ok})
	_, _, ok = ParseSegment(RetireFrame(1))
	require.False(t, ok)
	for _, f := range []struct {
		frame *Frame
		tag   Tag
		want  []byte
	}{{RetireFrame(300), TagRetire, []byte{0x0f, 0xac, 0x02}}, {CancelFrame(7), TagCancel, []byte{0x09, 7}}} {
		require.NoError(t, f.frame.Bytes(func(b []byte) error { require.Equal(t, f.want, b); return nil }))
		tag, _, ok := Overtakes(f.frame)
		require.True(t, ok)
		require.Equal(t, f.tag, tag)
	}
	require.NoError(t, SegmentFrame(300, 4096).Bytes(func(b []byte) error {
		require.Equal(t, []byte{0x0e, 0xac, 0x02, 0x80, 0x20}, b)
		return nil
	}))
	_, _, ok = Overtakes(SegmentFrame(1, 4096))
	require.False(t, ok)
}

// TestEveryCommandSeeded checks that the fuzz seeds contain all commands and replies.
func TestEveryCommandSeeded(t *testing.T) {
	got := map[Tag]bool{}
	for _, s := range seeds(t) {
		if cs, err := decodeAll(NewDecoder(1), s); err == nil {
			for _, c := range cs {
				got[c.Tag] = true
			}
		} else {
			got[Tag(s[0])] = true // a command that fills its frame, which Decoder does not read
		}
	}
	for tag := TagOpen; tag <= TagBroadcast; tag++ {
		require.True(t, got[tag], "command 0x%02x", byte(tag))
	}
	replies := map[Tag]bool{}
	for _, f := range replySeeds() {
		require.NoError(t, f.Bytes(func(b []byte) error { replies[Tag(b[0])] = true; return nil }))
	}
	for tag := TagOpened; tag <= TagRelease; tag++ {
		require.True(t, replies[tag], "reply 0x%02x", byte(tag))
	}
}
