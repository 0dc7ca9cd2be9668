// Package claims determines which of several devices support a node. A decorator that joins devices publishes the union of their capability
// documents, and asks for each node which devices support it; devices are asked each question once. This package must not choose among the
// devices.
package claims

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// Device is one of the devices.
type Device struct {
	Target    program.Target
	Caps      *core.Capabilities
	Selective bool // the device has core.Selective: its document is incomplete
}

// Set contains the claims of several devices. It is safe for concurrent use.
type Set struct {
	devices []Device
	uniform bool

	mu      sync.Mutex
	answers map[string]*Answer
	said    map[string]bool // classes that First was called for
}

// Answer holds the answers of the devices for a node.
type Answer struct {
	Refusals []error // by device: why it does not support the node, or nil
	Class    string  // class of similar nodes, with equal types and sizes rounded up to powers of two: "sort of f32 2^10"
}

// New returns the claims of at least one device.
func New(devices ...Device) *Set {
	s := &Set{devices: devices, uniform: true, answers: map[string]*Answer{}, said: map[string]bool{}}
	for _, d := range devices {
		c := devices[0].Caps
		if d.Selective || d.Caps.Types != c.Types || d.Caps.Limits != c.Limits || !reflect.DeepEqual(d.Caps.Ops, c.Ops) {
			s.uniform = false
		}
	}
	return s
}

// Uniform reports whether all devices claim the same, and their documents are complete.
func (s *Set) Uniform() bool { return s.uniform }

// Union returns a document that claims what any of the devices claims. If they claim an op in different versions, it contains the first
// device's version.
func (s *Set) Union() *core.Capabilities {
	u := *s.devices[0].Caps
	u.Ops, u.Features = maps.Clone(u.Ops), slices.Clone(u.Features)
	for _, m := range s.devices[1:] {
		c := m.Caps
		for name, claim := range c.Ops {
			has, ok := u.Ops[name]
			switch {
			case !ok:
				u.Ops[name] = claim
			case has.Version == claim.Version:
				u.Ops[name] = core.OpCapability{Version: has.Version, Operands: join(has.Operands, claim.Operands, u.Types, c.Types),
					Results: join(has.Results, claim.Results, u.Types, c.Types), Limits: wider(has.Limits, claim.Limits)}
			}
		}
		u.Types |= c.Types
		u.Emulated &= c.Emulated | ^c.Types // one device with native arithmetic is enough
		u.Flushes |= c.Flushes
		u.Limits = wider(u.Limits, c.Limits)
		u.Deterministic = u.Deterministic && c.Deterministic
		for _, f := range c.Features {
			if !slices.Contains(u.Features, f) {
				u.Features = append(u.Features, f)
			}
		}
	}
	return &u
}

// join returns, operand by operand, the types that a or b allows; empty lists allow all types of their device.
func join(a, b []dtype.Set, typesA, typesB dtype.Set) []dtype.Set {
	if len(a) == 0 && len(b) == 0 {
		return nil
	}
	at := func(sets []dtype.Set, all dtype.Set, i int) dtype.Set {
		if len(sets) == 0 {
			return all
		}
		return sets[min(i, len(sets)-1)]
	}
	u := make([]dtype.Set, max(len(a), len(b)))
	for i := range u {
		u[i] = at(a, typesA, i) | at(b, typesB, i)
	}
	return u
}

// wider returns the union of two limits.
func wider(a, b core.Limits) core.Limits {
	return core.Limits{Rank: greaterLimit(a.Rank, b.Rank), Bytes: greaterLimit(a.Bytes, b.Bytes), Elements: greaterLimit(a.Elements, b.Elements),
		Buffers: greaterLimit(a.Buffers, b.Buffers)}
}

// greaterLimit returns the greater of two limits. Zero is no limit.
func greaterLimit[T int | int64](a, b T) T {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// maxAnswers bounds the answers that are remembered.
const maxAnswers = 1 << 14

// Ask returns the devices' answers for a node with operands in. The answer is shared, and must not be changed.
func (s *Set) Ask(n *op.Node, in []op.Desc) *Answer {
	key := question(n, in)
	s.mu.Lock()
	a := s.answers[key]
	s.mu.Unlock()
	if a != nil {
		return a
	}
	a = &Answer{Refusals: make([]error, len(s.devices)), Class: n.Op.String() + " of " + class(in)}
	for i, d := range s.devices {
		a.Refusals[i] = d.Target.Supports(n, in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) >= maxAnswers {
		clear(s.answers)
	}
	s.answers[key] = a
	return a
}

// First reports whether this is the first call for the class of an answer, so that a message about all nodes of a class can be shown once.
func (s *Set) First(a *Answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said[a.Class]
	s.said[a.Class] = true
	return !said
}

// Has reports whether a device runs a node.
func (s *Set) Has(device int, n *op.Node, in []op.Desc) bool {
	d := s.devices[device]
	if s.uniform || !d.Selective && d.Caps.Check(n, in) == nil {
		return true
	}
	return s.Ask(n, in).Refusals[device] == nil
}

// question returns the key of an answer: everything that it may depend on, which is op, version, attributes, types and shapes.
func question(n *op.Node, in []op.Desc) string {
	b := binary.AppendUvarint(nil, uint64(n.Op))
	b = binary.AppendUvarint(b, uint64(n.Version))
	for _, list := range [2][]op.Desc{in, n.Outputs} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, d := range list {
			b = append(b, byte(d.DType), byte(len(d.Shape)))
			for _, k := range d.Shape {
				b = binary.AppendUvarint(b, uint64(k))
			}
		}
	}
	if len(n.Attrs) > 0 {
		b = append(b, n.Attrs.String()...)
	}
	return string(b)
}

// class returns the types and the rounded sizes of operands, as text.
func class(in []op.Desc) string {
	var parts []string
	for _, d := range in {
		parts = append(parts, fmt.Sprintf("%v 2^%d", d.DType, bits.Len(uint(max(d.Shape.Size(), 1)-1))))
	}
	if len(parts) == 0 {
		return "no operands"
	}
	return strings.Join(parts, ", ")
}
