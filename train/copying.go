package train

import (
	"fmt"

	"github.com/goburn/burn/tensor"
)

// Copier is a Loader that can make its batches on another stream of its device, as a data.Loader does. While a step computes,
// the batches that the loader makes ahead are copied to the device then.
type Copier interface {
	Device() *tensor.Device
	MakeOn(dev *tensor.Device) error
}

// copying is a loader whose batches are made on a stream of their own.
type copying struct {
	loader Copier
	own    *tensor.Device // what it had before
	stream *tensor.Device
}

// split gives the loaders streams of their own. What a step computes from their batches still runs where the model is.
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

// unite gives the loaders back what they had.
func (r *run[M, B]) unite() {
	for _, c := range r.copies {
		_ = c.loader.MakeOn(c.own) // no loop runs
		_ = c.stream.Close()       // a batch that failed has said so where it was used
	}
	r.copies = nil
}
