package libtorch

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

// library returns torch, or skips the test.
func library(t *testing.T) (*torch.Library, torch.Place) {
	t.Helper()
	lib, place, err := load(settings{}, 1)
	if err != nil {
		t.Skip("torch is not on this machine: ", err)
	}
	return lib, place
}

// long reports whether tests run in full, as by make libtorch.
func long() bool { return os.Getenv("BURN_LIBTORCH_LONG") == "1" }

// refused returns the kernels that fail in the self-test, which runs once for all tests.
var refused = sync.OnceValues(func() (refusals, error) {
	_, place, err := load(settings{}, 1)
	if err != nil {
		return nil, err
	}
	return probe(os.Args[0], place, nil)
})

// openChecked opens the backend as a plugin does, after the self-test.
func openChecked() (core.Backend, error) {
	found, err := refused()
	if err != nil {
		return nil, err
	}
	lib, place, err := load(settings{}, 1)
	if err != nil {
		return nil, err
	}
	return engine.New(newDriver(lib, place, found, true)), nil
}

// TestConformance compares every claim, or in a short run a sample of them, with the reference backend. The device also compares each
// result with the type and shape that torch reports (device.check).
func TestConformance(t *testing.T) {
	library(t)
	o := conformance.Options{Run: os.Getenv("BURN_LIBTORCH_RUN"), Profile: conformance.Profile(os.Getenv("BURN_LIBTORCH_PROFILE")), Sample: 40}
	if long() {
		o.Sample = 1
	}
	r, err := conformance.Check(t.Context(), openChecked, o)
	require.NoError(t, err)
	for _, x := range r.Results {
		if x.Status == conformance.Failed {
			t.Errorf("%s: %s", x.ID, x.Reason)
		}
	}
	require.Positive(t, r.Passed)
	t.Logf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
}

// TestRounding runs cases in which torch's own kernels round more than the contract allows.
func TestRounding(t *testing.T) {
	library(t)
	for _, o := range []conformance.Options{
		{Profile: "nn", Run: "^gelu/f32/large-line/plain$"},
		{Profile: "half", Run: "^(conv/f16/transposed/plain|conv_transpose/f16/groups/decomposed)$"},
	} {
		conformance.Run(t, openChecked, o)
	}
}

// TestWithoutLists compares a torch whose ABI has no lists and no strings, like torch 2.9, with the reference backend: it claims fewer ops,
// and their results are right.
func TestWithoutLists(t *testing.T) {
	lib, place := library(t)
	old, err := torch.Load(lib.Folder, torch.Options{Hide: []string{"torch_new_list_reserve_size"}})
	require.NoError(t, err)
	require.False(t, old.Lists())
	open := func() (core.Backend, error) { return engine.New(newDriver(old, place, nil, true)), nil }
	o := conformance.Options{Profile: "core", Sample: 40}
	if long() {
		o.Sample = 1
	}
	conformance.Run(t, open, o)
	conformance.Run(t, open, conformance.Options{Profile: "core", Run: "^zeros-are-equal/window_reduce$"})
	whole := newDriver(lib, place, nil, true).open(0).caps.Ops
	part := newDriver(old, place, nil, true).open(0).caps.Ops
	require.Contains(t, part, "add")
	require.NotContains(t, part, "layer_norm")
	if lib.Lists() {
		require.Contains(t, whole, "layer_norm")
	}
}

// TestApart uses the processor like a device with memory of its own, such as cuda, which has other kernels for indices and integers.
func TestApart(t *testing.T) {
	lib, place := library(t)
	open := func() (core.Backend, error) {
		d := newDriver(lib, place, nil, true)
		d.apart = true
		return engine.New(d), nil
	}
	o := conformance.Options{Profile: "core", Sample: 20}
	if long() {
		o.Sample = 1
	}
	conformance.Run(t, open, o)
}

// TestReadOfClosed checks that a read fails if its operand was not computed because the stream is being closed: it must not return other data.
func TestReadOfClosed(t *testing.T) {
	lib, place := library(t)
	dev := newDriver(lib, place, nil, false).open(0)
	defer dev.Close()
	q, err := newQueue(dev)
	require.NoError(t, err)
	defer q.Close()
	q.Interrupt()
	desc := op.DescOf(dtype.F32, 2)
	v, err := q.Enqueue(desc, dtype.Bytes([]float32{8, 9}), func() {})
	require.NoError(t, err)
	require.NoError(t, q.Fetch(make([]byte, 8), desc, v))
	m, err := q.Record()
	require.NoError(t, err)
	require.ErrorIs(t, m.Wait(), core.ErrClosed)

	other, err := newQueue(dev) // the engine reads such a tensor again on a queue of its own
	require.NoError(t, err)
	defer other.Close()
	require.NoError(t, other.Fetch(make([]byte, 8), desc, v))
	m, err = other.Record()
	require.NoError(t, err)
	require.ErrorIs(t, m.Wait(), core.ErrClosed)
	n, err := op.New(op.Neg, []op.Desc{desc})
	require.NoError(t, err)
	c := &engine.Call[*tensor]{Node: &n, In: []*tensor{v}, Descs: []op.Desc{desc}, Out: make([]*tensor, 1)}
	require.NoError(t, other.Execute(c))
	check := other.Check()
	m, err = other.Record()
	require.NoError(t, err)
	require.NoError(t, m.Wait())
	require.ErrorIs(t, check(), core.ErrClosed)
}
