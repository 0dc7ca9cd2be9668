package pb

// Sequence is SequenceProto, the stored form of a sequence value. Kind selects one of the lists.
type Sequence struct {
	Name          string
	Kind          ValueKind
	Tensors       []*Tensor
	SparseTensors []*SparseTensor
	Sequences     []*Sequence
	Maps          []*Map
	Optionals     []*Optional
}

// Map is MapProto. The keys are in StringKeys when KeyType is STRING, else in Keys; the values are in the same order.
type Map struct {
	Name       string
	KeyType    DataType
	Keys       []int64
	StringKeys [][]byte
	Values     *Sequence
}

// Optional is OptionalProto. In an optional without a value, all value fields are nil, whatever Kind is.
type Optional struct {
	Name         string
	Kind         ValueKind
	Tensor       *Tensor
	SparseTensor *SparseTensor
	Sequence     *Sequence
	Map          *Map
	Optional     *Optional
}
