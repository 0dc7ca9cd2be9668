package streams

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// Queue is a stream.
type Queue struct {
	device *GPU
	stream Stream
	packer
	last string // the work that was started last, for the error of a fault that is seen later
}

var _ gpu.Queue = (*Queue)(nil)

// OpenQueue implements gpu.Device.
func (d *GPU) OpenQueue() (gpu.Queue, error) {
	q, err := d.openQueue()
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (d *GPU) openQueue() (*Queue, error) {
	q := &Queue{device: d, last: "nothing"}
	err := d.Do("stream", func() (err error) {
		q.stream, err = d.calls.NewStream(0)
		return err
	})
	return q, err
}

// packer holds memory for arguments, which each launch or graph node copies. One goroutine uses it at a time.
type packer struct{ args []*Args } // of plain kernels, by the number of arguments

// pack puts the arguments of a launch into memory.
func (p *packer) pack(l *gpu.Launch) (*Args, error) {
	f, n := l.Function.(*function), len(l.Args)
	if members := f.kernel.Members; n != len(f.buffer) || len(l.Starts) != members {
		return nil, fmt.Errorf("kernel %s: %d arguments, want %d of %d members: %w", f.kernel.Name, n, len(f.buffer), members, core.ErrKernel)
	}
	if f.kernel.Members > 0 {
		return packMembers(f, l), nil
	}
	for len(p.args) <= n {
		p.args = append(p.args, NewArgs(len(p.args)))
	}
	a := p.args[n]
	for i := range l.Args {
		if f.buffer[i] {
			a.SetPtr(i, Address(l.Args[i].Ref))
		} else {
			a.SetBits(i, l.Args[i].Bits)
		}
	}
	return a, nil
}

// packMembers returns the arguments of a batched kernel. A parameter with Each set becomes an array with one element for each
// member. The last argument is an array of the first block of each member, followed by the number of all blocks.
func packMembers(f *function, l *gpu.Launch) *Args {
	k := f.kernel
	var bytes []int
	size := func(p ir.Param) int {
		if p.IsBuffer() {
			return 8
		}
		return p.Type.Size()
	}
	for _, p := range k.Params {
		n := size(p)
		if p.Each {
			n *= k.Members
		}
		bytes = append(bytes, n)
	}
	a := NewArrays(append(bytes, 4*(k.Members+1))...)
	at := 0
	for i, p := range k.Params {
		n := 1
		if p.Each {
			n = k.Members
		}
		for m := range n {
			bits := l.Args[at].Bits
			if p.IsBuffer() {
				bits = uint64(Address(l.Args[at].Ref))
			}
			a.SetElement(i, m, size(p), bits)
			at++
		}
	}
	for m, start := range l.Starts {
		a.SetElement(len(k.Params), m, 4, uint64(start))
	}
	a.SetElement(len(k.Params), k.Members, 4, uint64(l.Grid[0]))
	return a
}

func dim(g [3]int) Dim { return Dim{X: uint32(g[0]), Y: uint32(g[1]), Z: uint32(g[2])} }

// Launch implements gpu.Queue.
func (q *Queue) Launch(l *gpu.Launch) error {
	f, d := l.Function.(*function), q.device
	a, err := q.pack(l)
	if err != nil {
		return err
	}
	if err = d.Enter(); err == nil {
		err = d.calls.Launch(q.stream, f.f, dim(l.Grid), f.block, f.shared, a)
		Leave()
	}
	runtime.KeepAlive(a)
	if err != nil {
		return q.failed("launch of kernel "+f.kernel.Name, err)
	}
	q.last = "kernel " + f.kernel.Name
	return nil
}

// Stream returns the stream of the queue, for calls of libraries.
func (q *Queue) Stream() Stream { return q.stream }

// Call calls start with the context current. start starts work of a library on the stream. name identifies the work in an error of start,
// and short in the error of a later fault.
func (q *Queue) Call(name, short string, start func(s Stream) error) error {
	err := q.device.Enter()
	if err == nil {
		err = start(q.stream)
		Leave()
	}
	if err != nil {
		return q.failed(name, err)
	}
	q.last = short
	return nil
}

// failed returns the error of a command that was not started.
func (q *Queue) failed(what string, err error) error {
	return Named(q.device.name, what, suspect(q.last, err))
}

// Copy implements gpu.Queue.
func (q *Queue) Copy(dst, src gpu.Ref, bytes int64) error {
	d := q.device
	err := d.Enter()
	if err == nil {
		err = d.calls.Copy(Address(dst), Address(src), uint64(bytes), q.stream)
		Leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("copy of %d bytes", bytes), err)
	}
	q.last = "a copy"
	return nil
}

// Fill implements gpu.Queue.
func (q *Queue) Fill(dst gpu.Ref, bytes int64, pattern uint32, width int) error {
	d := q.device
	err := d.Enter()
	if err == nil {
		switch at, n := Address(dst), uint64(bytes)/uint64(width); width {
		case 1:
			err = d.calls.Set8(at, uint8(pattern), n, q.stream)
		case 2:
			err = d.calls.Set16(at, uint16(pattern), n, q.stream)
		default:
			err = d.calls.Set32(at, pattern, n, q.stream)
		}
		Leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("fill of %d bytes", bytes), err)
	}
	q.last = "a fill"
	return nil
}

// Upload implements gpu.Queue.
func (q *Queue) Upload(dst gpu.Ref, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	d := q.device
	err := d.Enter()
	if err == nil {
		err = d.calls.CopyToDevice(Address(dst), unsafe.Pointer(&src[0]), uint64(len(src)), q.stream)
		Leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("upload of %d bytes", len(src)), err)
	}
	return nil
}

// Download implements gpu.Queue.
func (q *Queue) Download(dst []byte, src gpu.Ref) error {
	if len(dst) == 0 {
		return nil
	}
	d := q.device
	err := d.Enter()
	if err == nil {
		err = d.calls.CopyToHost(unsafe.Pointer(&dst[0]), Address(src), uint64(len(dst)), q.stream)
		Leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("download of %d bytes", len(dst)), err)
	}
	return nil
}

// Synchronize implements gpu.Queue.
func (q *Queue) Synchronize() error {
	e, err := q.Record(false)
	if err != nil {
		return err
	}
	defer e.Release()
	return e.Wait()
}

// Close implements gpu.Queue.
func (q *Queue) Close() {
	_ = q.device.Do("close", func() error { return q.device.calls.DestroyStream(q.stream) })
}
