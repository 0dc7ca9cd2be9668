package wire

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// seeds returns frames of all commands.
func seeds(t testing.TB) [][]byte {
	e := NewEncoder(1)
	d := op.Desc{ID: tid(1, 3), DType: dtype.F32, Shape: []int{2}}
	e.Node(&op.Node{Op: code(t, "add"), Version: 1, Inputs: []op.TensorID{tid(1, 1), tid(1, 2)}, Outputs: []op.Desc{d}, Attrs: attrs, Drop: 2})
	e.Free([]op.TensorID{d.ID})
	e.Write(d, make([]byte, 8))
	e.Run(1, []op.TensorID{1, 2}, []op.TensorID{3}, []bool{false, true})
	e.Read(1, d.ID, 8)
	e.Signal()
	e.Wait(2, 3)
	e.Await(2, 1)
	e.Copy(d, 1<<63, d.ID)
	e.AllReduce(1, core.ReduceMax, d.ID, d)
	e.AllGather(1, d.ID, d)
	e.Broadcast(1, 2, d.ID, d)
	e.BeginWrite(3, d)
	e.WriteShared(4, d, 1)
	e.ReadShared(5, d.ID, 8, 1)
	all := [][]byte{content(t, e)}
	require.NoError(t, e.Define(1, 1, &program.Program{Name: "p", Inputs: []op.Desc{d}, Nodes: []op.Node{{Op: code(t, "neg"), Version: 1,
		Inputs: []op.TensorID{3}, Outputs: []op.Desc{{ID: 4, DType: dtype.F32}}}}, Outputs: []op.TensorID{4}}, nil))
	return append(all, content(t, e), []byte{0x01, 0, 0}, []byte{0x06, 1, 2, 3}, []byte{0x09, 1}, []byte{0x0e, 1, 0x80, 0x20},
		[]byte{0x0f, 1}, []byte{0xff})
}

// replySeeds returns frames of all replies.
func replySeeds() []*Frame {
	return []*Frame{OpenedFrame(), DoneFrame(1, &core.NodeError{Op: "x", Outputs: []op.Desc{{ID: 1}}, Err: core.ErrShape}),
		FailFrame(core.ErrProtocol), DataFrame(1, NewBuffer(4), 0, 4, true), KeptFrame(1), PartFrame(1, 1<<20),
		ReleaseFrame(1)}
}

// bounded runs f and requires that it allocates less than 1 MiB plus 256 bytes for each byte of its input.
func bounded(t *testing.T, size int, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20+256*size))
}

func FuzzCommands(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _, _ = ParseSegment(NewFrame(b))
		_, _, _ = Overtakes(NewFrame(b))
		_, _, _ = Chunk(NewFrame(b))
		bounded(t, len(b), func() {
			if _, err := decodeAll(NewDecoder(1), b); err != nil {
				require.ErrorIs(t, err, core.ErrProtocol)
			}
		})
	})
}

func FuzzQuery(f *testing.F) {
	in := []op.Desc{{DType: dtype.F32}}
	f.Add(AppendQuery(nil, &op.Node{Op: code(f, "neg"), Version: 1, Outputs: in, Attrs: attrs}, in))
	f.Fuzz(func(t *testing.T, b []byte) {
		bounded(t, len(b), func() {
			if _, _, err := DecodeQuery(b); err != nil && !errors.Is(err, core.ErrUnsupported) {
				require.ErrorIs(t, err, core.ErrProtocol)
			}
		})
	})
}

func FuzzReply(f *testing.F) {
	for _, fr := range replySeeds() {
		require.NoError(f, fr.Bytes(func(b []byte) error { f.Add(append([]byte(nil), b...)); return nil }))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Reply
		if err := p.Parse(NewFrame(b)); err != nil {
			require.ErrorIs(t, err, core.ErrProtocol)
		}
	})
}

// TestTruncated cuts valid frames at every byte and flips bits in every byte.
func TestTruncated(t *testing.T) {
	for _, s := range seeds(t)[:2] {
		whole, err := decodeAll(NewDecoder(1), s)
		require.NoError(t, err)
		for n := range s {
			got, err := decodeAll(NewDecoder(1), s[:n])
			if err == nil { // a cut between two commands
				require.Less(t, len(got), len(whole))
			} else {
				require.ErrorIs(t, err, core.ErrProtocol)
			}
			for _, x := range []byte{0x01, 0x80, 0xff} {
				b := append([]byte(nil), s...)
				b[n] ^= x
				if _, err := decodeAll(NewDecoder(1), b); err != nil {
					require.ErrorIs(t, err, core.ErrProtocol)
				}
			}
		}
	}
}

func TestHostile(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}
	for name, b := range map[string][]byte{
		"unknown command":   {0x7f},
		"reserved command":  {0x00},
		"op number":         {0x02, 5, 0, 0, 0, 0},
		"empty op name":     {0x02, 0, 0, 1},
		"long op name":      append([]byte{0x02, 0}, huge...),
		"inputs":            append([]byte{0x02, 0, 1, 'x', 1}, huge...),
		"drop beyond":       {0x02, 0, 1, 'x', 1, 0, 1, 0, 0},
		"rank":              {0x02, 0, 1, 'x', 1, 0, 0, 1, 2, 2, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},
		"element type":      {0x02, 0, 1, 'x', 1, 0, 0, 1, 2, 77, 0, 0},
		"size overflows":    {0x04, 2, 2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"inline too large":  {0x04, 2, 2, 1, 0xff, 0xff, 0x7f},
		"attribute kind":    {0x02, 0, 1, 'x', 1, 0, 0, 0, 1, 0, 1, 'a', 99},
		"attribute bool":    {0x02, 0, 1, 'x', 1, 0, 0, 0, 1, 0, 1, 'a', 3, 2},
		"floats":            append([]byte{0x02, 0, 1, 'x', 1, 0, 0, 0, 1, 0, 1, 'a', 7}, huge...),
		"overlong varint":   append(append([]byte{0x09}, huge[:9]...), 0xff, 0xff),
		"donations":         append([]byte{0x0b, 1, 0, 0}, huge...),
		"few donations":     {0x0b, 1, 0, 0, 9, 1},
		"program nodes":     append([]byte{0x0a, 1, 1, 0, 0, 0, 0}, huge...),
		"size out of range": append([]byte{0x07, 1, 2}, huge...),
	} {
		t.Run(name, func(t *testing.T) {
			bounded(t, len(b), func() {
				_, err := decodeAll(NewDecoder(0), b)
				require.ErrorIs(t, err, core.ErrProtocol)
			})
		})
	}
}
