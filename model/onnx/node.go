package onnx

import (
	"math"

	"github.com/goburn/burn/model/onnx/pb"
)

// node is an ONNX node with its inputs resolved. Attributes that refer to the caller of a function are replaced by their values.
type node struct {
	pb      *pb.Node
	in      []value
	t       *tracer
	version int // version of the node's domain
}

// opset returns the version of the node's domain that the enclosing graph or function imports.
func (n *node) opset() int { return n.version }

// outputs returns the number of outputs that the node lists, without trailing empty names.
func (n *node) outputs() int {
	k := len(n.pb.Outputs)
	for k > 0 && n.pb.Outputs[k-1] == "" {
		k--
	}
	return k
}

// wants reports whether output i is named and so may be used.
func (n *node) wants(i int) bool { return i < len(n.pb.Outputs) && n.pb.Outputs[i] != "" }

// input returns input i, or the zero value if it is left out.
func (n *node) input(i int) value {
	if i < 0 || i >= len(n.in) {
		return value{}
	}
	return n.in[i]
}

func (n *node) has(attr string) bool { return n.pb.Attribute(attr) != nil }

// attr returns the attribute called name after checking its type, or nil if it is absent.
func (n *node) attr(name string, want pb.AttributeType) *pb.Attribute {
	a := n.pb.Attribute(name)
	if a == nil {
		return nil
	}
	if a.Type != want {
		n.t.fail("attribute %s is %v, want %v", name, a.Type, want)
	}
	return a
}

func (n *node) int(attr string, def int) int {
	a := n.attr(attr, pb.AttrInt)
	if a == nil {
		return def
	}
	return toInt(a.I)
}

func (n *node) float(attr string, def float64) float64 {
	a := n.attr(attr, pb.AttrFloat)
	if a == nil {
		return def
	}
	return float64(a.F)
}

func (n *node) str(attr, def string) string {
	a := n.attr(attr, pb.AttrString)
	if a == nil {
		return def
	}
	return string(a.S)
}

// ints returns a list attribute, or nil if it is absent; an empty list is not nil.
func (n *node) ints(attr string) []int {
	a := n.attr(attr, pb.AttrInts)
	if a == nil {
		return nil
	}
	out := make([]int, len(a.Ints))
	for i, v := range a.Ints {
		out[i] = toInt(v)
	}
	return out
}

// toInt saturates to int where int has 32 bits; indices beyond that mean "to the end" anyway.
func toInt(v int64) int { return int(max(math.MinInt, min(math.MaxInt, v))) }

func (n *node) floats(attr string) []float64 {
	a := n.attr(attr, pb.AttrFloats)
	if a == nil {
		return nil
	}
	out := make([]float64, len(a.Floats))
	for i, v := range a.Floats {
		out[i] = float64(v)
	}
	return out
}

func (n *node) strs(attr string) []string {
	a := n.attr(attr, pb.AttrStrings)
	if a == nil {
		return nil
	}
	out := make([]string, len(a.Strings))
	for i, v := range a.Strings {
		out[i] = string(v)
	}
	return out
}

func (n *node) tensorAttr(attr string) *pb.Tensor {
	if a := n.attr(attr, pb.AttrTensor); a != nil {
		return a.T
	}
	return nil
}

func (n *node) graph(attr string) *pb.Graph {
	if a := n.attr(attr, pb.AttrGraph); a != nil {
		return a.G
	}
	return nil
}
