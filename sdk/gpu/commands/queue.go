package commands

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
)

// queue implements gpu.Queue. Commands are added to the open work, which is committed when a caller waits for the work or the work has
// become large.
type queue struct {
	d        *Device
	calls    Queue
	event    Event
	number   uint64 // number of the newest work
	open     *work  // the work to which commands are added, nil if there are no commands
	flight   []*work
	progress time.Time // when a work last ended, or was committed to an idle queue
	scalars  []byte    // reused for the scalars of each launch
}

// OpenQueue implements gpu.Device.
func (d *Device) OpenQueue() (gpu.Queue, error) {
	c, err := d.o.Calls.NewQueue(2 * maxFlight)
	if err != nil {
		return nil, err
	}
	e, err := d.o.Calls.NewEvent()
	if err != nil {
		c.Release()
		return nil, err
	}
	return &queue{d: d, calls: c, event: e}, nil
}

// at returns the buffer of r, or an error if the buffer has fewer than n bytes from r on.
func (d *Device) at(r gpu.Ref, n int64) (Buffer, error) {
	m, ok := r.Memory.(*memory)
	if !ok || m.device != d || m.buffer == nil {
		return nil, fmt.Errorf("memory of another device, or that was freed: %w", core.ErrKernel)
	}
	if n < 0 || r.Offset < 0 || r.Offset > m.bytes-n {
		return nil, fmt.Errorf("%d bytes from %d on, of %d: %w", n, r.Offset, m.bytes, core.ErrKernel)
	}
	return m.buffer, nil
}

// Launch implements gpu.Queue.
func (q *queue) Launch(l *gpu.Launch) error {
	f, ok := l.Function.(*Function)
	if !ok || f.device != q.d || len(l.Args) != len(f.kernel.Params) || len(l.Starts) > 0 {
		return fmt.Errorf("a kernel of another device, or %d arguments of another: %w", len(l.Args), core.ErrKernel)
	}
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	if err := q.launch(f, l); err != nil {
		return fmt.Errorf("launch of kernel %s: %w", f.kernel.Name, err)
	}
	return nil
}

func (q *queue) launch(f *Function, l *gpu.Launch) error {
	var buffers [MostArguments]Buffer
	for i, p := range f.kernel.Params {
		if p.IsBuffer() {
			b, err := q.d.at(l.Args[i].Ref, 0)
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			buffers[f.places[i]] = b
		}
	}
	if slices.Contains(l.Grid[:], 0) {
		return q.d.fault.Keep(nil)
	}
	if err := q.reserve(); err != nil {
		return err
	}
	c := q.open.commands
	c.SetPipeline(f.pipeline)
	scalars := append(q.scalars[:0], make([]byte, f.bytes)...)
	for i, p := range f.kernel.Params {
		if at := f.places[i]; p.IsBuffer() {
			c.SetBuffer(at, buffers[at], l.Args[i].Ref.Offset)
		} else {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], l.Args[i].Bits)
			copy(scalars[at:], word[:p.Type.Size()])
		}
	}
	if q.scalars = scalars; f.bytes > 0 {
		c.SetBytes(f.buffers, scalars)
	}
	c.Dispatch(l.Grid, f.kernel.Threads)
	return nil
}

// Encode calls f with the open commands of a queue of this package and with the buffers of operands, for work that is not a kernel launch.
// f accesses only the memory of the operands.
func Encode(x gpu.Queue, args []gpu.Ref, f func(c Commands, buffers []Buffer) error) error {
	q, ok := x.(*queue)
	if !ok {
		return fmt.Errorf("a queue of another backend: %w", core.ErrAttr)
	}
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	buffers := make([]Buffer, len(args))
	for i, r := range args {
		b, err := q.d.at(r, 0)
		if err != nil {
			return err
		}
		buffers[i] = b
	}
	if err := q.reserve(); err != nil {
		return err
	}
	return f(q.open.commands, buffers)
}

// span is bytes of a buffer.
type span struct {
	buffer Buffer
	offset int64
}

// move copies n bytes, or fills them with the pattern if src has no buffer. The caller has called reserve.
func (q *queue) move(dst, src span, n int64, pattern uint32) {
	kind, each := CopyBytes, int64(1)
	if src.buffer == nil {
		if kind = FillBytes; (dst.offset|n)%4 == 0 {
			kind, each = FillWords, 4
		}
	} else if (dst.offset|src.offset|n)%16 == 0 {
		kind, each = CopyPieces, 16
	}
	count, c := n/each, q.open.commands
	c.SetPipeline(q.d.o.Moves[kind])
	c.SetBuffer(0, dst.buffer, dst.offset)
	if src.buffer != nil {
		c.SetBuffer(1, src.buffer, src.offset)
	} else {
		c.SetBytes(1, binary.LittleEndian.AppendUint32(nil, pattern))
	}
	c.SetBytes(2, binary.LittleEndian.AppendUint64(nil, uint64(count)))
	c.Dispatch([3]int{int(min((count+MoveThreads-1)/MoveThreads, moveGroups)), 1, 1}, MoveThreads)
}

// Copy implements gpu.Queue.
func (q *queue) Copy(dst, src gpu.Ref, bytes int64) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	to, err := q.d.at(dst, bytes)
	if err != nil {
		return err
	}
	from, err := q.d.at(src, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if err := q.reserve(); err != nil {
		return err
	}
	q.move(span{to, dst.Offset}, span{from, src.Offset}, bytes, 0)
	return nil
}

// Fill implements gpu.Queue.
func (q *queue) Fill(dst gpu.Ref, bytes int64, pattern uint32, width int) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	to, err := q.d.at(dst, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if err := q.reserve(); err != nil {
		return err
	}
	q.move(span{to, dst.Offset}, span{}, bytes, Word(pattern, width))
	return nil
}

// Upload implements gpu.Queue. If the queue is idle, the bytes are written at once, since the processor shares the memory.
func (q *queue) Upload(dst gpu.Ref, src []byte) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	n := int64(len(src))
	to, err := q.d.at(dst, n)
	if err != nil || n == 0 {
		return err
	}
	if q.d.fault.Keep(nil) == nil && q.idle() {
		copy(to.Contents()[dst.Offset:], src)
		return q.d.fault.Keep(nil)
	}
	from, pinned := q.d.pinned[unsafe.SliceData(src)]
	if err := q.reserve(); err != nil {
		return err
	}
	if !pinned {
		if from, err = q.stage(n, nil); err != nil {
			return err
		}
		copy(from.Contents(), src)
	}
	q.move(span{to, dst.Offset}, span{from, 0}, n, 0)
	return nil
}

// Download implements gpu.Queue.
func (q *queue) Download(dst []byte, src gpu.Ref) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	n := int64(len(dst))
	from, err := q.d.at(src, n)
	if err != nil || n == 0 {
		return err
	}
	if q.d.fault.Keep(nil) == nil && q.idle() {
		copy(dst, from.Contents()[src.Offset:])
		return q.d.fault.Keep(nil)
	}
	to, pinned := q.d.pinned[unsafe.SliceData(dst)]
	if err := q.reserve(); err != nil {
		return err
	}
	if !pinned {
		if to, err = q.stage(n, dst); err != nil {
			return err
		}
	}
	q.move(span{to, 0}, span{from, src.Offset}, n, 0)
	return nil
}

// event implements gpu.Event. It is reached when its work is done: the newest work at the time when the event was recorded.
type event struct {
	q     *queue
	work  *work // nil: all was done
	timed bool
}

// Record implements gpu.Queue. A timed event ends the open work, since the device measures the time of whole works.
func (q *queue) Record(timed bool) (gpu.Event, error) {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	if timed {
		if err := q.reserve(); err != nil {
			return nil, err
		}
		q.flush()
	}
	e := &event{q: q, work: q.open, timed: timed}
	if n := len(q.flight); e.work == nil && n > 0 {
		e.work = q.flight[n-1]
	}
	return e, q.d.fault.Keep(nil)
}

// Await implements gpu.Queue.
func (q *queue) Await(x gpu.Event) error {
	e, ok := x.(*event)
	if !ok {
		return fmt.Errorf("an event of another backend: %w", core.ErrAttr)
	}
	if e.work == nil || e.q == q {
		return nil
	}
	if e.q.d != q.d {
		_ = e.Wait() // a fault belongs to the other device
		return nil
	}
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	if e.q.open == e.work {
		e.q.flush()
	}
	if Finished(e.work.done) {
		return q.d.fault.Keep(nil)
	}
	if err := q.reserve(); err != nil {
		return err
	}
	q.open.commands.Await(e.q.event, e.work.number)
	return nil
}

// Synchronize implements gpu.Queue.
func (q *queue) Synchronize() error {
	e, err := q.Record(false)
	if err != nil {
		return err
	}
	return e.Wait()
}

// Close implements gpu.Queue.
func (q *queue) Close() {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	q.settle()
	q.event.Release()
	q.calls.Release()
}

// Done implements gpu.Event.
func (e *event) Done() (bool, error) {
	if e.work == nil {
		return true, nil
	}
	e.q.d.mu.Lock()
	defer e.q.d.mu.Unlock()
	if e.q.open == e.work {
		e.q.flush()
	}
	e.q.settle()
	return Finished(e.work.done), e.fault()
}

// fault returns the fault of the event's work, nil before the work is done.
func (e *event) fault() error {
	if !Finished(e.work.done) {
		return nil
	}
	return e.work.err
}

// Wait implements gpu.Event.
func (e *event) Wait() error {
	if e.work == nil {
		return nil
	}
	return e.work.wait()
}

// Since implements gpu.Event.
func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	x, ok := earlier.(*event)
	if !ok || x.q != e.q || !e.timed || !x.timed || !Finished(e.work.done) || !Finished(x.work.done) {
		return 0, fmt.Errorf("events that do not measure or were not reached, or of different queues: %w", core.ErrAttr)
	}
	return max(time.Duration((e.work.ended-x.work.ended)*float64(time.Second)), 0), nil
}

// Release implements gpu.Event.
func (e *event) Release() {}
