package cuda

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
)

// queue is a stream.
type queue struct {
	device *device
	stream nv.Stream
	args   []*nv.Args // by their number
	last   string     // what was started last, for the error of a fault that is seen later
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

// launchArgs puts the arguments of a launch into an Args of the queue's.
func (q *queue) launchArgs(f *function, args []gpu.Arg) (*nv.Args, error) {
	n := len(args)
	if n != len(f.buffer) {
		return nil, fmt.Errorf("cuda: kernel %s: %d arguments, want %d: %w", f.kernel.Name, n, len(f.buffer), core.ErrKernel)
	}
	for len(q.args) <= n {
		q.args = append(q.args, nv.NewArgs(len(q.args)))
	}
	a := q.args[n]
	fill(a, f, args)
	return a, nil
}

func fill(a *nv.Args, f *function, args []gpu.Arg) {
	for i := range args {
		if f.buffer[i] {
			a.SetPtr(i, address(args[i].Ref))
		} else {
			a.SetBits(i, args[i].Bits)
		}
	}
}

func dim(g [3]int) nv.Dim { return nv.Dim{X: uint32(g[0]), Y: uint32(g[1]), Z: uint32(g[2])} }

// Launch implements gpu.Queue.
func (q *queue) Launch(l *gpu.Launch) error {
	f, d := l.Function.(*function), q.device
	a, err := q.launchArgs(f, l.Args)
	if err != nil {
		return err
	}
	if err = d.enter(); err == nil {
		err = d.cuda.Launch(q.stream, f.f, dim(l.Grid), f.block, f.shared, a)
		leave()
	}
	if err != nil {
		return q.failed("launch of kernel "+f.kernel.Name, err)
	}
	q.last = "kernel " + f.kernel.Name
	return nil
}

// failed is the error of a command that was not started.
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
