package pb

import "fmt"

// DataType is TensorProto.DataType, the element type of a tensor.
type DataType int32

// The element types of ONNX.
const (
	Undefined      DataType = 0
	Float          DataType = 1
	Uint8          DataType = 2
	Int8           DataType = 3
	Uint16         DataType = 4
	Int16          DataType = 5
	Int32          DataType = 6
	Int64          DataType = 7
	String         DataType = 8
	Bool           DataType = 9
	Float16        DataType = 10
	Double         DataType = 11
	Uint32         DataType = 12
	Uint64         DataType = 13
	Complex64      DataType = 14
	Complex128     DataType = 15
	BFloat16       DataType = 16
	Float8E4M3FN   DataType = 17
	Float8E4M3FNUZ DataType = 18
	Float8E5M2     DataType = 19
	Float8E5M2FNUZ DataType = 20
	Uint4          DataType = 21
	Int4           DataType = 22
	Float4E2M1     DataType = 23
	Float8E8M0     DataType = 24
	Uint2          DataType = 25
	Int2           DataType = 26
	Float6E2M3     DataType = 27
	Float6E3M2     DataType = 28
)

// store is the typed field of a TensorProto that contains the elements of a type if raw_data does not.
type store uint8

const (
	storeNone store = iota
	storeFloat
	storeInt32
	storeString
	storeInt64
	storeDouble
	storeUint64
)

func (s store) String() string {
	return [...]string{"no field", "float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data"}[s]
}

// dataTypes describes each element type. bits is the width in raw_data. signed matters only below 8 bits, where unpacking extends the
// sign.
var dataTypes = [...]struct {
	name   string
	bits   int
	signed bool
	store  store
}{
	Undefined:      {"UNDEFINED", 0, false, storeNone},
	Float:          {"FLOAT", 32, true, storeFloat},
	Uint8:          {"UINT8", 8, false, storeInt32},
	Int8:           {"INT8", 8, true, storeInt32},
	Uint16:         {"UINT16", 16, false, storeInt32},
	Int16:          {"INT16", 16, true, storeInt32},
	Int32:          {"INT32", 32, true, storeInt32},
	Int64:          {"INT64", 64, true, storeInt64},
	String:         {"STRING", 0, false, storeString},
	Bool:           {"BOOL", 8, false, storeInt32},
	Float16:        {"FLOAT16", 16, false, storeInt32},
	Double:         {"DOUBLE", 64, true, storeDouble},
	Uint32:         {"UINT32", 32, false, storeUint64},
	Uint64:         {"UINT64", 64, false, storeUint64},
	Complex64:      {"COMPLEX64", 64, true, storeFloat},
	Complex128:     {"COMPLEX128", 128, true, storeDouble},
	BFloat16:       {"BFLOAT16", 16, false, storeInt32},
	Float8E4M3FN:   {"FLOAT8E4M3FN", 8, false, storeInt32},
	Float8E4M3FNUZ: {"FLOAT8E4M3FNUZ", 8, false, storeInt32},
	Float8E5M2:     {"FLOAT8E5M2", 8, false, storeInt32},
	Float8E5M2FNUZ: {"FLOAT8E5M2FNUZ", 8, false, storeInt32},
	Uint4:          {"UINT4", 4, false, storeInt32},
	Int4:           {"INT4", 4, true, storeInt32},
	Float4E2M1:     {"FLOAT4E2M1", 4, false, storeInt32},
	Float8E8M0:     {"FLOAT8E8M0", 8, false, storeInt32},
	Uint2:          {"UINT2", 2, false, storeInt32},
	Int2:           {"INT2", 2, true, storeInt32},
	Float6E2M3:     {"FLOAT6E2M3", 6, false, storeInt32},
	Float6E3M2:     {"FLOAT6E3M2", 6, false, storeInt32},
}

// Known reports whether t is an element type that this package knows. UNDEFINED is not.
func (t DataType) Known() bool { return t > Undefined && int(t) < len(dataTypes) }

// String returns the ONNX name, such as "FLOAT16", or "DataType(n)".
func (t DataType) String() string {
	if t < 0 || int(t) >= len(dataTypes) {
		return fmt.Sprintf("DataType(%d)", int32(t))
	}
	return dataTypes[t].name
}

// Bits returns the width of one element in raw_data (2, 4 and 6 for the packed types), or 0 for STRING, UNDEFINED and
// unknown types.
func (t DataType) Bits() int {
	if !t.Known() {
		return 0
	}
	return dataTypes[t].bits
}

// Size returns the bytes of one element in the layout of Tensor.Bytes: the packed types take one byte. It is 0 for
// STRING, UNDEFINED and unknown types.
func (t DataType) Size() int { return (t.Bits() + 7) / 8 }

// AttributeType is AttributeProto.AttributeType, which selects the value field of an attribute.
type AttributeType int32

// The attribute types of ONNX.
const (
	AttrUndefined     AttributeType = 0
	AttrFloat         AttributeType = 1
	AttrInt           AttributeType = 2
	AttrString        AttributeType = 3
	AttrTensor        AttributeType = 4
	AttrGraph         AttributeType = 5
	AttrFloats        AttributeType = 6
	AttrInts          AttributeType = 7
	AttrStrings       AttributeType = 8
	AttrTensors       AttributeType = 9
	AttrGraphs        AttributeType = 10
	AttrSparseTensor  AttributeType = 11
	AttrSparseTensors AttributeType = 12
	AttrTypeProto     AttributeType = 13
	AttrTypeProtos    AttributeType = 14
)

var attributeTypes = [...]string{
	"UNDEFINED", "FLOAT", "INT", "STRING", "TENSOR", "GRAPH", "FLOATS", "INTS", "STRINGS", "TENSORS", "GRAPHS",
	"SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS",
}

// String returns the ONNX name, such as "INTS", or "AttributeType(n)".
func (t AttributeType) String() string {
	if t < 0 || int(t) >= len(attributeTypes) {
		return fmt.Sprintf("AttributeType(%d)", int32(t))
	}
	return attributeTypes[t]
}

// DataLocation is TensorProto.DataLocation: the data of a tensor is in the message or in an external file.
type DataLocation int32

// The data locations of ONNX.
const (
	LocationDefault  DataLocation = 0
	LocationExternal DataLocation = 1
)

// ValueKind is SequenceProto.DataType and OptionalProto.DataType: the kind of the values in a sequence or an optional.
type ValueKind int32

// The value kinds of ONNX.
const (
	ValueUndefined    ValueKind = 0
	ValueTensor       ValueKind = 1
	ValueSparseTensor ValueKind = 2
	ValueSequence     ValueKind = 3
	ValueMap          ValueKind = 4
	ValueOptional     ValueKind = 5
)
