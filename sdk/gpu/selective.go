package gpu

import (
	"fmt"
	"slices"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/sdk/gpu/lower"
)

// selective implements core.Selective for a device whose tensors have a largest size: the capability document cannot say how large the
// intermediate tensors of a decomposed node are.
type selective struct {
	d *device

	mu      sync.Mutex // guards the fields below
	answers map[string]error
	key     []byte
}

// maxAnswers is the greatest number of answers that are kept.
const maxAnswers = 1 << 14

var _ core.Selective = (*selective)(nil)

// Supports implements core.Selective.
func (s *selective) Supports(n *op.Node, in []op.Desc) error {
	if lower.Native(n.Op) && s.d.kernel.Supports(n, in) == nil {
		return nil // the capability document covers it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = op.AppendKey(s.key[:0], n, in)
	err, known := s.answers[string(s.key)]
	if !known {
		err = s.ask(n, in)
		if s.answers == nil || len(s.answers) >= maxAnswers {
			s.answers = map[string]error{}
		}
		s.answers[string(s.key)] = err
	}
	return err
}

// ask returns nil if the device can compute a node. A node with intermediate tensors that are too large is planned, because they may turn
// out to need no memory.
func (s *selective) ask(n *op.Node, in []op.Desc) error {
	p, err := s.d.alone(n, in)
	if err != nil {
		return err
	}
	most := s.d.target.Bytes
	large := func(x op.Desc) bool { return int64(x.Bytes()) > most }
	if !slices.ContainsFunc(p.Nodes, func(n op.Node) bool { return slices.ContainsFunc(n.Outputs, large) }) {
		return nil
	}
	b, groups := s.d.planner(p, nil, false)
	if err := b.batches(groups); err != nil {
		return unwrapped(err)
	}
	return b.large()
}

// large returns an error that wraps ErrUnsupported if a step uses a buffer that is larger than the hardware binds.
func (b *builder) large() (err error) {
	most := b.d.target.Bytes
	for i := range b.steps {
		b.steps[i].each(func(a *arg) {
			if a.buffer == none || most == 0 || err != nil {
				return
			}
			if n := b.buffers[a.buffer].bytes; n > most {
				err = nodeError(b.steps[i].node, fmt.Errorf("a tensor of %d bytes, and a buffer has at most %d: %w", n, most, core.ErrUnsupported))
			}
		})
	}
	return err
}
