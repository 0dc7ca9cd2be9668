package serve

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/wire"
)

// queued bounds the frames of a stream that are held before the transport stops receiving.
const queued = 16

// turns schedules the work of a stream: frames to decode, and answers to wait for, each kind in order and by one goroutine at a time. The
// first worker does both: if there is nothing to decode, it waits for answers, because a backend may execute commands on the waiting
// goroutine. While it does work of one kind, a second worker does work of the other kind, if there is any.
type turns struct {
	mu        sync.Mutex    // guards the fields below
	changed   *sync.Cond    // a frame was decoded, or the stream is over
	inbox     []*wire.Frame // received frames that are not decoded
	due       []answer      // answers to wait for
	decoding  bool          // a worker decodes a frame
	answering bool          // a worker waits for an answer
	busy      bool          // the first worker is waiting for an answer
	helping   bool          // a second worker runs
	parked    bool          // the first worker waits for wake
	wake      chan struct{}
	held      bool  // the backend's stream delays commands until a caller waits for them
	ended     bool  // no more frames arrive
	err       error // error that ended the stream, or nil
}

// answer is a request that waits for an event or a read.
type answer struct {
	request uint64
	ticket  core.Ticket
	event   uint64       // number of the event of an await, else 0
	buffer  *wire.Buffer // buffer of a read
	segment *segment     // segment of a read through shared memory
	size    int
}

// work decodes and answers until there is no more work. The first worker then waits for more.
func (t *session) work(first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.err == nil {
		switch {
		case len(t.inbox) > 0 && !t.decoding:
			f := t.inbox[0]
			t.inbox = t.inbox[:copy(t.inbox, t.inbox[1:])]
			t.decoding = true
			if len(t.due) > 0 && !t.answering {
				t.help()
			}
			t.mu.Unlock()
			err := t.frame(f)
			f.Free()
			t.mu.Lock()
			t.decoding = false
			t.changed.Broadcast()
			t.over(err)
			if len(t.due) == 0 || t.answering {
				t.unhold()
			}
		case len(t.due) > 0 && !t.answering:
			a := t.due[0]
			t.due = t.due[:copy(t.due, t.due[1:])]
			t.answering, t.busy = true, first
			t.mu.Unlock()
			err := t.answer(&a)
			t.mu.Lock()
			t.answering, t.busy = false, false
			t.over(err)
			t.unhold()
		case !first:
			t.helping = false
			t.notify()
			return
		case t.ended && !t.decoding && !t.answering:
			return
		default:
			t.park()
		}
	}
	if !first {
		t.helping = false
		t.notify()
	}
}

// hold lets the backend delay the commands of a frame: if the same frame requests an answer, the goroutine that waits for the answer
// executes them.
func (t *session) hold() {
	if t.holder == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.answering {
		t.held = true
		t.holder.Hold()
	}
}

// unhold ends the effect of hold. The caller holds mu.
func (t *session) unhold() {
	if t.held {
		t.held = false
		t.holder.Unhold()
	}
}

// help starts the second worker, unless it runs. The caller holds mu.
func (t *session) help() {
	if !t.helping {
		t.helping = true
		t.helpers.Go(func() { t.work(false) })
	}
}

// notify ensures that a worker sees the new work. The caller holds mu.
func (t *session) notify() {
	switch {
	case t.parked:
		t.parked = false
		t.wake <- struct{}{}
	case t.busy && len(t.inbox) > 0 && !t.decoding && t.err == nil:
		t.help()
	}
}

// park waits until there is work. If the host sends frames in quick succession, park polls for the next frame, because waking a sleeping
// thread takes longer. The caller holds mu.
func (t *session) park() {
	t.parked = true
	t.mu.Unlock()
	if start := time.Now(); t.watches {
		err := t.fs.Watch(&t.pace, func() bool { return len(t.wake) > 0 }, func(f *wire.Frame) error { return t.arrived(f, false) })
		if err != nil {
			t.fail(err)
		}
		defer func() { t.pace.Note(time.Since(start)) }()
	}
	if len(t.wake) == 0 {
		t.fs.Sleep()
		defer t.fs.Wake()
	}
	<-t.wake
	t.mu.Lock()
}

// over ends the stream if err is not nil. The caller holds mu.
func (t *session) over(err error) {
	if err == nil || t.err != nil {
		return
	}
	t.err = err
	t.cancel()
	t.changed.Broadcast()
	t.notify()
}

// broken returns the error that ended the stream, nil for an orderly end.
func (t *session) broken() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// fail is like over, for callers that do not hold mu.
func (t *session) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over(err)
}

// enqueue appends a frame to the inbox. If patient is set, enqueue waits while the inbox is full.
func (t *session) enqueue(f *wire.Frame, patient bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for patient && len(t.inbox) >= queued && t.err == nil {
		t.changed.Wait()
	}
	t.inbox = append(t.inbox, f)
	t.notify()
}

// drained waits until all frames are decoded, or the stream is over and no goroutine decodes.
func (t *session) drained() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.decoding || t.err == nil && len(t.inbox) > 0 {
		t.changed.Wait()
	}
}

// answerLater begins a request that is answered asynchronously.
func (t *session) answerLater(a answer) error {
	if err := t.requests.begin(a.request); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due = append(t.due, a)
	return nil
}

// answer waits for the event or read of a request, and answers it. Once begun, only the end of the stream interrupts it, because the
// backend may be executing commands on this goroutine.
func (t *session) answer(a *answer) error {
	ctx := context.Background()
	if t.requests.canceled(a.request) {
		ctx = ended
	}
	err := t.reply(ctx, a)
	t.requests.end(a.request)
	return err
}

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (t *session) reply(ctx context.Context, a *answer) error {
	switch {
	case a.event > 0:
		return t.reached(ctx, a)
	case a.segment != nil:
		return t.filled(ctx, a)
	}
	return t.elements(ctx, a)
}

// leave waits for the workers and releases pending answers and frames. It is called once the stream has ended.
func (t *session) leave() {
	t.cancel()
	t.drained()
	t.closeInner()
	t.helpers.Wait()
	for i := range t.due {
		_ = t.guard("leave", func() error { return t.due[i].ticket.Wait(ended) }) // releases the tensor
		if b := t.due[i].buffer; b != nil {
			b.Free()
		}
	}
	for _, f := range t.inbox {
		f.Free()
	}
}

// requests contains the unanswered requests, and the requests that were canceled before they arrived.
type requests struct {
	mu     sync.Mutex
	latest uint64          // greatest number so far; the numbers of requests increase
	open   map[uint64]bool // whether the request is canceled, by number
}

// begin records a request.
func (q *requests) begin(request uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if request <= q.latest || len(q.open) >= wire.MaxRequests {
		return fmt.Errorf("stream: %w: request %d after %d, %d are open, at most %d", core.ErrProtocol, request, q.latest, len(q.open), wire.MaxRequests)
	}
	q.latest = request
	if q.open == nil {
		q.open = map[uint64]bool{}
	}
	q.open[request] = q.open[request]
	return nil
}

// end removes a request that is answered.
func (q *requests) end(request uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, request)
}

func (q *requests) canceled(request uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[request]
}

// cancel records that the host does not wait for a request any more.
func (q *requests) cancel(request uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, open := q.open[request]; !open && request <= q.latest {
		return nil // already answered
	}
	if len(q.open) >= wire.MaxRequests {
		return fmt.Errorf("stream: %w: %d requests are open or canceled before they came", core.ErrProtocol, len(q.open))
	}
	if q.open == nil {
		q.open = map[uint64]bool{}
	}
	q.open[request] = true
	return nil
}
