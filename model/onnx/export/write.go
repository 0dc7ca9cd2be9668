package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/pb"
)

// write returns the model of g.
func write(g *graph, inputs []Input, from symbol, o Options) (*pb.Model, error) {
	name := func(v, def string) string {
		if v == "" {
			return def
		}
		return v
	}
	e := &emitter{taken: map[string]bool{"": true}, consts: map[string]string{}, from: from}
	e.graph.Name = name(o.Name, "module")
	symbolName := name(o.Symbol, "batch")
	for _, in := range inputs {
		e.taken[in.Name] = true
		dims := make([]dim, len(in.Shape))
		for i, n := range in.Shape {
			if dims[i] = fixed(n); n == Any {
				dims[i] = dim{per: 1}
			}
		}
		e.graph.Inputs = append(e.graph.Inputs, info(in.Name, in.DType, dims, symbolName))
	}
	outputs := make([]string, len(g.outputs))
	for i := range outputs {
		base := "output"
		if i > 0 {
			base += "_" + strconv.Itoa(i)
		}
		if i < len(o.Outputs) {
			base = o.Outputs[i]
			if e.taken[base] {
				return nil, fmt.Errorf("export: output %q: a name that is empty or given twice: %w", base, core.ErrAttr)
			}
		}
		outputs[i] = e.fresh(base)
	}
	for _, v := range g.values { // inputs keep their names, and parameters get theirs
		if v.node < 0 && v.data != nil && v.name != "" {
			v.name = e.fresh(v.name)
		}
	}
	written := map[*value]bool{}
	need := func(v *value) error {
		if v.node >= 0 || written[v] {
			return nil
		}
		written[v] = true
		if v.data == nil && !slices.ContainsFunc(inputs, func(i Input) bool { return i.Name == v.name }) {
			return differs("a constant %v%v that the forward pass creates depends on the symbolic dimension", v.dtype, v.shape)
		}
		if v.data != nil {
			dims, _ := allStatic(v.shape)
			if v.name == "" {
				v.name = e.constant(v.dtype, dims, v.data)
				return nil
			}
			e.initializer(v.name, v.dtype, dims, v.data)
		}
		return nil
	}
	for _, n := range g.live() {
		for _, in := range n.inputs {
			if err := need(in); err != nil {
				return nil, err
			}
		}
		if err := rules[n.op].emit(e, n); err != nil {
			return nil, fmt.Errorf("export: %w", err)
		}
		for i, out := range n.outputs {
			if out.name == "" {
				return nil, fmt.Errorf("export: result %d of %v has no operator: %w", i, n.op, core.ErrUnsupported)
			}
		}
	}
	for i, v := range g.outputs {
		if err := need(v); err != nil {
			return nil, err
		}
		e.graph.Nodes = append(e.graph.Nodes, &pb.Node{OpType: "Identity", Name: outputs[i], Inputs: []string{v.name}, Outputs: []string{outputs[i]}})
		e.graph.Outputs = append(e.graph.Outputs, info(outputs[i], v.dtype, v.shape, symbolName))
	}
	m := &pb.Model{IRVersion: irVersion, ProducerName: "burn", OpsetImports: []*pb.OperatorSetID{{Version: Opset}}, Graph: &e.graph}
	for _, k := range slices.Sorted(maps.Keys(o.Metadata)) {
		m.Metadata = append(m.Metadata, &pb.Property{Key: k, Value: o.Metadata[k]})
	}
	return m, nil
}

// info describes an input or output. A dimension that is neither n nor a constant is written as unknown.
func info(name string, d dtype.DType, dims []dim, symbol string) *pb.ValueInfo {
	s := &pb.Shape{}
	for _, n := range dims {
		switch {
		case n.static():
			s.Dims = append(s.Dims, pb.Dim{Kind: pb.DimValue, Value: int64(n.base)})
		case n == dim{per: 1}:
			s.Dims = append(s.Dims, pb.Dim{Kind: pb.DimParam, Param: symbol})
		default:
			s.Dims = append(s.Dims, pb.Dim{})
		}
	}
	return &pb.ValueInfo{Name: name, Type: &pb.Type{Kind: pb.KindTensor, DataType: elementType(d), Shape: s}}
}
