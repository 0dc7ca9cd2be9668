package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// queue is a stream.
type queue struct {
	device *device
	stream nv.Stream
	packer
	last string // what was started last, for the error of a fault that is seen later
}

var _ gpu.Queue = (*queue)(nil)

// OpenQueue implements gpu.Device.
func (d *device) OpenQueue() (gpu.Queue, error) {
	q, err := d.openQueue()
	if err != nil {
		return nil, err
	}
	return q, nil
}

func (d *device) openQueue() (*queue, error) {
	q := &queue{device: d, last: "nothing"}
	err := d.do("stream", func() (err error) {
		q.stream, err = d.cuda.NewStream(0)
		return err
	})
	return q, err
}

// packer is memory for arguments, which are copied by what they are given to. One goroutine uses it at a time.
type packer struct{ args []*nv.Args } // of plain kernels, by their number

// pack puts the arguments of a launch into memory.
func (p *packer) pack(l *gpu.Launch) (*nv.Args, error) {
	f, n := l.Function.(*function), len(l.Args)
	if members := f.kernel.Members; n != len(f.buffer) || len(l.Starts) != members {
		return nil, fmt.Errorf("cuda: kernel %s: %d arguments, want %d of %d members: %w", f.kernel.Name, n, len(f.buffer), members, core.ErrKernel)
	}
	if f.kernel.Members > 0 {
		return packMembers(f, l), nil
	}
	for len(p.args) <= n {
		p.args = append(p.args, nv.NewArgs(len(p.args)))
	}
	a := p.args[n]
	for i := range l.Args {
		if f.buffer[i] {
			a.SetPtr(i, address(l.Args[i].Ref))
		} else {
			a.SetBits(i, l.Args[i].Bits)
		}
	}
	return a, nil
}

// packMembers returns the arguments of a batched kernel: an array for each parameter that members have each, and last where the members
// start, and end.
func packMembers(f *function, l *gpu.Launch) *nv.Args {
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
	a := nv.NewArrays(append(bytes, 4*(k.Members+1))...)
	at := 0
	for i, p := range k.Params {
		n := 1
		if p.Each {
			n = k.Members
		}
		for m := range n {
			bits := l.Args[at].Bits
			if p.IsBuffer() {
				bits = uint64(address(l.Args[at].Ref))
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

func dim(g [3]int) nv.Dim { return nv.Dim{X: uint32(g[0]), Y: uint32(g[1]), Z: uint32(g[2])} }

// Launch implements gpu.Queue.
func (q *queue) Launch(l *gpu.Launch) error {
	f, d := l.Function.(*function), q.device
	a, err := q.pack(l)
	if err != nil {
		return err
	}
	if err = d.enter(); err == nil {
		err = d.cuda.Launch(q.stream, f.f, dim(l.Grid), f.block, f.shared, a)
		leave()
	}
	runtime.KeepAlive(a)
	if err != nil {
		return q.failed("launch of kernel "+f.kernel.Name, err)
	}
	q.last = "kernel " + f.kernel.Name
	return nil
}

// failed returns the error of a command that was not started.
func (q *queue) failed(what string, err error) error {
	return named(what, suspect(q.last, err))
}

// suspect says of a fault which work came last before it was seen.
func suspect(last string, err error) error {
	if errors.Is(err, nv.ErrFault) {
		return fmt.Errorf("a fault in %s or what was started before it: %w", last, err)
	}
	return err
}

// Copy implements gpu.Queue.
func (q *queue) Copy(dst, src gpu.Ref, bytes int64) error {
	d := q.device
	err := d.enter()
	if err == nil {
		err = d.cuda.Copy(address(dst), address(src), uint64(bytes), q.stream)
		leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("copy of %d bytes", bytes), err)
	}
	q.last = "a copy"
	return nil
}

// Fill implements gpu.Queue.
func (q *queue) Fill(dst gpu.Ref, bytes int64, pattern uint32, width int) error {
	d := q.device
	err := d.enter()
	if err == nil {
		switch at, n := address(dst), uint64(bytes)/uint64(width); width {
		case 1:
			err = d.cuda.Set8(at, uint8(pattern), n, q.stream)
		case 2:
			err = d.cuda.Set16(at, uint16(pattern), n, q.stream)
		default:
			err = d.cuda.Set32(at, pattern, n, q.stream)
		}
		leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("fill of %d bytes", bytes), err)
	}
	q.last = "a fill"
	return nil
}

// Upload implements gpu.Queue.
func (q *queue) Upload(dst gpu.Ref, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	d := q.device
	err := d.enter()
	if err == nil {
		err = d.cuda.CopyToDevice(address(dst), unsafe.Pointer(&src[0]), uint64(len(src)), q.stream)
		leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("upload of %d bytes", len(src)), err)
	}
	return nil
}

// Download implements gpu.Queue.
func (q *queue) Download(dst []byte, src gpu.Ref) error {
	if len(dst) == 0 {
		return nil
	}
	d := q.device
	err := d.enter()
	if err == nil {
		err = d.cuda.CopyToHost(unsafe.Pointer(&dst[0]), address(src), uint64(len(dst)), q.stream)
		leave()
	}
	if err != nil {
		return q.failed(fmt.Sprintf("download of %d bytes", len(dst)), err)
	}
	return nil
}

// Synchronize implements gpu.Queue.
func (q *queue) Synchronize() error {
	e, err := q.Record(false)
	if err != nil {
		return err
	}
	defer e.Release()
	return e.Wait()
}

// Close implements gpu.Queue.
func (q *queue) Close() {
	_ = q.device.do("close", func() error { return q.device.cuda.DestroyStream(q.stream) })
}
