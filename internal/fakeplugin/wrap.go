package fakeplugin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
)

// wrap adds to a backend the faults that the engine would hide.
func wrap(b core.Backend, opts map[string]string) core.Backend {
	if opts["plain"] == "" && opts["panic_submit"] == "" && opts["selective"] == "" {
		return b
	}
	return outer{b, opts}
}

type outer struct {
	core.Backend
	opts map[string]string
}

// Open opens a device.
func (b outer) Open(ctx context.Context, index int) (core.Device, error) {
	d, err := b.Backend.Open(ctx, index)
	return outerDevice{d, b.opts}, err
}

type outerDevice struct {
	core.Device
	opts map[string]string
}

// OpenStream opens a stream that panics if configured to.
func (d outerDevice) OpenStream(ctx context.Context) (core.Stream, error) {
	s, err := d.Device.OpenStream(ctx)
	if at, _ := strconv.Atoi(d.opts["panic_submit"]); at > 0 && err == nil {
		return &outerStream{Stream: s, panicAt: at}, nil
	}
	return s, err
}

// Extend offers no extensions at all, or Selective in addition to the others.
func (d outerDevice) Extend(target any) bool {
	if d.opts["selective"] == "" {
		return false
	}
	if t, ok := target.(*core.Selective); ok {
		*t = d
		return true
	}
	return d.Device.Extend(target)
}

// Supports refuses neg of rank 5.
func (d outerDevice) Supports(n *op.Node, in []op.Desc) error {
	if n.Op == op.Neg && len(in[0].Shape) == 5 {
		return fmt.Errorf("neg of rank 5: %w", core.ErrUnsupported)
	}
	return nil
}

type outerStream struct {
	core.Stream
	panicAt, submitted int
}

// Submit panics at the configured call.
func (s *outerStream) Submit(nodes []op.Node, free []op.TensorID) error {
	if len(nodes) > 0 {
		if s.submitted++; s.submitted == s.panicAt {
			panic("submit fell over")
		}
	}
	return s.Stream.Submit(nodes, free)
}
