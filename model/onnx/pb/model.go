package pb

// Model is ModelProto. A decoded model has a Graph.
type Model struct {
	IRVersion       int64
	OpsetImports    []*OperatorSetID
	ProducerName    string
	ProducerVersion string
	Domain          string
	ModelVersion    int64
	Doc             string
	Graph           *Graph
	Metadata        []*Property
	Functions       []*Function
}

// OperatorSetID is OperatorSetIdProto. The empty domain and "ai.onnx" mean the same.
type OperatorSetID struct {
	Domain  string
	Version int64
}

// Property is StringStringEntryProto, a key and a value.
type Property struct {
	Key, Value string
}

// Graph is GraphProto.
type Graph struct {
	Nodes              []*Node
	Name               string
	Initializers       []*Tensor
	SparseInitializers []*SparseTensor
	Doc                string
	Inputs             []*ValueInfo
	Outputs            []*ValueInfo
	ValueInfo          []*ValueInfo
	Metadata           []*Property
}

// Node is NodeProto. An empty name in Inputs or Outputs is an optional operand left out.
type Node struct {
	Inputs     []string
	Outputs    []string
	Name       string
	OpType     string
	Domain     string
	Overload   string
	Attributes []*Attribute
	Doc        string
	Metadata   []*Property
}

// Attribute returns the attribute of that name, or nil.
func (n *Node) Attribute(name string) *Attribute {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Attribute is AttributeProto. Type selects the value field; decoding infers it when the file has none (the oldest files) and
// exactly one kind of value. RefAttrName, used inside functions only, names the function's attribute whose value is used.
type Attribute struct {
	Name          string
	RefAttrName   string
	Doc           string
	Type          AttributeType
	F             float32
	I             int64
	S             []byte
	T             *Tensor
	G             *Graph
	SparseTensor  *SparseTensor
	TypeProto     *Type
	Floats        []float32
	Ints          []int64
	Strings       [][]byte
	Tensors       []*Tensor
	Graphs        []*Graph
	SparseTensors []*SparseTensor
	TypeProtos    []*Type
}

// Function is FunctionProto. Attributes lists the attributes without a default, AttributeDefaults the attributes with a default.
type Function struct {
	Name              string
	Domain            string
	Overload          string
	Inputs            []string
	Outputs           []string
	Attributes        []string
	AttributeDefaults []*Attribute
	Nodes             []*Node
	Doc               string
	OpsetImports      []*OperatorSetID
	ValueInfo         []*ValueInfo
	Metadata          []*Property
}

// ValueInfo is ValueInfoProto: the name and type of a value in a graph. Type is nil if the file declares none.
type ValueInfo struct {
	Name     string
	Type     *Type
	Doc      string
	Metadata []*Property
}

// TypeKind is the kind of a Type.
type TypeKind uint8

// The kinds of a Type.
const (
	KindNone TypeKind = iota
	KindTensor
	KindSparseTensor
	KindSequence
	KindMap
	KindOptional
	KindOpaque
)

// String returns the kind in words, such as "sparse tensor".
func (k TypeKind) String() string {
	names := [...]string{"none", "tensor", "sparse tensor", "sequence", "map", "optional", "opaque"}
	if int(k) >= len(names) {
		return "invalid"
	}
	return names[k]
}

// Type is TypeProto, a sum of kinds.
type Type struct {
	Kind       TypeKind
	DataType   DataType // tensor and sparse tensor: the element type; map: the key type
	Shape      *Shape   // tensor and sparse tensor: nil when the rank is unknown
	Elem       *Type    // sequence and optional: the element; map: the value; nil when the file declares none
	Denotation string
	// OpaqueDomain and OpaqueName are for opaque types only.
	OpaqueDomain, OpaqueName string
}

// Shape is TensorShapeProto. No dims is rank 0.
type Shape struct {
	Dims []Dim
}

// DimKind is the kind of the declaration of a dimension.
type DimKind uint8

// The kinds of a Dim.
const (
	DimUnknown DimKind = iota // nothing; exporters' negative values are decoded as this
	DimValue                  // Value
	DimParam                  // Param, a symbol with the same size wherever the graph uses it
)

// Dim is TensorShapeProto.Dimension.
type Dim struct {
	Kind       DimKind
	Value      int64
	Param      string
	Denotation string
}
