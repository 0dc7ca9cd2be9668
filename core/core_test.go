package core_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// The sentinels are distinct, and those that lower packages declare are the same values.
func TestSentinels(t *testing.T) {
	all := core.Sentinels()
	require.Len(t, all, 14)
	for i, a := range all {
		for k, b := range all {
			require.Equal(t, i == k, errors.Is(a, b), "%v and %v", a, b)
		}
	}
	require.Same(t, shape.Err, core.ErrShape)
	require.Same(t, op.ErrDType, core.ErrDType)
	require.ErrorIs(t, errors.ErrUnsupported, core.ErrUnsupported)
	// Codes on the wire are positions: the order is pinned.
	require.Equal(t, []error{core.ErrShape, core.ErrDType, core.ErrAttr, core.ErrUnsupported, core.ErrIndex, core.ErrOutOfMemory, core.ErrBackendLost, core.ErrStale,
		core.ErrUnknownTensor, core.ErrProtocol, core.ErrClosed, core.ErrCanceled, core.ErrNotFound, core.ErrKernel}, all)
}

func TestNodeError(t *testing.T) {
	d, e := op.DescOf(dtype.F32, 2), op.DescOf(dtype.I64)
	d.ID, e.ID = 3, 4
	err := error(&core.NodeError{Op: "sort", Outputs: []op.Desc{d, e}, Err: fmt.Errorf("lane 7: %w", core.ErrKernel)})
	require.Equal(t, "sort t3 f32[2], t4 i64[]: lane 7: kernel fault", err.Error())
	require.ErrorIs(t, err, core.ErrKernel)
}

type memory struct{ core.Stream }

func (memory) Memory() core.Memory { return core.Memory{InUse: 7} }

// layer is a decorator of a stream.
type layer struct {
	core.Stream
	inner any
}

func (l layer) Unwrap() any { return l.inner }

func TestAs(t *testing.T) {
	m := memory{}
	for _, v := range []any{m, layer{inner: m}, layer{inner: layer{inner: m}}} {
		s, ok := core.As[core.MemoryStats](v)
		require.True(t, ok)
		require.Equal(t, int64(7), s.Memory().InUse)
	}
	for _, v := range []any{nil, 5, layer{}, layer{inner: layer{inner: 5}}} {
		_, ok := core.As[core.MemoryStats](v)
		require.False(t, ok)
	}
	// The outermost that has it answers.
	outer, ok := core.As[core.Unwrapper](layer{inner: layer{inner: m}})
	require.True(t, ok)
	require.Equal(t, layer{inner: m}, outer.Unwrap())
}

func TestRegistry(t *testing.T) {
	boom := errors.New("no such hardware")
	core.Register("test-ref", func(core.Config) (core.Backend, error) { return ref.New(), nil })
	core.Register("test-broken", func(c core.Config) (core.Backend, error) { return nil, fmt.Errorf("threads %d: %w", c.Threads, boom) })
	require.Subset(t, core.Registered(), []string{"test-broken", "test-ref"})
	require.IsIncreasing(t, core.Registered())

	b, err := core.Open("test-ref", core.Config{})
	require.NoError(t, err)
	require.Equal(t, "ref", b.Info().Name)
	_, err = core.Open("test-broken", core.Config{Threads: 3})
	require.ErrorIs(t, err, boom)
	require.EqualError(t, err, "core: open test-broken: threads 3: no such hardware")
	_, err = core.Open("test-none", core.Config{})
	require.ErrorIs(t, err, core.ErrNotFound)
	require.NotErrorIs(t, err, fs.ErrNotExist)

	open := func(core.Config) (core.Backend, error) { return nil, nil }
	require.PanicsWithValue(t, "core: Register called twice for backend test-ref", func() { core.Register("test-ref", open) })
	require.Panics(t, func() { core.Register("", open) })
	require.Panics(t, func() { core.Register("test-nil", nil) })
	require.NotContains(t, core.Registered(), "test-nil")
}

func TestCapabilitiesCheck(t *testing.T) {
	f := func(d ...int) op.Desc { return op.DescOf(dtype.F32, d...) }
	caps := core.Capabilities{Types: dtype.SetOf(dtype.F32, dtype.Bool), MaxRank: 2, MaxBytes: 64, Ops: map[string]core.OpCapability{
		"add": {1, dtype.SetOf(dtype.F32)}, "less": {1, dtype.SetOf(dtype.F32)}, "sort": {1, dtype.SetOf(dtype.F32)}, "full": {1, dtype.SetOf(dtype.F32)},
		"exp": {2, dtype.SetOf(dtype.F32)}, "not": {1, 0}}}
	for _, c := range []struct {
		op    op.Code
		in    []op.Desc
		attrs []op.Attr
		ok    bool
	}{
		{op.Add, []op.Desc{f(2), f()}, nil, true},
		{op.Less, []op.Desc{f(2), f()}, nil, true},
		{op.Full, nil, []op.Attr{op.ScalarInt("value", 1), op.Type("dtype", dtype.F32), op.Ints("shape", 3)}, true},
		{op.Full, nil, []op.Attr{op.ScalarInt("value", 1), op.Type("dtype", dtype.Bool), op.Ints("shape", 3)}, false}, // type of the result
		{op.Sub, []op.Desc{f(2), f()}, nil, false},                                              // not claimed
		{op.Exp, []op.Desc{f(2)}, nil, false},                                                   // another version
		{op.Not, []op.Desc{op.DescOf(dtype.Bool)}, nil, false},                                  // no types
		{op.Add, []op.Desc{op.DescOf(dtype.I32), op.DescOf(dtype.I32)}, nil, false},             // another type
		{op.Sort, []op.Desc{f(2)}, []op.Attr{op.Int("axis", 0)}, false},                         // a result of a missing type
		{op.Add, []op.Desc{f(1, 1, 1), f()}, nil, false},                                        // rank
		{op.Add, []op.Desc{f(16), f()}, nil, true}, {op.Add, []op.Desc{f(17), f()}, nil, false}, // size
		{op.Add, []op.Desc{f(16, 1), f(16)}, nil, false}, // size of the result
	} {
		n, err := op.New(c.op, c.in, c.attrs...)
		require.NoError(t, err)
		err = caps.Check(&n, c.in)
		if c.ok {
			require.NoError(t, err, "%v", &n)
		} else {
			require.ErrorIs(t, err, core.ErrUnsupported, "%v", &n)
		}
	}
}

func TestDeviceClosesItsBackend(t *testing.T) {
	b := ref.New()
	require.NoError(t, (&core.Device{Backend: b}).Close())
	_, err := b.OpenStream(context.Background(), 0)
	require.ErrorIs(t, err, core.ErrClosed)
}
