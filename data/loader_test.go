package data_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/tensor"
	"github.com/stretchr/testify/require"
)

// batched returns a copy of the items as the batch.
func batched(items []int, _ *tensor.Device) ([]int, error) { return slices.Clone(items), nil }

func loader(t testing.TB, ds data.Dataset[int], o data.Options) *data.Loader[int, []int] {
	t.Helper()
	l, err := data.NewLoader(ds, batched, nil, o)
	require.NoError(t, err)
	return l
}

// epoch returns the batches of the loader's current epoch.
func epoch[T, B any](t testing.TB, l *data.Loader[T, B]) (out []B) {
	t.Helper()
	for b, err := range l.Batches(context.Background()) {
		require.NoError(t, err)
		out = append(out, b)
	}
	return out
}

func TestLoaderOrder(t *testing.T) {
	l := loader(t, upTo(7), data.Options{Batch: 3})
	require.Equal(t, [][]int{{0, 1, 2}, {3, 4, 5}, {6}}, epoch(t, l))
	require.Equal(t, 3, l.Len())
	l = loader(t, upTo(7), data.Options{Batch: 3, DropLast: true})
	require.Equal(t, [][]int{{0, 1, 2}, {3, 4, 5}}, epoch(t, l))
	require.Equal(t, 2, l.Len())
	require.Empty(t, epoch(t, loader(t, upTo(0), data.Options{})))
	for _, batch := range []int{8, 999999999, math.MaxInt} { // memory is allocated only for items that exist
		require.Equal(t, [][]int{{0, 1, 2, 3, 4, 5, 6}}, epoch(t, loader(t, upTo(7), data.Options{Batch: batch, Prefetch: math.MaxInt})))
		require.Empty(t, epoch(t, loader(t, upTo(7), data.Options{Batch: batch, DropLast: true})))
	}
	for _, o := range []data.Options{{Batch: -1}, {Workers: -1}, {Prefetch: -1}} {
		_, err := data.NewLoader(upTo(1), batched, nil, o)
		require.Error(t, err)
	}
}

// Order and contents depend on the seed and the epoch, but not on the workers.
func TestLoaderIsDeterministic(t *testing.T) {
	slow := data.Func(101, func(i int) (int, error) {
		if i%13 == 0 {
			time.Sleep(time.Duration(i%5) * 100 * time.Microsecond)
		}
		return i, nil
	})
	var want [3][][]int
	for _, workers := range []int{1, 2, 4, 9} {
		for _, prefetch := range []int{0, 1, 3} {
			l := loader(t, slow, data.Options{Batch: 4, Shuffle: true, Seed: 11, Workers: workers, Prefetch: prefetch})
			for e := range want {
				got := epoch(t, l)
				if want[e] == nil {
					want[e] = got
				}
				require.Equal(t, want[e], got, "epoch %d with %d workers", e, workers)
				require.Equal(t, data.Position{Epoch: e + 1}, l.Position())
			}
		}
	}
	require.NotEqual(t, want[0], want[1])
	require.ElementsMatch(t, upTo(101), slices.Concat(want[1]...))
	require.Equal(t, data.Permutation(101, 11, 2), slices.Concat(want[2]...))
}

func TestLoaderResumes(t *testing.T) {
	o := data.Options{Batch: 4, Shuffle: true, Seed: 5, Workers: 2}
	whole := loader(t, upTo(30), o)
	want := append(epoch(t, whole), epoch(t, whole)...)
	for stop := range want {
		a, got := loader(t, upTo(30), o), [][]int{}
		for range 2 {
			for b, err := range a.Batches(context.Background()) {
				require.NoError(t, err)
				if got = append(got, b); len(got) == stop {
					break
				}
			}
			if len(got) == stop {
				break
			}
		}
		b := loader(t, upTo(30), o)
		require.NoError(t, b.Seek(a.Position()))
		for b.Position().Epoch < 2 {
			got = append(got, epoch(t, b)...)
		}
		if stop > 0 {
			require.Equal(t, want, got, "stopped after %d", stop)
		}
	}
	l := loader(t, upTo(30), o)
	for _, p := range []data.Position{{Epoch: -1}, {Batch: -1}, {Batch: 9}} {
		require.Error(t, l.Seek(p))
	}
	require.NoError(t, l.Seek(data.Position{Epoch: 3, Batch: 8}))
	require.Empty(t, epoch(t, l))
	require.Equal(t, data.Position{Epoch: 4}, l.Position())
}

func TestLoaderProgress(t *testing.T) {
	l := loader(t, upTo(7), data.Options{Batch: 3})
	var seen []data.Progress
	for _, err := range l.Batches(context.Background()) {
		require.NoError(t, err)
		seen = append(seen, l.Progress())
		require.ErrorIs(t, l.Seek(data.Position{}), data.ErrBusy)
		for _, err := range l.Batches(context.Background()) {
			require.ErrorIs(t, err, data.ErrBusy)
		}
	}
	require.Equal(t, []data.Progress{{Done: 3, Total: 7}, {Done: 6, Total: 7}, {Done: 7, Total: 7}}, seen)
	require.Equal(t, data.Progress{Total: 7}, l.Progress())
	require.Equal(t, data.Progress{Total: 6}, loader(t, upTo(7), data.Options{Batch: 3, DropLast: true}).Progress())
}

func TestLoaderShards(t *testing.T) {
	for _, c := range []struct {
		n, batch, shards int
		drop             bool
		lens             []int
	}{{20, 3, 2, false, []int{4, 3}}, {20, 3, 2, true, []int{3, 3}}, {20, 3, 4, true, []int{1, 1, 1, 1}}, {2, 3, 2, false, []int{1, 0}}} {
		o := data.Options{Batch: c.batch, Shuffle: true, Seed: 8, DropLast: c.drop}
		l := loader(t, upTo(c.n), o)
		parts, err := l.Shards(make([]*tensor.Device, c.shards)...)
		require.NoError(t, err)
		want := epoch(t, l)
		for i, p := range parts {
			got := epoch(t, p)
			require.Equal(t, c.lens[i], len(got))
			require.Equal(t, c.lens[i], p.Len())
			for k, b := range got {
				require.Equal(t, want[k*c.shards+i], b)
			}
		}
		_, err = parts[0].Shards(nil)
		require.ErrorContains(t, err, "the loader is shard 0 of "+strconv.Itoa(c.shards)+" already")
		_, err = l.Shards()
		require.ErrorContains(t, err, "no device given")
	}
}

func TestLoaderFailures(t *testing.T) {
	broken := func(bad int, f func() (int, error)) data.Dataset[int] {
		return data.Func(20, func(i int) (int, error) {
			if i == bad {
				return f()
			}
			return i, nil
		})
	}
	for name, f := range map[string]func() (int, error){
		"error": func() (int, error) { return 0, errors.ErrUnsupported },
		"panic": func() (int, error) { panic(errors.ErrUnsupported) },
	} {
		t.Run(name, func(t *testing.T) {
			l := loader(t, broken(9, f), data.Options{Batch: 4, Workers: 3})
			var got [][]int
			var last error
			for b, err := range l.Batches(context.Background()) {
				require.NoError(t, last, "nothing follows an error")
				if last = err; err == nil {
					got = append(got, b)
				}
			}
			require.Equal(t, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}, got)
			require.ErrorIs(t, last, errors.ErrUnsupported)
			var batch *data.BatchError
			var item *data.ItemError
			require.ErrorAs(t, last, &batch)
			require.ErrorAs(t, last, &item)
			require.Equal(t, 2, batch.Batch)
			require.Equal(t, 9, item.Index)
			require.Equal(t, data.Position{Batch: 2}, l.Position(), "the failed batch can be tried again")
		})
	}
	l, err := data.NewLoader(upTo(3), func([]int, *tensor.Device) (int, error) { panic("no batch") }, nil, data.Options{})
	require.NoError(t, err)
	var contained *data.PanicError
	for _, err := range l.Batches(context.Background()) {
		require.ErrorAs(t, err, &contained)
	}
	require.Equal(t, "no batch", contained.Value)
	require.Contains(t, contained.Stack, "loader_test.go")
}

// After a loop ends by break or cancel, no goroutine is running and no prefetched batch remains.
func TestLoaderStops(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, stop := range map[string]func(cancel func()) bool{
		"break":  func(func()) bool { return true },
		"cancel": func(cancel func()) bool { cancel(); return false },
	} {
		t.Run(name, func(t *testing.T) {
			var reading, live atomic.Int32
			ds := data.Func(1000, func(i int) (int, error) {
				reading.Add(1)
				defer reading.Add(-1)
				time.Sleep(50 * time.Microsecond)
				return i, nil
			})
			l, err := data.NewLoader(ds, func([]int, *tensor.Device) (*held, error) { live.Add(1); return &held{&live}, nil }, nil, data.Options{Batch: 2, Workers: 4})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			given := 0
			for b, err := range l.Batches(ctx) {
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					require.Equal(t, "cancel", name)
					break
				}
				b.Release()
				if given++; given >= 5 && stop(cancel) {
					break
				}
			}
			require.Zero(t, reading.Load())
			require.Zero(t, live.Load())
			require.Equal(t, data.Position{Batch: given}, l.Position())
			require.Less(t, given, 400)
		})
	}
	for end := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before+1; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "%d goroutines, want at most %d", runtime.NumGoroutine(), before+1)
	}
}

type held struct{ live *atomic.Int32 }

func (h *held) Release() { h.live.Add(-1) }

// The pipeline runs ahead by at most the batches that its prefetch slots, its dispatcher and its workers hold.
func TestLoaderIsBounded(t *testing.T) {
	var made atomic.Int32
	l, err := data.NewLoader(upTo(100), func([]int, *tensor.Device) (int, error) { return int(made.Add(1)), nil }, nil, data.Options{Workers: 2, Prefetch: 3})
	require.NoError(t, err)
	for range l.Batches(context.Background()) {
		time.Sleep(20 * time.Millisecond)
		require.LessOrEqual(t, made.Load(), int32(1+3+1+2), "taken, in slots, at the dispatcher, at the workers")
		break
	}
}

func TestLoaderCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("enough"))
	var errs []error
	for _, err := range loader(t, upTo(500), data.Options{}).Batches(ctx) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	require.Len(t, errs, 1)
	require.ErrorIs(t, errs[0], context.Canceled)
}

type badEpochs struct{ data.Memory[int] }

func (badEpochs) Epoch(int) data.Dataset[int] { panic("no epoch") }

func TestLoaderEpochPanics(t *testing.T) {
	var errs []error
	for _, err := range loader(t, badEpochs{upTo(9)}, data.Options{Batch: 2, Workers: 2}).Batches(context.Background()) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	var contained *data.PanicError
	require.ErrorAs(t, errs[0], &contained)
	require.Equal(t, "no epoch", contained.Value)
}
