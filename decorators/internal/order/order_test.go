package order_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/decorators/internal/order"
)

// record is a command with the set of all commands that are ordered before it, computed without clocks.
type record struct {
	cmd  order.Command
	past map[int]bool // indices of records
}

// stream is a stream with the set of commands that are ordered before its next command.
type stream struct {
	*order.Stream
	past map[int]bool
	own  []int // its commands
}

func join(a, b map[int]bool) {
	for k := range b {
		a[k] = true
	}
}

// Clocks agree with explicit sets of commands while, at random, streams open, close and wait for each other and the host waits for them.
func TestOrder(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var all order.Streams
		var open []*stream
		var records []record
		host := map[int]bool{}
		for range 60 {
			if len(open) == 0 || rnd.IntN(12) == 0 {
				open = append(open, &stream{Stream: all.Open(), past: map[int]bool{}})
			}
			k := rnd.IntN(len(open))
			x := open[k]
			switch rnd.IntN(8) {
			case 0: // wait for another stream
				y := open[rnd.IntN(len(open))]
				x.Clock.Join(y.Clock)
				join(x.past, y.past)
			case 1: // the host waits
				all.Saw(slices.Clone(x.Clock))
				join(host, x.past)
			case 2: // all commands of a stream that is closed are known to be done
				all.Close(x.Stream)
				all.Close(x.Stream)
				require.True(t, x.Closed)
				for _, i := range x.own {
					host[i] = true
				}
				open = slices.Delete(open, k, k+1)
			default:
				join(x.past, host)
				r := record{all.Next(x.Stream, "add"), map[int]bool{}}
				join(r.past, x.past)
				for i, o := range records {
					require.Equal(t, r.past[i], o.cmd.Before(x.Clock), "seed %d: %v before %v", seed, o.cmd, r.cmd)
					require.Equal(t, !host[i] && o.cmd.Slot == r.cmd.Slot, all.IsOpen(o.cmd, x.Stream))
				}
				x.past[len(records)] = true
				x.own = append(x.own, len(records))
				records = append(records, r)
			}
		}
	}
}

// Commands are numbered within their stream, also if the stream reuses the slot of a closed one.
func TestNames(t *testing.T) {
	var all order.Streams
	a := all.Open()
	all.Next(a, "write")
	require.Equal(t, "add (command 2 of stream 0)", all.Next(a, "add").String())
	all.Close(a)
	b := all.Open()
	c := all.Next(b, "neg")
	require.Equal(t, "neg (command 1 of stream 1)", c.String())
	require.Equal(t, uint64(3), c.Tick)
}
