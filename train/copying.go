package train

import (
	"fmt"

	"github.com/goburn/burn/tensor"
)

// Copier is a Loader that can create its batches on another stream of its device, as a data.Loader does. It then copies the
// batches that it prefetches to the device while a step computes.
type Copier interface {
	Device() *tensor.Device
	MakeOn(dev *tensor.Device) error
}

// copying is a loader whose batches are created on a separate stream.
type copying struct {
	loader Copier
	own    *tensor.Device // previous device of the loader
	stream *tensor.Device
}

// split moves each loader that is a Copier to a separate stream. The steps that use the batches still run on the model's stream.
func (r *run[M, B]) split() error {
	give := func(l Loader[B], dev *tensor.Device) error {
		c, ok := l.(Copier)
		if !ok || c.Device() == nil || c.Device().Core() != dev.Core() {
			return nil
		}
		s, err := dev.NewStream(r.hard)
		if err != nil {
			return fmt.Errorf("train: a stream for batches: %w", err)
		}
		r.copies = append(r.copies, copying{c, c.Device(), s})
		return c.MakeOn(s)
	}
	if err := give(r.parts.Train, r.parts.Device); err != nil {
		return err
	}
	if r.parts.Valid != nil {
		if err := give(r.parts.Valid, r.parts.Device); err != nil {
			return err
		}
	}
	for i := range r.parts.Replicas {
		if p := &r.parts.Replicas[i]; p.Train != nil {
			if err := give(p.Train, p.Device); err != nil {
				return err
			}
		}
	}
	return nil
}

// unite moves the loaders back to their previous devices.
func (r *run[M, B]) unite() {
	for _, c := range r.copies {
		_ = c.loader.MakeOn(c.own) // no loop is running
		_ = c.stream.Close()       // if creating a batch failed, the step that used it has already reported the error
	}
	r.copies = nil
}
