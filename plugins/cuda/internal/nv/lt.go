package nv

import (
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Lt is cuBLASLt: matrix products with epilogues.
type Lt struct {
	Version int // 120903 is 12.9.3
	c       ltProcs
}

type ltProcs struct {
	create     proc `c:"cublasLtCreate"`
	destroy    proc `c:"cublasLtDestroy"`
	version    proc `c:"cublasLtGetVersion"`
	cudart     proc `c:"cublasLtGetCudartVersion"`
	statusName proc `c:"cublasLtGetStatusName"`
	statusText proc `c:"cublasLtGetStatusString"`

	matmul        proc `c:"cublasLtMatmul"`
	heuristic     proc `c:"cublasLtMatmulAlgoGetHeuristic"`
	algoCheck     proc `c:"cublasLtMatmulAlgoCheck"`
	descCreate    proc `c:"cublasLtMatmulDescCreate"`
	descDestroy   proc `c:"cublasLtMatmulDescDestroy"`
	descSet       proc `c:"cublasLtMatmulDescSetAttribute"`
	layoutCreate  proc `c:"cublasLtMatrixLayoutCreate"`
	layoutDestroy proc `c:"cublasLtMatrixLayoutDestroy"`
	layoutSet     proc `c:"cublasLtMatrixLayoutSetAttribute"`
	prefCreate    proc `c:"cublasLtMatmulPreferenceCreate"`
	prefDestroy   proc `c:"cublasLtMatmulPreferenceDestroy"`
	prefSet       proc `c:"cublasLtMatmulPreferenceSetAttribute"`
}

const ltName = "cuBLASLt"

func openLt(handle uintptr, driver int) (*Lt, error) {
	l := &Lt{}
	if err := vendor.Bind(handle, &l.c); err != nil {
		return nil, err
	}
	l.Version = int(l.c.version.Word())
	return l, tooNew(int(l.c.cudart.Word())/1000, driver)
}

func (l *Lt) check(p *proc, code int32) error {
	if code == 0 {
		return nil
	}
	e := &Error{Library: ltName, Call: p.Name, Code: int(code), Name: vendor.Text(l.c.statusName.Word(uintptr(code))), Text: vendor.Text(l.c.statusText.Word(uintptr(code)))}
	switch code {
	case 3: // allocation
		e.Kind = ErrOutOfMemory
	case 7, 8, 15: // invalid value, architecture, not supported: it answers any of them for operands that it has no kernel for
		e.Kind = ErrUnsupported
	}
	return e
}

// LtHandle is a handle of cuBLASLt on the device of the context that was current when it was made. Goroutines may share it.
type LtHandle struct {
	lt *Lt
	h  uintptr
}

// NewHandle makes a handle. Close gives it back.
func (l *Lt) NewHandle() (*LtHandle, error) {
	h := &LtHandle{lt: l}
	return h, l.check(&l.c.create, l.c.create.Call(uintptr(unsafe.Pointer(&h.h))))
}

// Close releases the handle. No product may be under way in another goroutine.
func (h *LtHandle) Close() error {
	if h.h == 0 {
		return nil
	}
	code := h.lt.c.destroy.Call(h.h)
	h.h = 0
	return h.lt.check(&h.lt.c.destroy, code)
}

// DataType is a type of elements, by the number of cudaDataType.
type DataType int32

// Types of elements of cuBLASLt.
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

// Compute selects how a product is computed. Its values are the numbers of cublasComputeType_t.
type Compute int32

// Ways to compute. The inputs of ComputeF32 may be f32, f16, bf16 and 8-bit floats, with sums in f32.
const (
	ComputeF16  Compute = 64
	ComputeF32  Compute = 68
	ComputeF64  Compute = 70
	ComputeI32  Compute = 72
	ComputeTF32 Compute = 77 // f32 inputs are rounded to 10 bits of mantissa
)

// Epilogue is the operation on a product before it is written, with the number of cublasLtEpilogue_t.
type Epilogue uint32

// Epilogues. Bias is one value for each row of D, which is a column of the row-major result. Gelu is the tanh approximation. Those with
// Aux write what the backward pass needs: a bit mask for relu, the values before gelu. DRelu and DGelu read it; the bit of a value
// that is exactly 0 is 1, so that DRelu lets the gradient pass there, where PyTorch's relu does not. BGrad sums
// over the columns of D, BGradA and BGradB over the inner dimension of an operand.
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
