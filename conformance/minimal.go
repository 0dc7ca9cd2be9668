package conformance

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Minimal is a small node on which a case also fails.
type Minimal struct {
	Op     string         `json:"op"`
	Attrs  string         `json:"attrs,omitempty"`
	Inputs []MinimalInput `json:"inputs"`
	Reason string         `json:"reason"`
}

// MinimalInput is an operand with its values in row-major order. Values are omitted if the case draws them itself. A replay of the case
// draws the same values.
type MinimalInput struct {
	Type   string `json:"type"`
	Values string `json:"values,omitempty"`
}

// String returns the node, its inputs and the failure as text.
func (m *Minimal) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "smallest failing node: %s", m.Op)
	if m.Attrs != "" {
		fmt.Fprintf(&b, " %s", m.Attrs)
	}
	for i, in := range m.Inputs {
		fmt.Fprintf(&b, "\n  in %d %s %s", i, in.Type, in.Values)
	}
	fmt.Fprintf(&b, "\n  %s", m.Reason)
	return b.String()
}

func minimalOf(s spec, err error) *Minimal {
	m := &Minimal{Op: s.op.String(), Reason: err.Error()}
	if n, nerr := s.node(s.in); nerr == nil && len(n.Attrs) > 0 {
		m.Attrs = fmt.Sprint(n.Attrs)
	}
	for i, d := range s.in {
		in := MinimalInput{Type: d.String()}
		if s.fixed != nil {
			in.Values = valuesText(s.fixed[i])
		}
		m.Inputs = append(m.Inputs, in)
	}
	return m
}

// valuesText prints at most 64 elements, with enough digits that their exact values can be parsed.
func valuesText(t ref.Tensor) string {
	const most = 64
	var b strings.Builder
	b.WriteByte('[')
	for i := range t.Desc.Shape.Size() {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i == most {
			fmt.Fprintf(&b, "... %d more", t.Desc.Shape.Size()-most)
			break
		}
		switch {
		case t.Desc.DType.IsFloat():
			b.WriteString(strconv.FormatFloat(t.F[i], 'g', -1, 64))
		case t.Desc.DType == dtype.U64:
			b.WriteString(strconv.FormatUint(uint64(t.I[i]), 10))
		default:
			b.WriteString(strconv.FormatInt(t.I[i], 10))
		}
	}
	b.WriteByte(']')
	return b.String()
}

// with returns the spec with the operands ts.
func (s spec) with(ts []ref.Tensor) spec {
	s.fixed = ts
	s.in = make([]op.Desc, len(ts))
	for i, t := range ts {
		s.in[i] = op.Desc{DType: t.Desc.DType, Shape: t.Desc.Shape}
	}
	return s
}
