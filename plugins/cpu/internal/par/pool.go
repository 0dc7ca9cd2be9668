// Package par runs loops over index ranges on a fixed set of worker
// goroutines that live as long as the pool, so that a kernel which takes tens
// of microseconds can be split without paying for new goroutines.
package par

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	// perThread is the number of chunks per thread that a range is cut into:
	// enough that a thread which is late or slow leaves its share to the
	// others.
	perThread = 4
	// maxThreads keeps a chunk number within the sixteen bits of a ticket.
	maxThreads = 1 << 12
	// looks is the number of times that a thread that has nothing to do looks
	// for work before it offers its processor to other goroutines, some ten
	// microseconds. An offer takes a lock of the scheduler and may wake a
	// thread that finds nothing.
	looks = 1 << 13
	// spinHeld and spinFree are after how many offers it parks, while the pool
	// is held and otherwise: waking costs more than what lies between two loops
	// of a program, or between two programs of a caller that is in a hurry.
	// spinBrief is spinFree where the processor may be wanted by the process
	// that waits for the result.
	spinHeld  = 100
	spinFree  = 16
	spinBrief = 3
)

// Pool is a set of parked workers. All methods may be called from any number
// of goroutines at once. A Pool must be closed to let its workers go.
type Pool struct {
	threads int
	spins   bool        // idle threads spin before they park
	brief   atomic.Bool // for a short time, when the pool is not held
	workers []*worker

	// busy is held by the one For that the workers serve, and for good by
	// Close. body, n and chunks belong to its holder and may be read by whoever
	// has claimed a chunk of the current ticket.
	busy   atomic.Bool
	body   func(lo, hi int)
	n      int
	chunks int

	// tickets assign the chunks of the current loop to threads, a run of chunks
	// each. A thread begins with the ticket of its own number, which covers the
	// same part of the range in every loop: it likely reads what it wrote in
	// the loop before, from its cache.
	tickets []ticket
	pending atomic.Int64  // chunks of the current loop that have not finished
	waiting atomic.Bool   // the caller sleeps until no chunk is pending
	done    chan struct{} // holds at most one token; a token is owed only to a caller seen waiting
	failed  atomic.Pointer[Panic]
	held    atomic.Int32 // calls of Hold less those of Release

	closing atomic.Bool
	closed  sync.Once
	exited  sync.WaitGroup
}

// ticket is generation<<32 | end<<16 | next unclaimed chunk. Claiming by
// compare-and-swap on the whole word means that a late worker can never take a
// chunk of a loop other than the one it looked at. Each ticket has cache lines
// of its own.
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
	wake   chan struct{} // holds at most one token; a token is owed only to a worker seen parked
}

// New returns a pool which runs loops on threads threads, the caller's
// included; threads <= 0 means GOMAXPROCS.
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

// Alone returns a pool without workers that cuts ranges as p does: its loops run on their callers, part by part. It need
// not be closed.
func (p *Pool) Alone() *Pool { return &Pool{threads: p.threads} }

// Threads returns how many threads a loop can run on, the caller's included.
func (p *Pool) Threads() int { return p.threads }

// Brief makes workers park soon when the pool is not held.
func (p *Pool) Brief() { p.brief.Store(true) }

// Hold says that loops will follow one another until Release is called as often: workers stay awake between them.
func (p *Pool) Hold() { p.held.Add(1) }

// Release ends what Hold began.
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

// Chunks returns into how many parts For cuts [0,n): it depends on n, grain
// and the pool's thread count only.
func (p *Pool) Chunks(n, grain int) int {
	if n <= 0 {
		return 0
	}
	if p.threads == 1 {
		return 1
	}
	return max(1, min(n/max(grain, 1), p.threads*perThread))
}

// For calls body on contiguous parts [lo,hi) that together cover [0,n) once,
// and returns when all calls have. No part is shorter than grain unless n is.
// The parts are the same for the same n, grain and thread count; which thread
// runs a part, and in what order, is not defined.
//
// The caller works too. While the workers are taken by another For, whether
// one on another goroutine or the one whose body is calling, the caller runs
// all parts itself, so that loops nest and never wait for each other. If a
// body panics the other parts still run; then For panics with a *Panic that
// holds the first value caught. For allocates nothing.
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

// finish waits for the chunks that others run and lets the workers go.
func (p *Pool) finish(last bool) *Panic {
	if !last {
		p.await()
	}
	failed := p.failed.Swap(nil)
	p.body = nil
	p.busy.Store(false)
	return failed
}

// abandon ends a loop whose caller is gone: chunks nobody has claimed are
// counted as finished without being run.
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
		<-p.done // or a late word of the loop before
	}
}

// runOne claims and runs a chunk of the current loop, of its own ticket's where
// there is one. It reports whether there was one, and sets last if it was the
// last of the loop to finish.
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

// serve is the life of one worker.
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

// work runs chunks until none is unclaimed and reports whether it ran any.
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

// spin reports whether ready became true before its patience ended.
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

// part returns the bounds of part i of [0,n) cut into chunks.
func part(i, n, chunks int) (lo, hi int) {
	size, rest := n/chunks, n%chunks
	lo = i*size + min(i, rest)
	hi = lo + size
	if i < rest {
		hi++
	}
	return lo, hi
}
