package tensor

import (
	"errors"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
)

// scope owns the tensors that are created in it.
type scope struct {
	parent *scope
	depth  int
	mute   bool        // whether ops in it are not recorded for gradients
	narrow dtype.DType // narrow type of Autocast; Invalid means that ops compute in the types of their operands

	mu   sync.Mutex
	made map[*Tensor]struct{}
}

func (s *scope) add(t *Tensor) {
	s.mu.Lock()
	s.made[t] = struct{}{}
	s.mu.Unlock()
}

func deeper(a, b *scope) *scope {
	switch {
	case a == nil:
		return b
	case b == nil || a.depth >= b.depth:
		return a
	}
	return b
}

// Scope runs f with a view of d. The tensors that are created on the view, and all tensors computed from them, are released when
// f returns or panics. The tensors that f returns are kept: they belong to the enclosing scope, or to the caller. Tensors from
// outside are not affected. Scopes can be nested, and several goroutines may run separate scopes concurrently.
func Scope(d *Device, f func(d *Device) []*Tensor) []*Tensor {
	return scoped(d, d.scope != nil && d.scope.mute, d.narrow(), f)
}

// narrow returns the type of the enclosing Autocast, Invalid if there is none.
func (d *Device) narrow() dtype.DType {
	if d.scope == nil {
		return dtype.Invalid
	}
	return d.scope.narrow
}

func scoped(d *Device, mute bool, narrow dtype.DType, f func(d *Device) []*Tensor) []*Tensor {
	s := &scope{parent: d.scope, depth: 1, mute: mute, narrow: narrow, made: map[*Tensor]struct{}{}}
	if d.scope != nil {
		s.depth = d.scope.depth + 1
	}
	var kept []*Tensor
	defer func() {
		for _, t := range kept {
			if _, mine := s.made[t]; mine {
				delete(s.made, t)
				t.scope = s.parent
				if s.parent != nil {
					s.parent.add(t)
				}
			}
		}
		for t := range s.made {
			t.Release()
		}
	}()
	kept = f(&Device{queue: d.queue, scope: s})
	return kept
}

func unsupported(err error) bool { return errors.Is(err, core.ErrUnsupported) }

// Keep removes t from its scope: t then exists until it is released or unreachable. Keep returns t.
func (t *Tensor) Keep() *Tensor {
	if s := t.scope; s != nil {
		s.mu.Lock()
		delete(s.made, t)
		s.mu.Unlock()
		t.scope = nil
	}
	return t
}
