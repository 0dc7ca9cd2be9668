package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// hostMemory is core.HostMemory of a device.
type hostMemory[V any] struct{ d *device[V] }

// Adopt implements core.HostMemory. It uses data in place if the author's device is an Adopter that accepts it, and else copies it on the
// queue.
func (x hostMemory[V]) Adopt(cs core.Stream, desc op.Desc, data []byte, release func()) error {
	s, err := x.d.stream(cs)
	if err != nil {
		return err
	}
	if err := s.checkWrite("adopt", desc, data); err != nil {
		return err
	}
	if err := x.d.use(); err != nil {
		return err
	}
	defer x.d.using.Done()
	desc.Shape = desc.Shape.Clone()
	if a, ok := x.d.author.(Adopter[V]); ok {
		var v V
		given := false // set if Adopt fails after the author has taken over data: release must not be called then
		err := guard(func() (err error) {
			v, err = a.Adopt(desc, data, func() {
				if !given {
					release()
				}
			})
			return err
		})
		switch {
		case err == nil:
			c, err := s.made(desc, v)
			if err != nil {
				given = true
				x.d.drop(c)
			}
			return err
		case !errors.Is(err, core.ErrUnsupported):
			return fmt.Errorf("%s: adopt %v: %w", x.d.backend.name(), desc, err)
		}
	}
	return s.enqueue(desc, data, release)
}

// View implements core.HostMemory.
func (x hostMemory[V]) View(ctx context.Context, cs core.Stream, id op.TensorID, use func(data []byte) error) error {
	s, err := x.d.stream(cs)
	if err != nil {
		return err
	}
	viewer, ok := x.d.author.(Viewer[V])
	if !ok {
		return fmt.Errorf("%s: view: %w", x.d.backend.name(), core.ErrUnsupported)
	}
	t := s.read(&ticket[V]{s: s, id: id, view: true})
	if err := t.reach(ctx); err != nil {
		return err
	}
	c, err := t.take()
	if err != nil {
		return err
	}
	defer t.leave(c)
	if t.fetch != nil {
		if _, err := t.settled(ctx, c); err != nil {
			return err
		}
	}
	data, ok := viewer.View(c.desc, c.value)
	if !ok {
		return fmt.Errorf("%s: view %v: the elements are not in row-major order: %w", x.d.backend.name(), id, core.ErrUnsupported)
	}
	return use(data)
}
