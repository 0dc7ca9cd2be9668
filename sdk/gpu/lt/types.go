package lt

// DataType is a type of elements. Its values are the numbers of cudaDataType and hipDataType, which agree.
type DataType int32

// Types of elements.
const (
	F32    DataType = 0
	F64    DataType = 1
	F16    DataType = 2
	I8     DataType = 3
	I32    DataType = 10
	BF16   DataType = 14
	F8E4M3 DataType = 28
	F8E5M2 DataType = 29
)

// Compute selects how a product is computed. Its values are the numbers of cublasComputeType_t; Numbers.Computes has the numbers of another
// library.
type Compute int32

// Ways to compute. The inputs of ComputeF32 may be f32, f16, bf16 and 8-bit floats, with sums in f32.
const (
	ComputeF16  Compute = 64
	ComputeF32  Compute = 68
	ComputeF64  Compute = 70
	ComputeI32  Compute = 72
	ComputeTF32 Compute = 77 // f32 inputs are rounded to 10 bits of mantissa
)

// Epilogue is an operation on a product before it is written. Its values are the numbers of cublasLtEpilogue_t and hipblasLtEpilogue_t,
// which agree where both have the operation.
type Epilogue uint32

// Epilogues. Bias is one value for each row of D, which is a column of the row-major result. Gelu is the tanh approximation. Epilogues with
// Aux write what the backward pass needs: a bit mask for relu, or the values before gelu. DRelu and DGelu read this data; the bit of a
// value that is exactly 0 is 1, so that DRelu lets the gradient pass there, where PyTorch's relu does not. BGrad sums over the columns of
// D, BGradA and BGradB over the inner dimension of an operand.
const (
	EpilogueNone        Epilogue = 1
	EpilogueRelu        Epilogue = 2
	EpilogueBias        Epilogue = 4
	EpilogueReluBias    Epilogue = 2 | 4
	EpilogueReluAux     Epilogue = 2 | 128
	EpilogueReluAuxBias Epilogue = 2 | 4 | 128
	EpilogueDRelu       Epilogue = 8 | 128
	EpilogueDReluBGrad  Epilogue = 8 | 16 | 128
	EpilogueGelu        Epilogue = 32
	EpilogueGeluBias    Epilogue = 32 | 4
	EpilogueGeluAux     Epilogue = 32 | 128
	EpilogueGeluAuxBias Epilogue = 32 | 4 | 128
	EpilogueDGelu       Epilogue = 64 | 128
	EpilogueDGeluBGrad  Epilogue = 64 | 16 | 128
	EpilogueBGradA      Epilogue = 256
	EpilogueBGradB      Epilogue = 512
)

// bias reports whether the epilogue reads or writes a bias vector.
func (e Epilogue) bias() bool { return e&(4|16|256|512) != 0 }

// aux reports whether the epilogue reads or writes the auxiliary matrix.
func (e Epilogue) aux() bool { return e&128 != 0 }
