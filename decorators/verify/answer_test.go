package verify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/decorators/verify"
)

// substitute is a backend whose Open returns a device that the test supplies.
type substitute struct {
	core.Backend
	d core.Device
}

func (b substitute) Open(context.Context, int) (core.Device, error) { return b.d, nil }

// held is a device whose streams block in Write: it closes in and waits until out is closed.
type held struct {
	core.Device
	in, out chan struct{}
}

func (d *held) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	return heldStream{s, d}, err
}

type heldStream struct {
	core.Stream
	d *held
}

func (s heldStream) Write(ctx context.Context, d op.Desc, data []byte) error {
	close(s.d.in)
	<-s.d.out
	return s.Stream.Write(ctx, d, data)
}

// broken is a device that breaks the contract.
type broken struct {
	core.Device
	ids   int   // number of NewIDs calls; the third returns an id that is in use
	read  error // result of all reads, unless nil
	write error // result of all writes, unless nil
	view  int   // number of bytes that View passes in excess
	calls int   // number of times that View calls its function
	// number of times that Adopt calls release, and its error
	releases int
	adopt    error
}

func (b *broken) NewIDs(n int) op.TensorID {
	if b.ids++; b.ids == 3 {
		return 1
	}
	return b.Device.NewIDs(n)
}

func (b *broken) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := b.Device.OpenStream(ctx)
	return brokenStream{s, b}, err
}

func (b *broken) Extend(target any) bool {
	if t, ok := target.(*core.HostMemory); ok {
		*t = b
		return true
	}
	return b.Device.Extend(target)
}

func (b *broken) Adopt(s core.Stream, d op.Desc, data []byte, release func()) error {
	for range b.releases {
		release()
	}
	if b.adopt != nil {
		return b.adopt
	}
	return s.(brokenStream).Stream.Write(ctx, d, data)
}

func (b *broken) View(_ context.Context, _ core.Stream, _ op.TensorID, use func([]byte) error) error {
	var err error
	for range b.calls {
		err = use(make([]byte, 8+b.view))
	}
	return err
}

type brokenStream struct {
	core.Stream
	b *broken
}

func (s brokenStream) Write(ctx context.Context, d op.Desc, data []byte) error {
	if s.b.write != nil {
		return s.b.write
	}
	return s.Stream.Write(ctx, d, data)
}

func (s brokenStream) Read(id op.TensorID, dst []byte) core.Ticket {
	if s.b.read != nil {
		return core.Failed(s.b.read)
	}
	return s.Stream.Read(id, dst)
}

func faulty(t *testing.T) (*rig, *broken, core.Stream) {
	inner := ref.New()
	d, err := inner.Open(ctx, 0)
	require.NoError(t, err)
	b := &broken{Device: d, releases: 1, calls: 1}
	r := over(t, substitute{inner, b})
	return r, b, r.stream()
}

func TestAnswers(t *testing.T) {
	r, b, s := faulty(t)
	d := r.write(s, 1, 2)
	plain := errors.New("no such thing")
	b.write = plain
	d2 := r.desc(1)
	err := s.Write(ctx, d2, make([]byte, 4))
	r.refused(err, verify.Answer, core.ErrKernel, "wraps no sentinel")
	require.ErrorIs(t, err, plain)
	b.write = nil
	require.NoError(t, s.Write(ctx, d2, make([]byte, 4)), "the refused write has not used the id")

	require.Equal(t, op.TensorID(1), r.NewIDs(1))
	faults, n := r.log.Report()
	require.Equal(t, 2, n)
	require.ErrorContains(t, faults[1], "some were given out before")
	require.Equal(t, verify.Answer, faults[1].Kind)

	for _, c := range []struct {
		err  error
		text string
	}{{core.ErrShape, "disputes the size"}, {core.ErrUnknownTensor, "does not know"}} {
		b.read = c.err
		err = core.Read(ctx, s, d.ID, make([]byte, 8))
		r.refused(err, verify.Answer, core.ErrKernel, c.text)
		require.ErrorIs(t, err, c.err)
	}
	for _, passed := range []error{&core.NodeError{Op: "neg", Err: core.ErrUnknownTensor}, core.ErrBackendLost, core.ErrCanceled} {
		b.read = passed
		require.Equal(t, passed, core.Read(ctx, s, d.ID, make([]byte, 8)))
	}
}

func TestAnswersOfHostMemory(t *testing.T) {
	r, b, s := faulty(t)
	h, ok := core.Extension[core.HostMemory](r.Device)
	require.True(t, ok)
	d := r.write(s, 1, 2)
	viewed := func() error { return h.View(ctx, s, d.ID, func([]byte) error { return nil }) }
	require.NoError(t, viewed())
	own := errors.New("the caller's")
	require.Equal(t, own, h.View(ctx, s, d.ID, func([]byte) error {
		require.NoError(t, s.Submit(nil, nil), "the stream can be used meanwhile")
		return own
	}))
	b.view = 1
	r.refused(viewed(), verify.Answer, core.ErrKernel, "gave 9 bytes, want 8")
	b.view, b.calls = 0, 2
	r.refused(viewed(), verify.Answer, core.ErrKernel, "2 times")
	b.calls = 0
	r.refused(viewed(), verify.Answer, core.ErrKernel, "0 times")

	calls := 0
	first := r.NewIDs(9) // the second call: only the third returns a wrong id
	adopt := func() error {
		first++
		return h.Adopt(s, op.Desc{ID: first, DType: d.DType, Shape: d.Shape}, make([]byte, 8), func() { calls++ })
	}
	_, before := r.log.Report()
	require.NoError(t, adopt())
	require.Equal(t, 1, calls)
	b.releases = 2
	require.NoError(t, adopt())
	faults, n := r.log.Report()
	require.Equal(t, before+1, n)
	require.ErrorContains(t, faults[n-1], "got call 2, want one")
	require.Equal(t, 2, calls, "the caller is called once")
	b.adopt = core.ErrOutOfMemory
	b.releases = 0
	require.Equal(t, core.ErrOutOfMemory, adopt())
	b.releases = 1
	r.refused(adopt(), verify.Answer, core.ErrKernel, "Adopt returned an error")
	b.adopt, b.releases = nil, 0
	require.NoError(t, adopt())
	_, before = r.log.Report()
	require.NoError(t, r.Close())
	faults, n = r.log.Report()
	require.Equal(t, before+1, n)
	require.ErrorContains(t, faults[n-1], "was not called")
}
