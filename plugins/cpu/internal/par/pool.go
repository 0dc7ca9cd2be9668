// Package par runs loops over index ranges on a fixed set of worker goroutines that live as long as the pool, so that dividing a kernel of
// tens of microseconds among threads starts no goroutines. All kernels of the cpu backend run their loops with it. It must not know what a
// loop computes.
package par

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// perThread is the number of chunks per thread that a range is divided into: enough for other threads to take over chunks of a late or
	// slow thread.
	perThread = 4
	// maxThreads bounds the number of threads, so that chunk numbers fit in the sixteen bits of a ticket.
	maxThreads = 1 << 12
	// looks is the number of times, some ten microseconds in total, that an idle thread looks for work before it yields its processor.
	// Yielding takes a lock of the scheduler and may wake a thread that finds no work.
	looks = 1 << 13
	// spinHeld and spinFree are the numbers of yields after which an idle thread parks: spinHeld while the pool is held, spinFree
	// otherwise. Waking a thread takes longer than the time between two loops of a program, or between two programs in quick succession.
	// spinBrief replaces spinFree if a process that waits for the result may need the processor.
	spinHeld  = 100
	spinFree  = 16
	spinBrief = 3
)

// Pool is a set of workers that run loops. All methods may be called from any number of goroutines at once. Close ends the workers.
type Pool struct {
	threads int
	spins   bool        // idle threads spin before they park; false if there are more threads than processors
	brief   atomic.Bool // idle threads spin for a short time only, when the pool is not held
	workers []*worker

	// busy is a lock. The For that the workers serve holds it; Close takes it and never releases it. body, n and chunks belong to its
	// holder. Threads that have claimed a chunk of the current loop may read them.
	busy   atomic.Bool
	body   func(lo, hi int)
	n      int
	chunks int

	// tickets assign the chunks of the current loop to threads, one range of chunks each. A thread begins with the ticket of its own
	// number, which covers the same part of the range in every loop: the data that it wrote in the previous loop is likely still in its
	// cache.
	tickets []ticket
	pending atomic.Int64  // chunks of the current loop that have not finished
	waiting atomic.Bool   // the caller sleeps until no chunk is pending
	done    chan struct{} // holds at most one token, sent only if the caller was seen waiting
	failed  atomic.Pointer[Panic]
	held    atomic.Int32 // calls of Hold minus calls of Release

	closing atomic.Bool
	closed  sync.Once
	exited  sync.WaitGroup
}

// ticket is generation<<32 | end<<16 | next unclaimed chunk. Chunks are claimed by compare-and-swap on the whole word, so that a late
// worker can never claim a chunk of another loop than the loop that it read. Tickets share no cache lines.
type ticket struct {
	atomic.Uint64
	_ [120]byte
}

// open reports whether an unclaimed chunk is left.
func (t *ticket) open() bool {
	v := t.Load()
	return v&0xffff < v>>16&0xffff
}

type worker struct {
	number int
	parked atomic.Bool
	wake   chan struct{} // holds at most one token, sent only if the worker was seen parked
}

// New returns a pool that runs loops on the given number of threads, including the caller's. If threads <= 0, the number is GOMAXPROCS.
func New(threads int) *Pool {
	procs := runtime.GOMAXPROCS(0)
	if threads <= 0 {
		threads = procs
	}
	threads = min(threads, maxThreads)
	p := &Pool{threads: threads, tickets: make([]ticket, threads), done: make(chan struct{}, 1)}
	p.spins = threads <= procs
	for i := range threads - 1 {
		w := &worker{number: i + 1, wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		p.exited.Add(1)
		go p.serve(w)
	}
	return p
}

// Alone returns a pool without workers that divides ranges like p: a loop runs on its caller, part by part. It need not be closed.
func (p *Pool) Alone() *Pool { return &Pool{threads: p.threads} }

// Threads returns the number of threads that a loop can run on, including the caller's.
func (p *Pool) Threads() int { return p.threads }

// Brief makes idle workers park early when the pool is not held.
func (p *Pool) Brief() { p.brief.Store(true) }

// Hold keeps workers awake between loops until Release has been called as often as Hold.
func (p *Pool) Hold() { p.held.Add(1) }

// Release ends the effect of one Hold.
func (p *Pool) Release() { p.held.Add(-1) }

// Close waits for the loop in progress and ends the workers. A For after
// Close runs on its caller alone. Close may be called more than once, but not
// from within a loop body.
func (p *Pool) Close() {
	p.closed.Do(func() {
		for !p.busy.CompareAndSwap(false, true) {
			runtime.Gosched()
		}
		p.closing.Store(true)
		for _, w := range p.workers {
			w.unpark()
		}
		p.exited.Wait()
	})
}

// Chunks returns the number of parts into which For divides [0,n). It depends only on n, grain and the pool's thread count.
func (p *Pool) Chunks(n, grain int) int {
	if n <= 0 {
		return 0
	}
	if p.threads == 1 {
		return 1
	}
	return max(1, min(n/max(grain, 1), p.threads*perThread))
}

// For calls body on contiguous parts [lo,hi) that together cover [0,n) once, and returns when all calls have returned. No part is shorter
// than grain unless n is. The parts are the same for the same n, grain and thread count; which thread runs a part, and in what order, is
// not defined.
//
// The caller runs parts too. While the workers serve another For, on another goroutine or an enclosing one, the caller runs all parts
// itself, so that loops can be nested and never wait for each other. If a body panics the other parts still run; then For panics with a
// *Panic that holds the first value caught. For allocates nothing.
func (p *Pool) For(n, grain int, body func(lo, hi int)) {
	chunks := p.Chunks(n, grain)
	if chunks <= 1 {
		if n > 0 {
			alone(body, n)
		}
		return
	}
	if len(p.workers) == 0 || !p.busy.CompareAndSwap(false, true) {
		inline(body, n, chunks)
		return
	}
	p.body, p.n, p.chunks = body, n, chunks
	p.pending.Store(int64(chunks))
	generation := p.tickets[0].Load()>>32 + 1
	for i := range p.tickets {
		first, end := part(i, chunks, p.threads)
		p.tickets[i].Store(generation<<32 | uint64(end)<<16 | uint64(first))
	}
	for i := 0; i < len(p.workers) && i < chunks-1; i++ {
		p.workers[i].unpark()
	}
	last, returned := false, false
	defer func() {
		if !returned {
			p.abandon(&last) // a body ended this goroutine
		}
	}()
	for p.runOne(0, &last) {
	}
	returned = true
	if failed := p.finish(last); failed != nil {
		panic(failed)
	}
}

// finish waits for the chunks that other threads run, and releases the workers.
func (p *Pool) finish(last bool) *Panic {
	if !last {
		p.await()
	}
	failed := p.failed.Swap(nil)
	p.body = nil
	p.busy.Store(false)
	return failed
}

// abandon ends a loop whose calling goroutine is ending: it counts unclaimed chunks as finished without running them.
func (p *Pool) abandon(last *bool) {
	for i := range p.tickets {
		for {
			t := p.tickets[i].Load()
			next, end := t&0xffff, t>>16&0xffff
			if next >= end {
				break
			}
			if p.tickets[i].CompareAndSwap(t, t-next+end) {
				*last = p.pending.Add(-int64(end-next)) == 0
				break
			}
		}
	}
	p.finish(*last)
}

// await returns when the last chunk, run by a worker, has finished.
func (p *Pool) await() {
	finished := func() bool { return p.pending.Load() == 0 }
	if p.spins && p.spin(finished) {
		return
	}
	for !finished() {
		p.waiting.Store(true)
		// The last chunk may have finished before the store above.
		if finished() && p.waiting.CompareAndSwap(true, false) {
			return
		}
		<-p.done // or a token that the previous loop sent late
	}
}

// runOne claims and runs a chunk of the current loop, preferably of ticket own. It reports whether there was a chunk, and sets last if that
// was the last of the loop to finish.
func (p *Pool) runOne(own int, last *bool) bool {
	for i := range p.tickets {
		ticket := &p.tickets[(own+i)%len(p.tickets)]
		for {
			t := ticket.Load()
			next := t & 0xffff
			if next >= t>>16&0xffff {
				break
			}
			if ticket.CompareAndSwap(t, t+1) {
				p.runChunk(int(next), last)
				return true
			}
		}
	}
	return false
}

func (p *Pool) runChunk(i int, last *bool) {
	returned := false
	defer func() {
		if !returned {
			p.failed.CompareAndSwap(nil, caught(recover()))
		}
		*last = p.pending.Add(-1) == 0
	}()
	p.body(part(i, p.n, p.chunks))
	returned = true
}

// serve is the main loop of a worker.
func (p *Pool) serve(w *worker) {
	ended := false
	defer func() {
		if ended {
			p.exited.Done()
			return
		}
		// A body called runtime.Goexit: its chunk has been counted, the
		// goroutine is lost and another takes its place.
		go p.serve(w)
	}()
	for !p.closing.Load() {
		if p.work(w.number) || p.spins && p.spin(p.open) {
			continue
		}
		w.parked.Store(true)
		// A loop published before the store above did not see a parked worker.
		if p.open() || p.closing.Load() {
			if w.parked.CompareAndSwap(true, false) {
				continue
			}
		}
		<-w.wake
	}
	ended = true
}

// work runs chunks until all are claimed. It reports whether it ran any.
func (p *Pool) work(own int) bool {
	ran, last := false, false
	defer func() {
		if last && p.waiting.CompareAndSwap(true, false) {
			p.done <- struct{}{}
		}
	}()
	for p.runOne(own, &last) {
		ran = true
		if last {
			return true
		}
	}
	return ran
}

// spin waits for ready to become true, for a limited time, and reports whether it did.
func (p *Pool) spin(ready func() bool) bool {
	most := spinFree
	if p.brief.Load() {
		most = spinBrief
	}
	for held, free := 0, 0; ; {
		for range looks {
			if ready() {
				return true
			}
		}
		if p.held.Load() > 0 {
			held++
		} else {
			free++
		}
		if held > spinHeld || free > most {
			return false
		}
		runtime.Gosched()
	}
}

// open reports whether the current loop has an unclaimed chunk.
func (p *Pool) open() bool {
	for i := range p.tickets {
		if p.tickets[i].open() {
			return true
		}
	}
	return false
}

func (w *worker) unpark() {
	if w.parked.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

// part returns the bounds of part i of [0,n) divided into chunks.
func part(i, n, chunks int) (lo, hi int) {
	size, rest := n/chunks, n%chunks
	lo = i*size + min(i, rest)
	hi = lo + size
	if i < rest {
		hi++
	}
	return lo, hi
}
