package webgpu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/commands"
)

// queue implements gpu.Queue: its work joins the batch of the device, which executes in order.
type queue struct {
	d        *device
	bindings []Binding
	ids      []uint32
	words    []uint32
}

// OpenQueue implements gpu.Device.
func (d *device) OpenQueue() (gpu.Queue, error) { return &queue{d: d}, nil }

// maxGroups bounds the cached bindings of launches.
const maxGroups = 8192

// group returns bindings for launches. The bindings are cached until a buffer of the device is freed, or until too many are cached. The
// caller holds the lock.
func (d *device) group(p Pipeline, bindings []Binding, ids []uint32, uniform int) (Group, error) {
	key := binary.LittleEndian.AppendUint32(make([]byte, 0, 128), uint32(uniform))
	for i, b := range bindings {
		key = binary.LittleEndian.AppendUint32(key, ids[i])
		key = binary.LittleEndian.AppendUint64(key, uint64(b.Offset))
		key = binary.LittleEndian.AppendUint64(key, uint64(b.Size))
	}
	if g, ok := d.groups[string(key)]; ok {
		return g, nil
	}
	if len(d.groups) >= maxGroups {
		d.dropGroups()
	}
	if uniform > 0 {
		bindings = append(bindings, Binding{d.uniforms, 0, int64(uniform)})
	}
	g, err := d.calls.NewGroup(p, bindings)
	if err != nil {
		return nil, sentinel(err)
	}
	d.groups[string(key)] = g
	return g, nil
}

// at returns the memory of r, or an error if the memory has fewer than n bytes from r on. The caller holds the lock.
func at(r gpu.Ref, n int64) (*memory, error) {
	m, ok := r.Memory.(*memory)
	if !ok {
		return nil, errOtherMemory
	}
	if m.freed {
		return nil, fmt.Errorf("memory that was freed: %w", core.ErrClosed)
	}
	if n < 0 || r.Offset < 0 || r.Offset > m.bytes-n {
		return nil, fmt.Errorf("%d bytes from %d on, of %d: %w", n, r.Offset, m.bytes, core.ErrKernel)
	}
	return m, nil
}

// Launch implements gpu.Queue.
func (q *queue) Launch(l *gpu.Launch) error {
	f, ok := l.Function.(*function)
	if !ok || f.device != q.d {
		return fmt.Errorf("a kernel of another device: %w", core.ErrKernel)
	}
	if err := q.launch(f, l); err != nil {
		return fmt.Errorf("launch of kernel %s: %w", f.kernel.Name, err)
	}
	return nil
}

func (q *queue) launch(f *function, l *gpu.Launch) error {
	d := q.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(l.Starts) > 0 {
		return fmt.Errorf("%d starts, want none: starts are not supported: %w", len(l.Starts), core.ErrKernel)
	}
	if len(l.Args) != len(f.kernel.Params) {
		return fmt.Errorf("%d arguments, want %d: %w", len(l.Args), len(f.kernel.Params), core.ErrKernel)
	}
	var grid [3]uint32
	for i, n := range l.Grid {
		if n < 0 || n > d.limits.WorkgroupsPerAxis {
			return fmt.Errorf("grid %v, at most %d along an axis: %w", l.Grid, d.limits.WorkgroupsPerAxis, core.ErrUnsupported)
		}
		grid[i] = uint32(n)
	}
	q.bindings, q.ids, q.words = q.bindings[:0], q.ids[:0], q.words[:0]
	for i, p := range f.kernel.Params {
		a := &l.Args[i]
		if !p.IsBuffer() {
			q.words = append(q.words, uint32(a.Bits))
			continue
		}
		m, err := at(a.Ref, 0)
		if err == nil && (a.Ref.Offset == m.bytes || a.Ref.Offset%d.limits.StorageAlignment != 0) {
			err = fmt.Errorf("offset %d of %d bytes: %w", a.Ref.Offset, m.bytes, core.ErrKernel)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		size := m.bytes - a.Ref.Offset
		if !d.facts.Alias { // bind only the bytes that the kernel may use
			size = min(size, max(roundUp(a.Bytes, vectorBytes), vectorBytes))
		}
		q.bindings = append(q.bindings, Binding{m.buffer, a.Ref.Offset, min(size, d.limits.StorageBinding&^(vectorBytes-1))})
		q.ids = append(q.ids, m.id)
	}
	if slices.Contains(l.Grid[:], 0) {
		return nil
	}
	if err := d.reserve(int64(f.uniform), 0); err != nil {
		return err
	}
	if !d.facts.Alias {
		if err := q.separate(f.kernel); err != nil {
			return err
		}
	}
	g, err := d.group(f.pipeline.Pipeline, q.bindings, q.ids, f.uniform)
	if err != nil {
		return err
	}
	offset := uint32(0)
	if f.uniform > 0 {
		offset = d.uniform(q.words)
	}
	d.commands++
	d.encoder.Dispatch(f.pipeline.Pipeline, g, offset, f.uniform > 0, grid)
	return nil
}

// Copy implements gpu.Queue.
func (q *queue) Copy(dst, src gpu.Ref, bytes int64) error {
	d := q.d
	d.mu.Lock()
	defer d.mu.Unlock()
	to, err := at(dst, bytes)
	if err != nil {
		return err
	}
	from, err := at(src, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if to != from && (dst.Offset|src.Offset|bytes)%4 == 0 {
		if err := d.reserve(0, 0); err != nil {
			return err
		}
		d.commands++
		d.encoder.Copy(to.buffer, dst.Offset, from.buffer, src.Offset, bytes)
		return nil
	}
	p := from.regionAt(src.Offset)
	return d.move(to.regionAt(dst.Offset), &p, bytes, 0)
}

// Fill implements gpu.Queue.
func (q *queue) Fill(dst gpu.Ref, bytes int64, pattern uint32, width int) error {
	q.d.mu.Lock()
	defer q.d.mu.Unlock()
	m, err := at(dst, bytes)
	if err != nil || bytes == 0 {
		return err
	}
	if bytes%int64(width) != 0 || dst.Offset%int64(width) != 0 {
		return fmt.Errorf("fill of %d bytes from %d on with a pattern of %d: %w", bytes, dst.Offset, width, core.ErrKernel)
	}
	return q.d.move(m.regionAt(dst.Offset), nil, bytes, commands.Word(pattern, width))
}

// Upload implements gpu.Queue. src is read before it returns.
func (q *queue) Upload(dst gpu.Ref, src []byte) error {
	d, n := q.d, int64(len(src))
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := at(dst, n)
	if err != nil || n == 0 {
		return err
	}
	if n > stagingBytes && dst.Offset%4 == 0 { // too large for the batch: written after the recorded commands are submitted, the rest with the next batch
		whole := n &^ 3
		if err := d.flush(); err != nil {
			return err
		}
		if err := d.calls.Write(m.buffer, dst.Offset, src[:whole]); err != nil {
			return d.failed.Keep(err)
		}
		if err := d.reserve(0, 0); err != nil { // writes take effect at a submission
			return err
		}
		dst.Offset, src = dst.Offset+whole, src[whole:]
	}
	for len(src) > 0 {
		part := src[:min(len(src), stagingBytes)]
		k := int64(len(part))
		if err := d.reserve(16, k); err != nil {
			return err
		}
		from := region{d.staging, 0, stagingBytes, int64(len(d.staged))}
		d.staged = append(append(d.staged, part...), make([]byte, roundUp(k, 4)-k)...)
		if (dst.Offset|k)%4 == 0 {
			d.commands++
			d.encoder.Copy(m.buffer, dst.Offset, from.buffer, from.offset, k)
		} else if err := d.move(m.regionAt(dst.Offset), &from, k, 0); err != nil {
			return err
		}
		dst.Offset, src = dst.Offset+k, src[k:]
	}
	return nil
}

// Download implements gpu.Queue.
func (q *queue) Download(dst []byte, src gpu.Ref) error {
	d, n := q.d, int64(len(dst))
	d.mu.Lock()
	defer d.mu.Unlock()
	m, err := at(src, n)
	if err != nil || n == 0 {
		return err
	}
	start := src.Offset &^ 3
	bytes := roundUp(src.Offset+n, 4) - start
	if err := d.reserve(0, 0); err != nil {
		return err
	}
	b, size, err := d.readback(bytes)
	if err != nil {
		return sentinel(err)
	}
	d.commands++
	d.encoder.Copy(b, 0, m.buffer, start, bytes)
	d.work.fetches = append(d.work.fetches, &fetch{b, size, dst, src.Offset - start})
	return nil
}

// event implements gpu.Event. It belongs to the batch that was being recorded at the time of Record or, if no batch was being recorded, to
// the batch that was submitted last. It is reached when that batch is done.
type event struct {
	d     *device
	work  *work // nil if all work was done
	timed bool
	at    time.Time // time at which a timed event was reached
}

// Record implements gpu.Queue. A timed event waits for the work: it measures time on the host, including submission.
func (q *queue) Record(timed bool) (gpu.Event, error) {
	d := q.d
	d.mu.Lock()
	err := d.fault()
	e := &event{d: d, work: d.last(), timed: timed}
	d.mu.Unlock()
	if err == nil && timed {
		err = e.Wait()
		e.at = time.Now()
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Await implements gpu.Queue: commands of this device execute in order anyway; for an event of another device it waits.
func (q *queue) Await(x gpu.Event) error {
	e, ok := x.(*event)
	if !ok {
		return fmt.Errorf("an event of another backend: %w", core.ErrAttr)
	}
	if e.d != q.d {
		_ = e.Wait() // a fault belongs to the other device
	}
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
func (q *queue) Close() {}

// Done implements gpu.Event.
func (e *event) Done() (bool, error) {
	if e.work == nil {
		return true, nil
	}
	d := e.d
	d.mu.Lock()
	if e.work == d.work {
		_ = d.flush() // the event reports the fault of the work
	}
	d.mu.Unlock()
	d.calls.Poll()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settle()
	if !e.work.finished() {
		return false, nil
	}
	return true, e.work.err
}

// Wait implements gpu.Event.
func (e *event) Wait() error {
	if e.work == nil {
		return nil
	}
	return e.d.await(e.work)
}

// Since implements gpu.Event.
func (e *event) Since(earlier gpu.Event) (time.Duration, error) {
	x, ok := earlier.(*event)
	if !ok || x.d != e.d || !e.timed || !x.timed {
		return 0, fmt.Errorf("events that do not measure, or of different devices: %w", core.ErrAttr)
	}
	return e.at.Sub(x.at), nil
}

// Release implements gpu.Event.
func (e *event) Release() {}
