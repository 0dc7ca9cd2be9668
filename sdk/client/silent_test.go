package client_test

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/wire"
)

// patience is the longest time that a test waits for an event that takes moments on an idle machine. Only a hang takes longer.
const patience = 2 * time.Minute

// soon returns the error of f, and fails the test if f does not return within patience.
func soon(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// TestNeverOpened has a plugin that runs but never answers the opening of a device or a stream.
func TestNeverOpened(t *testing.T) {
	r := &rogue{opened: []byte{0x81}, silent: "open", welcome: decent(), device: decentDevice(), options: client.Options{OpenTimeout: 50 * time.Millisecond}}
	b, err := r.serve(t)
	require.NoError(t, err)
	err = soon(t, "Open", func() error {
		_, err := b.Open(context.Background(), 0)
		return err
	})
	require.ErrorIs(t, err, core.ErrProtocol)
	require.NotErrorIs(t, err, core.ErrCanceled)
	require.ErrorContains(t, err, "no answer for 50ms; if the device needs longer, raise open_timeout in the configuration (OpenTimeout in Options)")
	var d core.Device
	for limit := 50 * time.Millisecond; d == nil; limit *= 4 { // a busy machine may take longer to open the device
		require.Less(t, limit, patience)
		r = &rogue{opened: []byte{0x81}, silent: "stream", welcome: decent(), device: decentDevice(), options: client.Options{OpenTimeout: limit}}
		b, err = r.serve(t)
		require.NoError(t, err)
		if d, err = b.Open(context.Background(), 0); err != nil {
			d = nil
		}
	}
	err = soon(t, "OpenStream", func() error {
		_, err := d.OpenStream(context.Background())
		return err
	})
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "OpenTimeout in Options")
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err = soon(t, "OpenStream", func() error {
		_, err := d.OpenStream(ctx)
		return err
	})
	require.ErrorIs(t, err, core.ErrCanceled, "the caller's own limit")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestNeverAnswered has a plugin that runs but answers no command: contexts and limits end calls.
func TestNeverAnswered(t *testing.T) {
	r := &rogue{opened: []byte{0x81}, silent: "commands", welcome: decent(), device: decentDevice(),
		options: client.Options{DefineTimeout: 50 * time.Millisecond}}
	r.device.Extensions.Programs = true
	b, err := r.serve(t)
	require.NoError(t, err)
	s := open(t, b)
	p, ok := core.Extension[core.Programs](s.dev)
	require.True(t, ok)
	n := node(t, "neg", 2, []op.Desc{desc(1, 2)})
	err = soon(t, "Define", func() error {
		_, err := p.Define(context.Background(), s.Stream, &program.Program{Name: "p", Inputs: []op.Desc{desc(1, 2)}, Nodes: []op.Node{n}, Outputs: []op.TensorID{id(2)}}, nil)
		return err
	})
	require.ErrorIs(t, err, core.ErrProtocol)
	require.ErrorContains(t, err, "raise define_timeout in the configuration (DefineTimeout in Options)")
	for what, wait := range map[string]func(ctx context.Context) error{
		"read":  func(ctx context.Context) error { return core.Read(ctx, s, id(1), make([]byte, 8)) },
		"large": func(ctx context.Context) error { return core.Read(ctx, s, id(1), make([]byte, 4<<20)) },
		"event": func(ctx context.Context) error { return s.Signal().Wait(ctx) },
		"sync":  func(ctx context.Context) error { return core.Sync(ctx, s) },
		"write": func(ctx context.Context) error { return s.Write(ctx, desc(9, 1<<20), make([]byte, 4<<20)) },
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		require.ErrorIs(t, soon(t, what, func() error { return wait(ctx) }), core.ErrCanceled, what)
		cancel()
	}
	require.NoError(t, soon(t, "Close", s.Close))
}

// TestHugeError receives an error of 4 MB that names 1.3 million tensors, one that names one tensor too many, and one with as many as allowed.
func TestHugeError(t *testing.T) {
	names := func(count, size int) []byte {
		b := append([]byte{0x83, 1, 1}, 3, 'a', 'd', 'd', 0)
		b = binary.AppendUvarint(b, uint64(count))
		for range count {
			b = append(b, 1, byte(desc(1).DType), byte(size))
			for range size {
				b = binary.AppendUvarint(b, 1<<40)
			}
		}
		return append(b, 0, 14, 0)
	}
	for _, reply := range [][]byte{names(1_300_000, 0), names(wire.MaxBlamed+1, 0)} {
		require.Less(t, len(reply), wire.MaxFrame)
		r := &rogue{opened: []byte{0x81}, reply: reply, welcome: decent(), device: decentDevice()}
		b, err := r.serve(t)
		require.NoError(t, err)
		s := open(t, b)
		// A read that is canceled while the error of another read arrives.
		ctx, cancel := context.WithCancel(context.Background())
		given := s.Read(id(2), make([]byte, 4))
		err = soon(t, "an error", func() error { return core.Read(context.Background(), s, id(1), make([]byte, 4)) })
		require.ErrorIs(t, err, core.ErrProtocol)
		require.Less(t, len(err.Error()), 1<<10)
		cancel()
		err = soon(t, "a read that was given up", func() error { return given.Wait(ctx) })
		require.Error(t, err)
		require.NoError(t, soon(t, "Close", s.Close))
	}
	// The text of the greatest error that is legal.
	r := &rogue{opened: []byte{0x81}, reply: names(wire.MaxBlamed, 64), welcome: decent(), device: decentDevice()}
	b, err := r.serve(t)
	require.NoError(t, err)
	s := open(t, b)
	err = soon(t, "an error", func() error { return core.Read(context.Background(), s, id(1), make([]byte, 4)) })
	require.ErrorIs(t, err, core.ErrKernel)
	require.Less(t, len(err.Error()), 16<<10)
}

// hoarder is a backend that adopts all memory that it is lent and never releases any.
type hoarder struct{ core.Backend }

func (h hoarder) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := h.Backend.Open(ctx, index)
	return &hoard{Device: d}, err
}

type hoard struct {
	core.Device
	mu   sync.Mutex
	held int
}

func (d *hoard) Extend(target any) bool {
	if t, ok := target.(*core.HostMemory); ok {
		*t = d
		return true
	}
	return d.Device.Extend(target)
}

func (d *hoard) Adopt(s core.Stream, desc op.Desc, data []byte, _ func()) error {
	d.mu.Lock()
	d.held += len(data)
	d.mu.Unlock()
	return s.Write(context.Background(), desc, data)
}

func (d *hoard) View(context.Context, core.Stream, op.TensorID, func([]byte) error) error {
	return core.ErrUnsupported
}

// TestHoarder writes and frees many tensors on a plugin that keeps every segment, and checks that the memory that it keeps is bounded:
// later tensors go over the socket. Segments of tensors that are not freed do not count.
func TestHoarder(t *testing.T) {
	var d *hoard
	b := plane(t, "on", func(c core.Config) (core.Backend, error) {
		b, err := fake.New(c)
		return opening{b, &d}, err
	})
	s := open(t, b)
	const size = 16 << 20
	data := make([]byte, size)
	ctx := context.Background()
	require.NoError(t, s.Write(ctx, desc(1, size/4), data))
	if d.held == 0 {
		t.Skip("the system has no shared memory: tensors went over the socket")
	}
	for i := range uint64(60) {
		data[3] = byte(i)
		require.NoError(t, s.Write(ctx, desc(2+i, size/4), data))
		got := read(t, s, desc(2+i, size/4))
		require.Equal(t, byte(i), got[3])
		require.NoError(t, s.Submit(nil, []op.TensorID{id(2 + i)}))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	require.LessOrEqual(t, d.held, 512<<20+3*size)
	require.Greater(t, d.held, 256<<20)
}

// opening stores the device that was opened in d.
type opening struct {
	core.Backend
	d **hoard
}

func (o opening) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := hoarder{o.Backend}.Open(ctx, index)
	if err != nil {
		return nil, err
	}
	*o.d = d.(*hoard)
	return d, nil
}
