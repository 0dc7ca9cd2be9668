package nv

import (
	"github.com/goburn/burn/sdk/gpu/lt"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// Lt is cuBLASLt: matrix products with epilogues.
type Lt struct {
	*lt.Lt
	Version int // 120903 is 12.9.3
}

type ltProcs struct {
	version    proc `c:"cublasLtGetVersion"`
	cudart     proc `c:"cublasLtGetCudartVersion"`
	statusName proc `c:"cublasLtGetStatusName"`
	statusText proc `c:"cublasLtGetStatusString"`
}

const ltName = "cuBLASLt"

// ltNumbers has the numbers of cublasLt.h, of CUDA 12 and 13: cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t,
// cublasLtMatmulPreferenceAttributes_t, cublasOperation_t, and the 64 bytes of cublasLtMatmulAlgo_t.
var ltNumbers = lt.Numbers{
	Prefix: "cublasLt", Plain: 0, Transposed: 1,
	Computes: map[lt.Compute]int32{ComputeF16: 64, ComputeF32: 68, ComputeF64: 70, ComputeI32: 72, ComputeTF32: 77},
	TransA:   3, TransB: 4, Epilogue: 7, Bias: 8, BiasStride: 10, Aux: 11, AuxLD: 12, AuxStride: 13, Scales: [3]int{17, 18, 20}, AuxType: 22, FastAccumulate: 25, BiasType: 26,
	LayoutOrder: 1, LayoutBatch: 5, LayoutStride: 6,
	PrefWorkspace: 1, PrefReductions: 3, PrefAlign: 5,
	AlgoBytes:   64,
	OutOfMemory: 3,
	Unsupported: []int32{7, 8, 15}, // invalid value, architecture, not supported: the library returns any of them for operands for which it has no kernel
}

func openLt(handle uintptr, driver int) (*Lt, error) {
	var c ltProcs
	if err := vendor.Bind(handle, &c); err != nil {
		return nil, err
	}
	n := ltNumbers
	n.Describe = func(status int32) (name, text string) {
		return vendor.Text(c.statusName.Word(uintptr(status))), vendor.Text(c.statusText.Word(uintptr(status)))
	}
	x, err := lt.New(handle, ltName, &n)
	if err != nil {
		return nil, err
	}
	return &Lt{x, int(c.version.Word())}, tooNew(int(c.cudart.Word())/1000, driver)
}

// Products, of package lt.
type (
	LtHandle   = lt.Handle
	DataType   = lt.DataType
	Compute    = lt.Compute
	Epilogue   = lt.Epilogue
	Layout     = lt.Layout
	MatmulSpec = lt.MatmulSpec
	Matmul     = lt.Matmul
	Preference = lt.Preference
	Algo       = lt.Algo
	MatmulRun  = lt.MatmulRun
)

// Types of elements, ways to compute and epilogues, of package lt.
const (
	F32    = lt.F32
	F64    = lt.F64
	F16    = lt.F16
	I8     = lt.I8
	I32    = lt.I32
	BF16   = lt.BF16
	F8E4M3 = lt.F8E4M3
	F8E5M2 = lt.F8E5M2

	ComputeF16  = lt.ComputeF16
	ComputeF32  = lt.ComputeF32
	ComputeF64  = lt.ComputeF64
	ComputeI32  = lt.ComputeI32
	ComputeTF32 = lt.ComputeTF32

	EpilogueNone        = lt.EpilogueNone
	EpilogueRelu        = lt.EpilogueRelu
	EpilogueBias        = lt.EpilogueBias
	EpilogueReluBias    = lt.EpilogueReluBias
	EpilogueReluAux     = lt.EpilogueReluAux
	EpilogueReluAuxBias = lt.EpilogueReluAuxBias
	EpilogueDRelu       = lt.EpilogueDRelu
	EpilogueDReluBGrad  = lt.EpilogueDReluBGrad
	EpilogueGelu        = lt.EpilogueGelu
	EpilogueGeluBias    = lt.EpilogueGeluBias
	EpilogueGeluAux     = lt.EpilogueGeluAux
	EpilogueGeluAuxBias = lt.EpilogueGeluAuxBias
	EpilogueDGelu       = lt.EpilogueDGelu
	EpilogueDGeluBGrad  = lt.EpilogueDGeluBGrad
	EpilogueBGradA      = lt.EpilogueBGradA
	EpilogueBGradB      = lt.EpilogueBGradB
)

// RowMajor describes a product of row-major matrices as a product of column-major matrices (see lt.RowMajor).
func RowMajor(m, n, k int64, ta, tb DataType, transA, transB bool, lda, ldb int64, td DataType, ldd int64) MatmulSpec {
	return lt.RowMajor(m, n, k, ta, tb, transA, transB, lda, ldb, td, ldd)
}
