package core_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
)

// The sentinel errors are distinct, and core's names for errors of lower packages are the same values.
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
	require.EqualError(t, &core.NodeError{Program: "step", Err: core.ErrKernel}, `program "step": kernel fault`)
	many := &core.NodeError{Op: "split", Program: "p", Outputs: make([]op.Desc, 1_000_000), Err: core.ErrKernel}
	require.Less(t, len(many.Error()), 200)
	require.ErrorIs(t, err, core.ErrKernel)
}

// device has one extension.
type device struct{ core.Device }

func (device) Memory() core.Memory { return core.Memory{InUse: 7} }

func (d device) Extend(target any) bool {
	m, ok := target.(*core.MemoryStats)
	if ok {
		*m = d
	}
	return ok
}

func TestExtension(t *testing.T) {
	m, ok := core.Extension[core.MemoryStats](device{})
	require.True(t, ok)
	require.Equal(t, int64(7), m.Memory().InUse)
	p, ok := core.Extension[core.Programs](device{})
	require.False(t, ok)
	require.Nil(t, p)
}

// The contract stays small: everything else is an extension.
func TestContractSize(t *testing.T) {
	n := 0
	for _, i := range []reflect.Type{reflect.TypeFor[core.Backend](), reflect.TypeFor[core.Device](), reflect.TypeFor[core.Stream]()} {
		n += i.NumMethod()
	}
	require.LessOrEqual(t, n, 14)
}

func TestIDs(t *testing.T) {
	ids := core.NewIDs(3)
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[op.TensorID]bool{}
	for k := range 4 {
		all.Go(func() {
			for range 100 {
				first := ids.New(k + 1)
				mu.Lock()
				for i := range k + 1 {
					id := first + op.TensorID(i)
					if seen[id] || id.Generation() != 3 || id.Sequence() == 0 {
						t.Errorf("id %v is repeated, has sequence 0 or is of another generation", id)
					}
					seen[id] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Len(t, seen, 100*(1+2+3+4))
	require.Equal(t, op.NewTensorID(3, 1001), ids.New(1))
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
	f32, both := dtype.SetOf(dtype.F32), dtype.SetOf(dtype.F32, dtype.Bool)
	caps := core.Capabilities{Types: both, Limits: core.Limits{Rank: 2, Bytes: 64}, Ops: map[string]core.OpCapability{
		"add": core.Uniform(1, f32), "less": {Version: 1, Operands: []dtype.Set{f32}, Results: []dtype.Set{dtype.SetOf(dtype.Bool)}},
		"sort": {Version: 1, Operands: []dtype.Set{f32}}, "full": {Version: 1, Results: []dtype.Set{f32}},
		"exp": core.Uniform(2, f32), "not": core.Uniform(1, 0),
		"where":  {Version: 1, Operands: []dtype.Set{dtype.SetOf(dtype.Bool), f32}},
		"concat": {Version: 1, Operands: []dtype.Set{f32}, Limits: core.Limits{Rank: 1, Buffers: 3, Elements: 5}}}}
	flags := op.DescOf(dtype.Bool, 2)
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
		{op.Where, []op.Desc{flags, f(2), f(2)}, nil, true},                                                           // the last entry holds for the rest
		{op.Where, []op.Desc{flags, flags, flags}, nil, false},                                                        // type of a later operand
		{op.Sub, []op.Desc{f(2), f()}, nil, false},                                                                    // not claimed
		{op.Exp, []op.Desc{f(2)}, nil, false},                                                                         // another version
		{op.Not, []op.Desc{op.DescOf(dtype.Bool)}, nil, false},                                                        // no types
		{op.Add, []op.Desc{op.DescOf(dtype.I32), op.DescOf(dtype.I32)}, nil, false},                                   // another type
		{op.Sort, []op.Desc{f(2)}, []op.Attr{op.Int("axis", 0)}, false},                                               // a result of a missing type
		{op.Add, []op.Desc{f(1, 1, 1), f()}, nil, false},                                                              // rank
		{op.Add, []op.Desc{f(16), f()}, nil, true}, {op.Add, []op.Desc{f(17), f()}, nil, false},                       // size
		{op.Add, []op.Desc{f(16, 1), f(16)}, nil, false}, // size of the result
		{op.Concat, []op.Desc{f(2), f(3)}, []op.Attr{op.Int("axis", 0)}, true},
		{op.Concat, []op.Desc{f(3), f(3)}, []op.Attr{op.Int("axis", 0)}, false},       // elements
		{op.Concat, []op.Desc{f(1), f(1), f(1)}, []op.Attr{op.Int("axis", 0)}, false}, // buffers
		{op.Concat, []op.Desc{f(1, 1)}, []op.Attr{op.Int("axis", 0)}, false},          // rank, for this op
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

// Claim limits the first operand to the given types and takes the types of the other operands from the row. For an op without operands
// it limits the result.
func TestClaim(t *testing.T) {
	f32 := dtype.SetOf(dtype.F32)
	gather := core.Claim(op.Lookup(op.Gather), f32)
	require.Equal(t, []dtype.Set{f32, dtype.Indices}, gather.Operands)
	full := core.Claim(op.Lookup(op.Full), f32)
	require.Nil(t, full.Operands)
	require.Equal(t, []dtype.Set{f32}, full.Results)
}

func TestPlaceClosesItsBackend(t *testing.T) {
	b := ref.New()
	p := &core.Place{Backend: b}
	d, err := p.Open(context.Background())
	require.NoError(t, err)
	require.NoError(t, p.Close())
	_, err = d.OpenStream(context.Background())
	require.ErrorIs(t, err, core.ErrClosed)
	_, err = p.Open(context.Background())
	require.ErrorIs(t, err, core.ErrClosed)
}
