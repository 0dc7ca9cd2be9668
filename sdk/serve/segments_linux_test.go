package serve

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// mapped returns a segment of one page.
func mapped(t *testing.T, number uint64) *segment {
	t.Helper()
	f, data, err := wire.NewSegment(4096)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return &segment{number: number, data: data}
}

// TestSegmentBooks follows a segment through the permitted operations of a host and a backend, and checks that others are refused.
func TestSegmentBooks(t *testing.T) {
	var g segments
	x := mapped(t, 3)
	require.NoError(t, g.add(x))
	_, err := g.get(4, 1)
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "segment 4 is in use, retired or unknown")
	_, err = g.get(3, 4097)
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "segment 3 of 4096 bytes for 4097")

	got, err := g.get(3, 4096)
	require.NoError(t, err)
	require.Same(t, x, got)
	_, err = g.get(3, 1)
	require.ErrorIs(t, err, core.ErrProtocol, "a command uses it")
	require.ErrorIs(t, g.retire(3), core.ErrProtocol, "a command uses it")
	g.done(x)
	g.keep(x, true)
	_, err = g.get(3, 1)
	require.ErrorIs(t, err, core.ErrProtocol, "a tensor uses it")
	require.True(t, g.release(x), "the host is notified")
	_, err = g.get(3, 1)
	require.NoError(t, err, "it is the host's again")
	g.done(x)

	g.keep(x, true)
	require.NoError(t, g.retire(3))
	require.NotNil(t, x.data, "the tensor still uses it")
	require.ErrorIs(t, g.retire(3), core.ErrProtocol, "twice")
	require.False(t, g.release(x), "the host has given it up and is not notified")
	require.Nil(t, x.data)
	require.ErrorIs(t, g.retire(3), core.ErrProtocol, "it is not there")
	require.Empty(t, g.m)

	failed := &segment{number: 4, err: core.ErrOutOfMemory}
	require.NoError(t, g.add(failed))
	got, err = g.get(4, 1<<40)
	require.NoError(t, err, "what could not be mapped is reported by the command that uses it")
	require.ErrorIs(t, got.err, core.ErrOutOfMemory)
	g.done(got)
	require.NoError(t, g.retire(4))

	twin := mapped(t, 4)
	err = g.add(twin)
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "segment 4 after 4, 0 are there, at most 16384")
}

// TestSegmentsEnd checks that the end of a stream unmaps all segments except those that tensors use, and that these are unmapped when the
// tensors release them.
func TestSegmentsEnd(t *testing.T) {
	var g segments
	free, used := mapped(t, 1), mapped(t, 2)
	require.NoError(t, g.add(free))
	require.NoError(t, g.add(used))
	g.keep(used, true)
	g.finish()
	late := mapped(t, 3)
	require.NoError(t, g.add(late), "a segment that arrives while the stream ends")
	require.Len(t, g.m, 2)
	g.close()
	require.Nil(t, free.data)
	require.NotNil(t, used.data)
	used.data[0] = 1
	require.False(t, g.release(used), "nobody is there to be notified")
	require.Nil(t, used.data)
	require.Empty(t, g.m)
}

// TestSegmentLimit checks that the limit counts the segments that are not retired.
func TestSegmentLimit(t *testing.T) {
	var g segments
	for i := range uint64(wire.MaxSegments) {
		require.NoError(t, g.add(&segment{number: 1 + i}))
	}
	require.ErrorIs(t, g.add(&segment{number: wire.MaxSegments + 1}), core.ErrProtocol)
	require.NoError(t, g.retire(5))
	require.NoError(t, g.add(&segment{number: wire.MaxSegments + 1}))
}

// TestSegmentOrders runs operations of hosts and backends in random order. A segment is mapped exactly until the host has retired it and
// no tensor uses it, and get refuses it while a command or a tensor uses it.
func TestSegmentOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		var g segments
		x := mapped(t, 1)
		require.NoError(t, g.add(x))
		busy, kept, retired := false, false, false
		history := ""
		for range 12 {
			step := r.IntN(5)
			history += fmt.Sprint(step)
			switch step {
			case 0:
				_, err := g.get(1, 1)
				require.Equal(t, !busy && !kept && !retired, err == nil, history)
				busy = busy || err == nil
			case 1:
				if busy {
					g.done(x)
					busy = false
				}
			case 2:
				if busy && !kept { // only a command passes it to the backend
					g.keep(x, true)
					kept = true
				}
			case 3:
				if kept && !busy {
					require.Equal(t, !retired, g.release(x), history)
					kept = false
				}
			case 4:
				err := g.retire(1)
				require.Equal(t, !busy && !retired, err == nil, history)
				retired = retired || err == nil
			}
			require.Equal(t, !retired || kept, x.data != nil, history)
			if x.data == nil {
				break
			}
			x.data[0]++
		}
		if x.data != nil {
			wire.Unmap(x.data)
		}
	}
}
