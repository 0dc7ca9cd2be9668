package engine

import (
	"errors"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// peers implements core.PeerCopy through host memory. An author with a better way implements core.PeerCopy with an Extender.
type peers[V any] struct{ d *device[V] }

// CopyFrom implements core.PeerCopy.
func (x peers[V]) CopyFrom(cs core.Stream, desc op.Desc, from core.Device, id op.TensorID) error {
	s, err := x.d.stream(cs)
	if err != nil {
		return err
	}
	src, ok := from.(*device[V])
	if !ok || src.backend != x.d.backend {
		return fmt.Errorf("%s: copy from a device of another backend: %w", x.d.backend.name(), core.ErrUnsupported)
	}
	desc.Shape = desc.Shape.Clone()
	return s.append(command{kind: doCall, on: &call{do: func() {
		s.produce("copy", []op.Desc{desc}, func() ([][]byte, error) {
			if err := s.flush(); err != nil { // flush waits until the command that creates id is done
				return nil, err
			}
			return src.elements(id, desc)
		})
	}}})
}

// elements copies the elements of a tensor, which must have the type and shape of want, to the host.
func (d *device[V]) elements(id op.TensorID, want op.Desc) ([][]byte, error) {
	if err := d.use(); err != nil {
		return nil, err
	}
	defer d.using.Done()
	c, err := d.hold(id)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", id, err)
	}
	defer d.drop(c)
	if !c.desc.SameType(want) {
		return nil, fmt.Errorf("%v is %v, want %v: %w", id, c.desc, want, core.ErrShape)
	}
	data := make([]byte, c.desc.Bytes())
	if err := d.download(data, c); err != nil {
		return nil, err
	}
	return [][]byte{data}, nil
}

// download copies the elements of a cell to the host and waits for them.
func (d *device[V]) download(dst []byte, c *cell[V]) error {
	return guard(func() error {
		q, err := d.author.OpenQueue()
		if err != nil {
			return err
		}
		defer q.Close()
		a, ok := q.(Asynchronous[V])
		if !ok {
			return d.author.Download(dst, c.desc, c.value)
		}
		if err := a.Fetch(dst, c.desc, c.value); err != nil {
			return err
		}
		m, err := a.Record()
		if err != nil {
			return err
		}
		return m.Wait()
	})
}

// produce creates tensors from the elements that get returns for each, within the executing command. A failure poisons all of them.
// The failure of a node on another device is passed on unchanged.
func (s *stream[V]) produce(what string, outs []op.Desc, get func() ([][]byte, error)) {
	data, err := get()
	values := make([]V, len(outs))
	for i := range outs {
		if err != nil {
			break
		}
		if s.async != nil {
			values[i], err = s.async.Enqueue(outs[i], data[i], func() {})
		} else {
			values[i], err = s.upload(outs[i], data[i])
		}
		if err != nil {
			for _, v := range values[:i] {
				s.dev.author.Release(v)
			}
		}
	}
	if err != nil {
		if n := (*core.NodeError)(nil); errors.As(err, &n) {
			err = n
		} else {
			err = &core.NodeError{Op: what, Outputs: outs, Err: err}
		}
		s.fail(err)
	}
	s.enter()
	for i := range outs {
		s.give(&outs[i], values[i], err, nil)
	}
}
