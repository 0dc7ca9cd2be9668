package onnx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/model/onnx/pb"
	"github.com/goburn/burn/tensor"
)

// Support is the way in which a device executes an op.
type Support uint8

// The levels of support, best first.
const (
	Native     Support = iota // the backend supports it
	Decomposed                // executed as several ops that the backend supports
	Missing                   // not supported, not even decomposed
)

// String returns the name of the level.
func (s Support) String() string {
	return [...]string{"native", "by decomposition", "not supported"}[min(s, Missing)]
}

// Report lists the ops that a device would execute for a model, for inputs of certain shapes.
type Report struct {
	Inputs    []string // the inputs that were assumed, as "name: f32[1,3]"
	Ops       []OpUse  // contract ops, by decreasing count
	Operators []OperatorUse
	// Partial is the reason why the report ends before the model does, or nil if it is complete. The trace ends if control flow depends on
	// the result of an op that the device lacks, or if inputs of zeros are illegal for the model.
	Partial error

	ops   map[opUse]int
	nodes map[opKey]*OperatorUse
	stack []*OperatorUse
}

// OpUse counts the executions of a contract op on tensors of one type.
type OpUse struct {
	Op      op.Code
	DType   dtype.DType // element type of the first operand, or of the result if there is none
	Support Support
	Count   int
}

type opUse struct {
	op      op.Code
	dtype   dtype.DType
	support Support
}

// OperatorUse describes how an ONNX operator is executed: its level of support is the lowest level of its ops. An operator whose nodes are
// all computed from constants is native.
type OperatorUse struct {
	Domain  string
	Op      string
	Count   int // nodes traced; each iteration of a loop counts
	Support Support
}

// count records an op of a program. On a nil Report it does nothing.
func (r *Report) count(s *Session, n *op.Node, in []op.Desc) {
	if r == nil {
		return
	}
	support := Native
	target := s.dev.Target()
	if err := target.Supports(n, in); err != nil {
		last := op.TensorID(1 << 40)
		_, _, err := program.LowerNode(target, n, in, func() op.TensorID { last++; return last })
		support = Decomposed
		if err != nil {
			support = Missing
		}
	}
	use := opUse{n.Op, n.Outputs[0].DType, support}
	if len(in) > 0 {
		use.dtype = in[0].DType
	}
	r.ops[use]++
	for _, o := range r.stack {
		o.Support = max(o.Support, support)
	}
}

func (r *Report) enter(n *pb.Node) {
	if r == nil {
		return
	}
	key := opKey{canonical(n.Domain), n.OpType}
	o := r.nodes[key]
	if o == nil {
		o = &OperatorUse{Domain: key.domain, Op: key.op}
		r.nodes[key] = o
	}
	o.Count++
	r.stack = append(r.stack, o)
}

func (r *Report) leave() {
	if r != nil {
		r.stack = r.stack[:len(r.stack)-1]
	}
}

// Explain runs the model on zeros to find which ops the device executes natively, by decomposition or not at all. dims maps
// symbols to the sizes of symbolic dimensions, and "name.0" to the size of a dimension of an input; other dimensions that are not
// fixed are 1.
func (s *Session) Explain(ctx context.Context, dims map[string]int) (*Report, error) {
	r := &Report{ops: map[opUse]int{}, nodes: map[opKey]*OperatorUse{}}
	inputs := map[string]Value{}
	defer func() {
		for _, v := range inputs {
			v.each(func(t *tensor.Tensor) { s.model.budget.give(int64(t.Desc().Bytes())) })
			v.Release()
		}
	}()
	for i := range s.model.inputs {
		decl := &s.model.inputs[i]
		if decl.Default {
			continue
		}
		v, err := s.zeros(decl, decl.Name, dims)
		if err != nil {
			return nil, err
		}
		inputs[decl.Name] = v
		r.Inputs = append(r.Inputs, fmt.Sprintf("%s: %v", clip(decl.Name), v))
	}
	b, err := s.model.bind(inputs)
	if err != nil {
		return nil, err
	}
	once, err := s.enter(ctx, b, false)
	if err != nil {
		return nil, err
	}
	outs, err := s.runOnce(ctx, once, b, r)
	for _, o := range outs {
		o.Release()
	}
	s.leave(once)
	if errors.Is(err, core.ErrCanceled) || errors.Is(err, core.ErrBackendLost) {
		return nil, err
	}
	r.Partial = err
	for u, n := range r.ops {
		r.Ops = append(r.Ops, OpUse{u.op, u.dtype, u.support, n})
	}
	for _, o := range r.nodes {
		r.Operators = append(r.Operators, *o)
	}
	slices.SortFunc(r.Ops, func(a, b OpUse) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Op.String(), b.Op.String()), cmp.Compare(a.DType, b.DType),
			cmp.Compare(a.Support, b.Support))
	})
	slices.SortFunc(r.Operators, func(a, b OperatorUse) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Op, b.Op))
	})
	return r, nil
}

// zeros returns a value of a declared type filled with zeros.
func (s *Session) zeros(decl *ValueInfo, name string, dims map[string]int) (Value, error) {
	switch decl.Kind {
	case TensorKind:
		if !decl.DType.Valid() {
			return Value{}, fmt.Errorf("onnx: input %q of type %s: %w", clip(name), decl.TypeName, core.ErrUnsupported)
		}
		dimsOf := make(shape.Shape, len(decl.Shape))
		for k, d := range decl.Shape {
			dimsOf[k] = 1
			if d.Size >= 0 {
				dimsOf[k] = d.Size
			} else if n, ok := dims[d.Symbol]; ok && d.Symbol != "" {
				dimsOf[k] = n
			}
			if n, ok := dims[fmt.Sprintf("%s.%d", name, k)]; ok {
				dimsOf[k] = n
			}
		}
		if err := dimsOf.Check(); err != nil {
			return Value{}, fmt.Errorf("onnx: input %q: %w", clip(name), err)
		}
		if int64(dimsOf.Size()) > s.options.MaxTensorBytes/int64(decl.DType.Size()) {
			return Value{}, fmt.Errorf("onnx: input %q of %v: %w", clip(name), dimsOf, ErrLimit)
		}
		size := volume(dimsOf.Size(), decl.DType.Size())
		if err := s.model.budget.take(size); err != nil {
			return Value{}, fmt.Errorf("onnx: input %q of %v: %w", clip(name), dimsOf, err)
		}
		var t *tensor.Tensor
		err := tensor.Try(func() {
			t = s.dev.Op(op.Full, nil, op.ScalarInt("value", 0), op.Type("dtype", decl.DType), op.Dims("shape", dimsOf))[0]
		})
		if err != nil {
			s.model.budget.give(size)
			return Value{}, err
		}
		return TensorValue(t), nil
	case SequenceKind:
		return SequenceValue(decl.DType), nil
	case OptionalKind:
		if decl.Elem == nil {
			return OptionalValue(Value{}), nil
		}
		v, err := s.zeros(decl.Elem, name, dims)
		return OptionalValue(v), err
	}
	return Value{}, fmt.Errorf("onnx: input %q of type %s: %w", clip(name), decl.Type(), core.ErrUnsupported)
}
