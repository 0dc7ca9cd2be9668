package cpu

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program/group"
	"github.com/goburn/burn/plugins/cpu/internal/contraction"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/requantize"
)

// epilogueBuilder collects the nodes of the epilogue of integer sums.
type epilogueBuilder struct {
	*builder
	desc     []op.Desc
	axis     int // the channel axis of the result
	epilogue requantize.Epilogue
	floats   bool // the sums are dequantized
}

// integerFusion collects the nodes that are fused to a product or convolution of bytes.
type integerFusion struct {
	epilogueBuilder
	n *op.Node
}

// integerFusion returns an integerFusion that begins with node i, a product or convolution of bytes.
func (b *builder) integerFusion(i int) *integerFusion {
	n := &b.nodes[i]
	s := &integerFusion{epilogueBuilder{builder: b, desc: n.Outputs, axis: len(n.Outputs[0].Shape) - 1}, n}
	if n.Op == op.ConvInteger {
		s.axis = 1
	}
	return s
}

// Take implements group.Taker.
func (s *integerFusion) Take(k int) (also []int, ok bool) {
	n := &s.nodes[k]
	if s.epilogue.Quantize || !s.takes(n) {
		return nil, false
	}
	s.desc = n.Outputs
	return nil, true
}

// unit returns the unit. It packs a constant weight.
func (s *integerFusion) unit(*group.Group) unit {
	n, in := s.n, s.inputs(s.n)
	var fusion contraction.IntegerFusion
	if s.floats {
		fusion.Epilogue = &s.epilogue
	}
	u := unit{node: n, inputs: n.Inputs, desc: s.desc}
	if w, zero, ok := s.byteWeight(n, in); ok {
		fusion.Weight, fusion.Zero = w, zero
		u.inputs = append([]op.TensorID{n.Inputs[0]}, n.Inputs[2:min(3, len(n.Inputs))]...)
	} else if !s.floats {
		return unit{}
	}
	kept := 0
	fusion.Keep = func(bytes int) { kept += bytes }
	if u.run = contraction.PrepareInteger(s.env, n, in, fusion); u.run != nil {
		s.packed += int64(kept)
	}
	return u
}

// byteWeight returns the second operand of n and its zero points. ok is false unless both are constants and PacksInteger reports true.
// zero is nil for a node without zero points of the second operand.
func (b *builder) byteWeight(n *op.Node, in []op.Desc) (w, zero *kernel.Array, ok bool) {
	a, ok := b.consts[n.Inputs[1]]
	if !ok || !contraction.PacksInteger(n, in) {
		return nil, nil, false
	}
	if len(n.Inputs) < 4 {
		return &a, nil, true
	}
	z, ok := b.consts[n.Inputs[3]]
	return &a, &z, ok
}

// takes adds node n, the only user of the result of s, to the epilogue. It reports false, and adds nothing, for nodes that
// do not fit.
func (s *epilogueBuilder) takes(n *op.Node) bool {
	switch n.Op {
	case op.Dequantize:
		return !s.floats && s.dequantizes(n)
	case op.Cast:
		if s.floats || n.Outputs[0].DType != dtype.F32 {
			return false
		}
		s.floats, s.epilogue.Scale = true, []float32{1}
		return true
	case op.Mul:
		v, ok := s.perChannel(n)
		if !ok || s.epilogue.Bias != nil || s.epilogue.Clamp || len(s.epilogue.Scale) != 1 || s.epilogue.Scale[0] != 1 {
			return false
		}
		s.epilogue.Scale = v
		return true
	case op.Add:
		v, ok := s.perChannel(n)
		if !ok || s.epilogue.Bias != nil || s.epilogue.Clamp {
			return false
		}
		s.epilogue.Bias = v
		return true
	case op.Relu:
		return s.clamp(0, math.Inf(1))
	case op.Clamp:
		return s.clamp(n.Attrs.Value("min").Float(), n.Attrs.Value("max").Float())
	case op.Quantize:
		return s.floats && n.Inputs[0] == s.desc[0].ID && s.quantizes(n)
	}
	return false
}

func (s *epilogueBuilder) clamp(lo, hi float64) bool {
	if !s.floats || s.epilogue.Clamp || !(lo <= hi) {
		return false
	}
	s.epilogue.Clamp, s.epilogue.Lo, s.epilogue.Hi = true, float32(lo), float32(hi)
	return true
}

// floats returns the elements of a constant of type f32.
func (b *builder) floats(id op.TensorID) ([]float32, bool) {
	a, ok := b.consts[id]
	if !ok || a.DType != dtype.F32 {
		return nil, false
	}
	v := make([]float32, a.Size())
	kernel.Read(b.env.Pool, kernel.Bytes(v), a)
	return v, len(v) > 0
}

// perChannel returns the constant that n combines with the result of s, if it has one element for all channels or one for each.
func (s *epilogueBuilder) perChannel(n *op.Node) ([]float32, bool) {
	y := s.desc[0]
	other := n.Inputs[0]
	if other == y.ID {
		other = n.Inputs[1]
	}
	if !s.floats || !n.Outputs[0].SameType(y) {
		return nil, false
	}
	v, ok := s.builder.floats(other)
	shape := s.descs[other].Shape
	at := s.axis - (len(y.Shape) - len(shape))
	if !ok || len(v) > 1 && (at < 0 || shape[at] != len(v) || len(v) != y.Shape[s.axis]) {
		return nil, false
	}
	return v, true
}

// dequantizes adds a dequantization to the epilogue and reports whether it did. Zero points must be constants equal to zero, and scales
// constants for the tensor or for each channel.
func (s *epilogueBuilder) dequantizes(n *op.Node) bool {
	axis := n.Attrs.Int("axis")
	if n.Attrs.Int("block") != 0 || axis != -1 && axis != s.axis {
		return false
	}
	v, ok := s.builder.floats(n.Inputs[1])
	zero, okZero := s.consts[n.Inputs[2]]
	if !ok || !okZero {
		return false
	}
	z := make([]int32, zero.Size())
	kernel.Read(s.env.Pool, kernel.Bytes(z), zero)
	for _, k := range z {
		if k != 0 {
			return false
		}
	}
	s.floats, s.epilogue.Scale = true, v
	return true
}

// quantizes adds a quantization to the epilogue and reports whether it did. It must convert to bytes with one constant scale and zero
// point.
func (s *epilogueBuilder) quantizes(n *op.Node) bool {
	to := n.Outputs[0].DType
	if n.Attrs.Int("axis") != -1 || n.Attrs.Int("bits") != 0 || to != dtype.U8 && to != dtype.I8 {
		return false
	}
	v, ok := s.builder.floats(n.Inputs[1])
	zero, okZero := s.consts[n.Inputs[2]]
	if !ok || !okZero {
		return false
	}
	z := make([]byte, 1)
	kernel.Read(s.env.Pool, z, zero)
	e := &s.epilogue
	e.Quantize, e.Step, e.Zero, e.Min, e.Max = true, v[0], float32(z[0]), 0, 255
	if to == dtype.I8 {
		e.Zero, e.Min, e.Max = float32(int8(z[0])), -128, 127
	}
	return true
}
