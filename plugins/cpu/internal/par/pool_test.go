package par

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestForCoversEachIndexOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := New(threads)
		for _, n := range []int{-1, 0, 1, 2, 7, 64, 1000, 4097} {
			for _, grain := range []int{-3, 0, 1, 3, 64, 5000} {
				hits := make([]atomic.Int32, max(n, 0))
				p.For(n, grain, func(lo, hi int) {
					if hi-lo < min(grain, n) {
						t.Errorf("threads %d n %d grain %d: part of %d", threads, n, grain, hi-lo)
					}
					for i := lo; i < hi; i++ {
						hits[i].Add(1)
					}
				})
				for i := range hits {
					if got := hits[i].Load(); got != 1 {
						t.Fatalf("threads %d n %d grain %d: index %d run %d times", threads, n, grain, i, got)
					}
				}
			}
		}
		p.Close()
	}
}

func TestPartitionIsDeterministic(t *testing.T) {
	p := New(3)
	parts := func(run func(int, int, func(lo, hi int))) map[[2]int]bool {
		var mu sync.Mutex
		seen := map[[2]int]bool{}
		run(1001, 10, func(lo, hi int) {
			mu.Lock()
			defer mu.Unlock()
			seen[[2]int{lo, hi}] = true
		})
		return seen
	}
	first := parts(p.For)
	require.Len(t, first, p.Chunks(1001, 10))
	for range 50 {
		require.Equal(t, first, parts(p.For))
	}
	// The parts are the same while the workers are busy, and after Close.
	p.For(2, 1, func(lo, hi int) {
		if lo == 0 {
			require.Equal(t, first, parts(p.For))
		}
	})
	p.Close()
	require.Equal(t, first, parts(p.For))
}

func TestWorkersTakePart(t *testing.T) {
	p := New(8)
	defer p.Close()
	// Each part waits until the others have begun, which one thread alone cannot do.
	var begun sync.WaitGroup
	begun.Add(8)
	met := make(chan struct{})
	go func() { begun.Wait(); close(met) }()
	p.For(8, 1, func(lo, hi int) {
		begun.Done()
		select {
		case <-met:
		case <-time.After(time.Minute):
			t.Error("par: parts did not run at the same time")
		}
	})
}

func TestNestedAndConcurrent(t *testing.T) {
	p := New(4)
	defer p.Close()
	var total atomic.Int64
	var streams sync.WaitGroup
	for range 8 {
		streams.Go(func() {
			for range 50 {
				p.For(16, 1, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						p.For(8, 1, func(lo, hi int) { total.Add(int64(hi - lo)) })
					}
				})
			}
		})
	}
	streams.Wait()
	require.EqualValues(t, 8*50*16*8, total.Load())
}

func TestWakesAfterParking(t *testing.T) {
	p := New(3)
	defer p.Close()
	for range 20 {
		time.Sleep(time.Millisecond)
		var sum atomic.Int64
		p.For(300, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
		require.EqualValues(t, 300, sum.Load())
	}
}

var errBody = errors.New("body failed")

func explode(lo int) {
	if lo == 0 {
		panic(errBody)
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	cases := []struct {
		name     string
		threads  int
		n, grain int
		nested   bool
	}{
		{"one part", 4, 10, 100, false},
		{"one thread", 1, 10, 1, false},
		{"parallel", 4, 1000, 1, false},
		{"nested", 4, 1000, 1, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := New(c.threads)
			defer p.Close()
			for range 20 {
				var ran atomic.Int64
				got := recovered(func() {
					p.For(c.n, c.grain, func(lo, hi int) {
						ran.Add(int64(hi - lo))
						if c.nested {
							p.For(c.n, c.grain, func(l, _ int) { explode(l + lo) })
							return
						}
						explode(lo)
					})
				})
				failed, ok := got.(*Panic)
				require.True(t, ok, "recovered %T", got)
				require.Equal(t, errBody, failed.Value)
				require.ErrorIs(t, failed, errBody)
				require.Contains(t, string(failed.Stack), "par.explode")
				require.True(t, strings.HasPrefix(failed.Error(), "body failed"))
				require.EqualValues(t, c.n, ran.Load(), "the other parts run")
			}
			var sum atomic.Int64
			p.For(100, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
			require.EqualValues(t, 100, sum.Load(), "the pool still works")
		})
	}
}

func TestGoexitInAWorker(t *testing.T) {
	p := New(2)
	defer p.Close()
	caller := make(chan uint64, 1)
	caller <- goid()
	got := recovered(func() {
		self := <-caller
		gone := make(chan struct{})
		p.For(8, 1, func(lo, hi int) {
			if goid() == self {
				<-gone // leave a part to the worker
				return
			}
			select {
			case <-gone:
			default:
				close(gone)
				runtime.Goexit()
			}
		})
	})
	require.ErrorIs(t, got.(error), errGoexit)
	TestWakesAfterParking(t)
	p.For(8, 1, func(lo, hi int) {})
}

func TestGoexitInTheCaller(t *testing.T) {
	p := New(2)
	var streams sync.WaitGroup
	streams.Go(func() {
		self := goid()
		p.For(8, 1, func(lo, hi int) {
			if goid() == self {
				runtime.Goexit()
			}
		})
	})
	streams.Wait()
	require.False(t, p.busy.Load())
	var sum atomic.Int64
	p.For(100, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
	require.EqualValues(t, 100, sum.Load())
	p.Close()
}

func TestCloseEndsTheWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 10 {
		p := New(4)
		p.For(100, 1, func(lo, hi int) {})
		p.Close()
		p.Close()
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // a worker ends a moment after Close has heard of it
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("par: goroutines after close, got %d, want %d", runtime.NumGoroutine(), before)
}

func TestForDoesNotAllocate(t *testing.T) {
	p := New(4)
	defer p.Close()
	var sum atomic.Int64
	body := func(lo, hi int) { sum.Add(int64(hi - lo)) }
	require.Zero(t, testing.AllocsPerRun(100, func() { p.For(1000, 1, body) }))
}

func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func goid() (id uint64) {
	var buf [64]byte
	_, _ = fmt.Sscanf(string(buf[:runtime.Stack(buf[:], false)]), "goroutine %d ", &id)
	return id
}

func BenchmarkFor(b *testing.B) {
	for _, threads := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p := New(threads)
			defer p.Close()
			body := func(lo, hi int) {}
			b.ReportAllocs()
			for b.Loop() {
				p.For(1024, 1, body)
			}
		})
	}
	b.Run("parked", func(b *testing.B) {
		p := New(2)
		defer p.Close()
		body := func(lo, hi int) {}
		var spent time.Duration
		for b.Loop() {
			time.Sleep(200 * time.Microsecond)
			start := time.Now()
			p.For(1024, 1, body)
			spent += time.Since(start)
		}
		b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/For")
	})
}
