package client_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/wire"
)

// planes are the data planes over which streams run.
var planes = []string{"off", "socket", "on"}

// TestOrder hands tensors between two streams of a device, with events that are waited for before they are reached.
func TestOrder(t *testing.T) {
	for _, how := range planes {
		t.Run(how, func(t *testing.T) {
			s, ctx := open(t, inProcessOver(t, how, map[string]string{"slow": "1ms"})), context.Background()
			streams := []core.Stream{s.Stream, stream(t, s.dev)}
			first := s.dev.NewIDs(1)
			last := op.Desc{ID: first, DType: desc(1).DType, Shape: []int{2}}
			n := full(t, 0, 1, 2)
			n.Outputs[0] = last
			require.NoError(t, s.Submit([]op.Node{n}, nil))
			e := s.Signal()
			for i := range 40 { // each stream doubles what the other has made, and takes it
				at := streams[(i+1)%2]
				require.NoError(t, at.Wait(e))
				add := node(t, "add", 0, []op.Desc{last, last})
				add.Outputs[0].ID, add.Drop = s.dev.NewIDs(1), 3
				if i%8 != 7 { // so that the value stays small
					add = node(t, "copy", 0, []op.Desc{last})
					add.Outputs[0].ID, add.Drop = s.dev.NewIDs(1), 1
				}
				require.NoError(t, at.Submit([]op.Node{add}, nil))
				last = add.Outputs[0]
				e = at.Signal()
			}
			require.NoError(t, streams[1].Wait(e))
			require.Equal(t, f32(32, 32), read(t, streams[1], last))
			for range 2 {
				require.NoError(t, e.Wait(ctx), "any number of times")
			}
			require.NoError(t, streams[0].Close())
			require.NoError(t, streams[1].Wait(e), "an event of a stream that has ended")
			require.Equal(t, f32(32, 32), read(t, streams[1], last))
			require.ErrorIs(t, streams[1].Wait(core.Failed(nil)), core.ErrAttr)
			require.ErrorIs(t, streams[1].Wait(open(t, inProcess(t, nil)).Signal()), core.ErrAttr)
		})
	}
}

// TestUndecoded waits on one stream for an event whose signal is behind slow work and large data on another.
func TestUndecoded(t *testing.T) {
	s, ctx := open(t, inProcess(t, map[string]string{"slow": "20ms"})), context.Background()
	b := stream(t, s.dev)
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 3, 2)}, nil))
	require.NoError(t, b.Wait(s.Signal()))
	require.NoError(t, b.Submit([]op.Node{node(t, "neg", 2, []op.Desc{desc(1, 2)})}, []op.TensorID{id(1)}))
	require.NoError(t, core.Sync(ctx, b))
	require.Equal(t, f32(-3, -3), read(t, b, desc(2, 2)))
	require.ErrorIs(t, core.Read(ctx, s, id(1), make([]byte, 8)), core.ErrUnknownTensor)
}

// TestTickets has several reads open at once, waits for them on other goroutines in any order, and cancels one.
func TestTickets(t *testing.T) {
	for _, how := range planes {
		t.Run(how, func(t *testing.T) {
			s, ctx := open(t, inProcessOver(t, how, map[string]string{"slow": "2ms"})), context.Background()
			const large = 1 << 16
			var tickets []core.Ticket
			var dsts [][]byte
			for i := range uint64(12) {
				size := 2
				if i%3 == 0 {
					size = large
				}
				require.NoError(t, s.Submit([]op.Node{full(t, i+1, float64(i), size)}, nil))
				dst := make([]byte, 4*size)
				tickets, dsts = append(tickets, s.Read(id(i+1), dst)), append(dsts, dst)
				require.NoError(t, s.Submit(nil, []op.TensorID{id(i + 1)}))
			}
			time.Sleep(60 * time.Millisecond) // the answers are there before anyone waits
			for _, dst := range dsts {
				require.Equal(t, make([]byte, 8), dst[:8], "written by Wait alone")
			}
			ended, cancel := context.WithCancel(ctx)
			cancel()
			require.ErrorIs(t, tickets[4].Wait(ended), core.ErrCanceled)
			var wg sync.WaitGroup
			errs := make([]error, len(tickets))
			for i := range tickets {
				wg.Go(func() { errs[i] = tickets[i].Wait(ctx) })
			}
			wg.Wait()
			for i, err := range errs {
				if i == 4 {
					require.ErrorIs(t, err, core.ErrClosed, "once")
					continue
				}
				require.NoError(t, err)
				require.Equal(t, f32(float32(i), float32(i)), dsts[i][:8])
			}
			require.NoError(t, core.Sync(ctx, s))
		})
	}
}

// TestGiveUp cancels one of two reads that wait; the other one and the stream go on.
func TestGiveUp(t *testing.T) {
	g := fake.NewGate()
	s := open(t, inProcess(t, map[string]string{"gate": g.Name()}))
	defer g.Open()
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 1, 2), full(t, 2, 2, 2)}, nil))
	a, b := make([]byte, 8), make([]byte, 8)
	ta, tb := s.Read(id(1), a), s.Read(id(2), b)
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	done := make(chan error)
	go func() { done <- tb.Wait(context.Background()) }()
	require.ErrorIs(t, ta.Wait(short), core.ErrCanceled)
	g.Open()
	copy(a, f32(9, 9))
	require.NoError(t, <-done)
	require.Equal(t, f32(2, 2), b)
	require.Equal(t, f32(9, 9), a, "the caller's alone")
	require.Equal(t, f32(1, 1), read(t, s, desc(1, 2)))
}

// TestManyEvents signals more often than a plugin keeps events.
func TestManyEvents(t *testing.T) {
	s, ctx := open(t, inProcess(t, nil)), context.Background()
	first := s.Signal()
	require.NoError(t, s.Submit(nil, []op.TensorID{id(99)}))
	for range 3 * wire.MaxEvents / 2 {
		s.Signal()
	}
	require.ErrorIs(t, core.Sync(ctx, s), core.ErrUnknownTensor, "a failure that nobody was told of")
	require.NoError(t, first.Wait(ctx))
	require.NoError(t, core.Sync(ctx, s))
}

// TestMissed cancels a wait before it can report a failure, and checks that the next wait reports it, once.
func TestMissed(t *testing.T) {
	g := fake.NewGate()
	s := open(t, inProcess(t, map[string]string{"gate": g.Name(), "panic": "1"}))
	defer g.Open()
	require.NoError(t, s.Submit([]op.Node{full(t, 1, 1), full(t, 2, 2)}, nil))
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	e := s.Signal()
	require.ErrorIs(t, e.Wait(short), core.ErrCanceled)
	g.Open()
	time.Sleep(20 * time.Millisecond) // the failure is there before anyone waits
	require.ErrorIs(t, e.Wait(context.Background()), core.ErrKernel)
	require.NoError(t, e.Wait(context.Background()))
}

// TestDonation donates inputs to a run.
func TestDonation(t *testing.T) {
	s, ctx := open(t, inProcess(t, nil)), context.Background()
	p, ok := core.Extension[core.Programs](s.dev)
	require.True(t, ok)
	pid, err := p.Define(ctx, s.Stream, both(t), nil)
	require.NoError(t, err)
	require.NoError(t, s.Write(ctx, desc(10, 2), f32(1, 2)))
	run := core.Run{Program: pid, Inputs: []op.TensorID{id(10)}, Donated: []bool{true}, Outputs: []op.TensorID{id(11), id(12)}}
	require.NoError(t, p.Run(s.Stream, run))
	require.Equal(t, f32(-1, -2), read(t, s, desc(11, 2)))
	require.ErrorIs(t, core.Read(ctx, s, id(10), make([]byte, 8)), core.ErrUnknownTensor)
	require.EqualValues(t, 2, tensors(t, s))
	run.Donated = []bool{true, false}
	require.ErrorIs(t, p.Run(s.Stream, run), core.ErrAttr)
	require.NoError(t, core.Sync(ctx, s))
	other := stream(t, s.dev)
	for i := range uint64(50) { // runs that are accepted complete, though the program ends at once
		in := []op.TensorID{id(11)}
		require.NoError(t, p.Run(other, core.Run{Program: pid, Inputs: in, Outputs: []op.TensorID{id(20 + 2*i), id(21 + 2*i)}}))
	}
	require.NoError(t, p.Undefine(pid))
	require.NoError(t, core.Sync(ctx, other))
	require.Equal(t, f32(-2, -4), read(t, other, desc(119, 2)))
}

// TestTwoDevices copies between devices and computes on both as ranks of a group.
func TestTwoDevices(t *testing.T) {
	for _, how := range planes {
		t.Run(how, func(t *testing.T) {
			be, ctx := inProcessOver(t, how, nil), context.Background()
			var devices [2]core.Device
			var streams [2]core.Stream
			var groups [2]core.Group
			var wg sync.WaitGroup
			errs := make([]error, 2)
			for i := range devices {
				d, err := be.Open(ctx, i)
				require.NoError(t, err)
				devices[i], streams[i] = d, stream(t, d)
				c, ok := core.Extension[core.Collectives](d)
				require.True(t, ok)
				wg.Go(func() { groups[i], errs[i] = c.Join(ctx, "all", i, 2) })
			}
			wg.Wait()
			require.NoError(t, errors.Join(errs...))
			require.NoError(t, streams[0].Write(ctx, desc(1, 2), f32(1, 2)))
			peers, ok := core.Extension[core.PeerCopy](devices[1])
			require.True(t, ok)
			require.NoError(t, streams[1].Wait(streams[0].Signal()))
			require.NoError(t, peers.CopyFrom(streams[1], desc(7, 2), devices[0], id(1)))
			require.Equal(t, f32(1, 2), read(t, streams[1], desc(7, 2)))
			require.NoError(t, peers.CopyFrom(streams[1], desc(8, 2), devices[0], id(44)))
			require.ErrorIs(t, core.Sync(ctx, streams[1]), core.ErrUnknownTensor)
			require.ErrorIs(t, core.Read(ctx, streams[1], id(8), make([]byte, 8)), core.ErrUnknownTensor)

			require.NoError(t, groups[0].AllReduce(streams[0], core.ReduceSum, id(1), desc(2, 2)))
			require.NoError(t, groups[1].AllReduce(streams[1], core.ReduceSum, id(7), desc(9, 2)))
			require.Equal(t, f32(2, 4), read(t, streams[0], desc(2, 2)))
			require.Equal(t, f32(2, 4), read(t, streams[1], desc(9, 2)))
			other := stream(t, devices[0]) // the order of calls holds across streams
			require.NoError(t, groups[0].AllGather(streams[0], id(1), desc(3, 4)))
			require.NoError(t, groups[0].Broadcast(other, 1, id(2), desc(4, 2)))
			require.NoError(t, groups[1].AllGather(streams[1], id(9), desc(10, 4)))
			require.NoError(t, groups[1].Broadcast(streams[1], 1, id(7), desc(11, 2)))
			require.NoError(t, groups[0].AllReduce(other, core.ReduceMax, id(99), desc(5, 2)), "the rank has no such tensor")
			require.NoError(t, groups[1].AllReduce(streams[1], core.ReduceMax, id(9), desc(12, 2)))
			for _, g := range groups {
				require.NoError(t, g.Close())
			}
			require.Equal(t, f32(1, 2, 2, 4), read(t, streams[1], desc(10, 4)))
			require.Equal(t, f32(1, 2), read(t, other, desc(4, 2)))
			require.ErrorIs(t, core.Read(ctx, streams[1], id(12), make([]byte, 8)), core.ErrUnknownTensor)
			require.ErrorIs(t, core.Read(ctx, other, id(5), make([]byte, 8)), core.ErrUnknownTensor)
			require.ErrorIs(t, groups[0].Broadcast(streams[0], 0, id(1), desc(6, 2)), core.ErrClosed)
			for _, d := range devices {
				require.NoError(t, d.Close())
			}
		})
	}
}

// TestAdopt lends memory of all sizes.
func TestAdopt(t *testing.T) {
	for _, how := range planes {
		t.Run(how, func(t *testing.T) {
			s := open(t, inProcessOver(t, how, nil))
			h, ok := core.Extension[core.HostMemory](s.dev)
			require.True(t, ok)
			for i, n := range []int{1, wire.MaxInline / 4, wire.MaxInline/4 + 1, 1 << 20} {
				data := make([]byte, 4*n)
				data[len(data)-1] = byte(i + 1)
				released := 0
				d := desc(uint64(i+1), n)
				require.NoError(t, h.Adopt(s.Stream, d, data, func() { released++ }))
				require.Equal(t, data, read(t, s, d))
				require.Equal(t, 1, released)
			}
			require.ErrorIs(t, h.Adopt(s.Stream, desc(50, 2), nil, func() { t.Error("released") }), core.ErrShape)
			require.ErrorIs(t, h.View(context.Background(), s.Stream, id(1), func([]byte) error { return nil }), core.ErrUnsupported)
			require.NoError(t, core.Sync(context.Background(), s))
		})
	}
	s := open(t, inProcess(t, map[string]string{"write": "fail"}))
	h, _ := core.Extension[core.HostMemory](s.dev)
	require.NoError(t, h.Adopt(s.Stream, desc(1, 1<<20), make([]byte, 4<<20), func() {}))
	require.ErrorIs(t, core.Read(context.Background(), s, id(1), make([]byte, 4<<20)), core.ErrOutOfMemory)
	require.ErrorIs(t, core.Sync(context.Background(), s), core.ErrOutOfMemory)
}
