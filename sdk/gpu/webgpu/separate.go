package webgpu

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// doubles are buffers for copies of operands. The queue executes commands in order, so the next launch can use them again.
type doubles struct {
	buffer []Buffer // by number of the copy in a launch
	bytes  []int64
	ids    []uint32
}

// separate copies operands that overlap another binding of the launch, if the implementation refuses such bindings: in WGSL all bindings of
// kernels are writable. Such operands are a tensor that is bound twice, and parts of one tensor. A tensor that the kernel writes is never
// bound twice, as the target of the driver demands (template.Target.Apart). The caller holds the lock, and has called reserve.
func (q *queue) separate(k *ir.Kernel) error {
	access := make([]ir.Access, 0, len(q.bindings))
	for _, p := range k.Params {
		if p.IsBuffer() {
			access = append(access, p.Access)
		}
	}
	copies := 0
	for i := range q.bindings {
		for j := range i {
			if !overlap(q.bindings[i], q.bindings[j]) {
				continue
			}
			which := i
			if access[which] != ir.Read {
				which = j
			}
			if access[which] != ir.Read {
				return fmt.Errorf("two results of kernel %s overlap: %w", k.Name, core.ErrKernel)
			}
			if err := q.double(copies, which); err != nil {
				return err
			}
			copies++
			if which == i {
				break // the operand overlaps nothing any more
			}
		}
	}
	return nil
}

func overlap(a, b Binding) bool {
	return a.Buffer == b.Buffer && a.Offset < b.Offset+b.Size && b.Offset < a.Offset+a.Size
}

// double copies the bytes of a binding to a buffer of the driver, and binds that buffer. n is the number of the copy in the launch.
func (q *queue) double(n, which int) error {
	d, b := q.d, q.bindings[which]
	for n >= len(d.doubles.buffer) {
		d.doubles.buffer, d.doubles.bytes, d.doubles.ids = append(d.doubles.buffer, nil), append(d.doubles.bytes, 0), append(d.doubles.ids, 0)
	}
	if x := &d.doubles; x.bytes[n] < b.Size {
		made, err := d.calls.NewBuffer(b.Size, Storage)
		if err != nil {
			return sentinel(err)
		}
		if old := x.buffer[n]; old != nil {
			d.dropGroups()
			if err := d.flush(); err != nil { // submit the commands that use the buffer
				made.Destroy()
				return err
			}
			old.Destroy()
			if err := d.reserve(0, 0); err != nil {
				return err
			}
		}
		d.lastID++
		x.buffer[n], x.bytes[n], x.ids[n] = made, b.Size, d.lastID
	}
	d.commands++
	d.encoder.Copy(d.doubles.buffer[n], 0, b.Buffer, b.Offset, b.Size)
	q.bindings[which] = Binding{d.doubles.buffer[n], 0, b.Size}
	q.ids[which] = d.doubles.ids[n]
	return nil
}
