package router

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// unite returns a document that claims what any of the members claims. Of an op that they claim in different versions it has
// the first member's.
func unite(members []*member) *core.Capabilities {
	u := *members[0].caps
	u.Ops, u.Features = maps.Clone(u.Ops), slices.Clone(u.Features)
	for _, m := range members[1:] {
		c := m.caps
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
		u.Emulated &= c.Emulated | ^c.Types // arithmetic on one member is enough
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

// wider returns limits that hold where a or b does.
func wider(a, b core.Limits) core.Limits {
	return core.Limits{Rank: loosest(a.Rank, b.Rank), Bytes: loosest(a.Bytes, b.Bytes), Elements: loosest(a.Elements, b.Elements),
		Buffers: loosest(a.Buffers, b.Buffers)}
}

// loosest returns the greater of two limits. Zero is no limit.
func loosest[T int | int64](a, b T) T {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// uniform reports whether all members claim the same, and no member is selective.
func uniform(members []*member) bool {
	for _, m := range members {
		c := members[0].caps
		if m.selective || m.caps.Types != c.Types || m.caps.Limits != c.Limits || !reflect.DeepEqual(m.caps.Ops, c.Ops) {
			return false
		}
	}
	return true
}

// answer holds the members' answers for a node.
type answer struct {
	refusals []error // by member: why it does not run the node, nil where it does
	class    string
}

// mostAnswers bounds the answers that are remembered.
const mostAnswers = 1 << 14

// ask returns the members' answers for a node. It sends equal questions only once.
func (d *device) ask(n *op.Node, in []op.Desc) *answer {
	key := question(n, in)
	d.asking.Lock()
	a := d.answers[key]
	d.asking.Unlock()
	if a != nil {
		return a
	}
	a = &answer{refusals: make([]error, len(d.members)), class: n.Op.String() + " of " + class(in)}
	for i, m := range d.members {
		a.refusals[i] = m.target.Supports(n, in)
	}
	d.asking.Lock()
	defer d.asking.Unlock()
	if len(d.answers) >= mostAnswers {
		clear(d.answers)
	}
	d.answers[key] = a
	return a
}

// claims reports whether a member runs a node.
func (d *device) claims(m *member, n *op.Node, in []op.Desc) bool {
	if d.uniform || !m.selective && m.caps.Check(n, in) == nil {
		return true
	}
	return d.ask(n, in).refusals[m.index] == nil
}

// question returns a text with everything that an answer may depend on: op, version, attributes, types and shapes.
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

// class returns which types operands have, and how large they are.
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

// Supports implements core.Selective.
func (d *device) Supports(n *op.Node, in []op.Desc) error {
	if d.uniform || d.router.strict && !d.members[0].selective {
		return nil
	}
	if d.router.strict {
		return d.ask(n, in).refusals[0]
	}
	var refusal error
	for i, err := range d.ask(n, in).refusals {
		if err == nil && d.members[i].gone() == nil {
			return nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	if refusal == nil {
		return fmt.Errorf("router: %v: the member that has it is lost: %w", n.Op, core.ErrUnsupported)
	}
	return refusal
}
