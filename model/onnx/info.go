package onnx

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx/pb"
)

// ValueInfo is the declaration of an input or output.
type ValueInfo struct {
	Name string
	Kind Kind // NoKind when the model declares no type, or a type that burn does not support
	// Elem is the declaration of the elements of a sequence or optional, or nil when the model declares none.
	Elem *ValueInfo
	// DType is Invalid when the element type is not declared or not supported; TypeName is its ONNX name.
	DType    dtype.DType
	TypeName string
	Ranked   bool // whether Shape is declared
	Shape    []Dim
	Default  bool // an input with an initializer: the caller may leave it out
	Doc      string
}

// Dim is a declared dimension: a fixed size, a symbol for one size that is equal in all inputs, or neither.
type Dim struct {
	Size   int // -1 when not fixed
	Symbol string
}

// String returns the size, the symbol, or "?".
func (d Dim) String() string {
	switch {
	case d.Size >= 0:
		return strconv.Itoa(d.Size)
	case d.Symbol != "":
		return clip(d.Symbol)
	}
	return "?"
}

// String returns the declaration, such as "x: f32[batch,3,224,224]" or "s: sequence(f32[?])".
func (v ValueInfo) String() string { return clip(v.Name) + ": " + v.Type() }

// Type returns the type without the name.
func (v ValueInfo) Type() string {
	switch v.Kind {
	case TensorKind:
		name := v.TypeName
		if v.DType.Valid() {
			name = v.DType.String()
		}
		if !v.Ranked {
			return name + "[...]"
		}
		dims := make([]string, len(v.Shape))
		for i, d := range v.Shape {
			dims[i] = d.String()
		}
		return name + "[" + strings.Join(dims, ",") + "]"
	case SequenceKind, OptionalKind:
		if v.Elem == nil {
			return v.Kind.String()
		}
		return v.Kind.String() + "(" + v.Elem.Type() + ")"
	}
	if v.TypeName != "" {
		return v.TypeName
	}
	return "?"
}

func infoOf(v *pb.ValueInfo, hasDefault bool) ValueInfo {
	i := typeInfo(v.Type)
	i.Name, i.Default, i.Doc = v.Name, hasDefault, v.Doc
	return i
}

func typeInfo(t *pb.Type) ValueInfo {
	var i ValueInfo
	if t == nil {
		return i
	}
	switch t.Kind {
	case pb.KindTensor:
		i.Kind, i.TypeName = TensorKind, strings.ToLower(t.DataType.String())
		if t.DataType == pb.Undefined {
			i.TypeName = "any"
		}
		i.DType, _ = elementType(t.DataType)
		if t.Shape != nil {
			i.Ranked = true
			i.Shape = make([]Dim, len(t.Shape.Dims))
			for k, d := range t.Shape.Dims {
				i.Shape[k] = Dim{Size: -1}
				switch {
				case d.Kind == pb.DimValue && d.Value > 0: // exporters write 0 for "unknown"
					i.Shape[k].Size = toInt(d.Value)
				case d.Kind == pb.DimParam:
					i.Shape[k].Symbol = d.Param
				}
			}
		}
	case pb.KindSequence, pb.KindOptional:
		i.Kind = SequenceKind
		if t.Kind == pb.KindOptional {
			i.Kind = OptionalKind
		}
		if t.Elem != nil {
			e := typeInfo(t.Elem)
			i.Elem, i.DType = &e, e.DType
		}
	default:
		i.TypeName = t.Kind.String()
	}
	return i
}

// Name returns the name of the main graph.
func (m *Model) Name() string { return m.proto.Graph.Name }

// Inputs returns the inputs in the order of the file, but inputs with a default last. The caller must not change the slice.
func (m *Model) Inputs() []ValueInfo { return m.inputs }

// Outputs returns the outputs in order. The caller must not change the slice.
func (m *Model) Outputs() []ValueInfo { return m.outputs }

// Info holds the metadata of a model and counts of its contents.
type Info struct {
	Name            string
	Domain          string
	Doc             string
	IRVersion       int64
	ModelVersion    int64
	ProducerName    string
	ProducerVersion string
	Opsets          []Opset
	Metadata        []Property
	Functions       []string
	Operators       []OperatorCount // by decreasing count, then name
	Nodes           int             // nodes that an output depends on; subgraphs and functions counted once
	Dead            int             // nodes of the main graph that no output depends on
	Parameters      int64           // elements of all initializers, including those of subgraphs
	ParameterBytes  int64
}

// Opset is an operator set that a model imports. The default domain is written "ai.onnx".
type Opset struct {
	Domain  string
	Version int
}

// Property is an entry of a model's metadata.
type Property struct{ Key, Value string }

// OperatorCount counts the nodes that use an operator.
type OperatorCount struct {
	Domain    string // empty for the default domain
	Op        string
	Count     int
	Function  bool // a function defined in the model
	Supported bool
}

// Info returns the metadata and counts of the model.
func (m *Model) Info() Info {
	p := m.proto
	i := Info{Name: p.Graph.Name, Domain: p.Domain, Doc: p.Doc, IRVersion: p.IRVersion, ModelVersion: p.ModelVersion,
		ProducerName: p.ProducerName, ProducerVersion: p.ProducerVersion, Dead: len(p.Graph.Nodes) - len(m.main.nodes)}
	if i.Doc == "" {
		i.Doc = p.Graph.Doc
	}
	for d, v := range m.opsets {
		if d == "" {
			d = "ai.onnx"
		}
		i.Opsets = append(i.Opsets, Opset{d, v})
	}
	slices.SortFunc(i.Opsets, func(a, b Opset) int { return cmp.Compare(a.Domain, b.Domain) })
	for _, e := range p.Metadata {
		i.Metadata = append(i.Metadata, Property{e.Key, e.Value})
	}
	for k := range m.functions {
		i.Functions = append(i.Functions, k.String())
	}
	slices.Sort(i.Functions)
	graphs := map[*graph]bool{}
	at := map[opKey]int{}
	_ = m.eachNode(func(g *graph, n *pb.Node) error {
		if !graphs[g] {
			graphs[g] = true
			i.count(g)
		}
		i.Nodes++
		key := opKey{canonical(n.Domain), n.OpType}
		k, ok := at[key]
		if !ok {
			k = len(i.Operators)
			at[key] = k
			c := OperatorCount{Domain: key.domain, Op: key.op, Function: m.functionOf(n) != nil}
			_, found := find(key.domain, key.op, g.opsets[key.domain])
			c.Supported = found || c.Function
			i.Operators = append(i.Operators, c)
		}
		i.Operators[k].Count++
		return nil
	})
	if !graphs[m.main] {
		i.count(m.main)
	}
	slices.SortFunc(i.Operators, func(a, b OperatorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Op, b.Op))
	})
	return i
}

func (i *Info) count(g *graph) {
	add := func(t *pb.Tensor) {
		if n, err := t.Elements(); err == nil {
			i.Parameters += n
			i.ParameterBytes += (n*int64(t.DataType.Bits()) + 7) / 8
		}
	}
	for _, t := range g.inits {
		add(t)
	}
	for _, s := range g.sparse {
		add(s.Values)
	}
}
