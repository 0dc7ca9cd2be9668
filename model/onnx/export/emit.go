package export

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/pb"
)

var elementTypes = map[dtype.DType]pb.DataType{dtype.F64: pb.Double, dtype.F32: pb.Float, dtype.F16: pb.Float16, dtype.BF16: pb.BFloat16,
	dtype.I64: pb.Int64, dtype.I32: pb.Int32, dtype.I16: pb.Int16, dtype.I8: pb.Int8, dtype.U64: pb.Uint64, dtype.U32: pb.Uint32,
	dtype.U16: pb.Uint16, dtype.U8: pb.Uint8, dtype.Bool: pb.Bool}

// elementType returns the ONNX element type of d, or 0 for types that are not exported.
func elementType(d dtype.DType) pb.DataType { return elementTypes[d] }

// emitter builds the graph.
type emitter struct {
	graph  pb.Graph
	taken  map[string]bool
	consts map[string]string // names of constants by content
	size   string            // name of an i64 vector of one element: the symbolic dimension
	from   symbol
}

// symbol is the input and the axis from which the symbolic dimension can be read at run time. Without one, input is empty.
type symbol struct {
	input string
	axis  int
}

// fresh returns an unused name that begins with base.
func (e *emitter) fresh(base string) string {
	name := base
	for i := 1; e.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	e.taken[name] = true
	return name
}

// node appends an operator with one output and returns the name of the output.
func (e *emitter) node(kind string, in []string, attrs ...*pb.Attribute) string {
	return e.nodes(kind, 1, in, attrs...)[0]
}

func (e *emitter) nodes(kind string, outs int, in []string, attrs ...*pb.Attribute) []string {
	names := make([]string, outs)
	for i := range names {
		names[i] = e.fresh(kind)
	}
	e.graph.Nodes = append(e.graph.Nodes, &pb.Node{OpType: kind, Name: names[0], Inputs: in, Outputs: names, Attributes: attrs})
	return names
}

// constant returns the name of an initializer. Equal initializers are written once.
func (e *emitter) constant(d dtype.DType, dims []int, data []byte) string {
	key := fmt.Sprint(d, dims, string(data))
	name, ok := e.consts[key]
	if !ok {
		name = e.fresh("constant")
		e.consts[key] = name
		e.initializer(name, d, dims, data)
	}
	return name
}

func (e *emitter) initializer(name string, d dtype.DType, dims []int, data []byte) {
	if data == nil {
		data = []byte{}
	}
	e.graph.Initializers = append(e.graph.Initializers, &pb.Tensor{Name: name, DataType: elementType(d), Dims: int64s(dims), RawData: data})
}

func int64s(v []int) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}

// vector returns the name of a constant vector of i64.
func (e *emitter) vector(v ...int) string {
	return e.constant(dtype.I64, []int{len(v)}, dtype.Bytes(int64s(v)))
}

// scalar returns the name of a constant of rank 0 with the value v in type d.
func (e *emitter) scalar(d dtype.DType, v float64) string { return e.constant(d, nil, number(d, v)) }

// dims returns the name of a vector of i64 that may depend on the symbolic dimension.
func (e *emitter) dims(ds []dim) string {
	if v, ok := allStatic(ds); ok {
		return e.vector(v...)
	}
	if e.size == "" {
		e.size = e.node("Shape", []string{e.from.input}, attrInt("start", e.from.axis), attrInt("end", e.from.axis+1))
	}
	base, per := make([]int, len(ds)), make([]int, len(ds))
	for i, d := range ds {
		base[i], per[i] = d.base, d.per
	}
	v := e.size
	if !slices.Equal(per, slices.Repeat([]int{1}, len(per))) || len(per) > 1 {
		v = e.node("Mul", []string{e.vector(per...), v})
	}
	if slices.ContainsFunc(base, func(b int) bool { return b != 0 }) {
		v = e.node("Add", []string{v, e.vector(base...)})
	}
	return v
}

// reshape appends a Reshape of x and returns the name of its output.
func (e *emitter) reshape(x string, to []dim) string {
	open, zero := -1, false
	for i, d := range to {
		if !d.static() {
			if open >= 0 {
				open = len(to)
				break
			}
			open = i
		}
		zero = zero || d == fixed(0)
	}
	if open < len(to) && !zero {
		v := make([]int, len(to))
		for i, d := range to {
			v[i] = d.base
			if i == open {
				v[i] = -1
			}
		}
		return e.node("Reshape", []string{x, e.vector(v...)})
	}
	return e.node("Reshape", []string{x, e.dims(to)}, attrInt("allowzero", 1))
}

func attrInt(name string, v int) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrInt, I: int64(v)}
}

func attrBool(name string, v bool) *pb.Attribute {
	if v {
		return attrInt(name, 1)
	}
	return attrInt(name, 0)
}

func attrInts(name string, v []int) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrInts, Ints: int64s(v)}
}

func attrFloat(name string, v float64) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrFloat, F: float32(v)}
}

func attrString(name, v string) *pb.Attribute {
	return &pb.Attribute{Name: name, Type: pb.AttrString, S: []byte(v)}
}
