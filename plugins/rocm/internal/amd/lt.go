package amd

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/lt"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// HipBLASLt is hipBLASLt of ROCm 6 or 7: matrix products with epilogues.
type HipBLASLt struct {
	*lt.Lt
	Version int // 800 is 0.8.0
}

const ltName = "hipBLASLt"

// ltStatuses are the values of hipblasStatus_t in hipblas-common.h.
var ltStatuses = []string{"HIPBLAS_STATUS_SUCCESS", "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED", "HIPBLAS_STATUS_INVALID_VALUE",
	"HIPBLAS_STATUS_MAPPING_ERROR", "HIPBLAS_STATUS_EXECUTION_FAILED", "HIPBLAS_STATUS_INTERNAL_ERROR", "HIPBLAS_STATUS_NOT_SUPPORTED", "HIPBLAS_STATUS_ARCH_MISMATCH",
	"HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM", "HIPBLAS_STATUS_UNKNOWN"}

// ltNumbers contains the numbers of hipblaslt.h in ROCm 6.0 to 7 (tags rocm-6.0.0 to rocm-6.2.2 and the branch of 7):
// hipblasLtMatmulDescAttributes_t, hipblasLtMatrixLayoutAttribute_t, hipblasLtMatmulPreferenceAttributes_t and the 24 bytes of
// hipblasLtMatmulAlgo_t (16 of data and a size); and from hipblas-common.h hipblasOperation_t and hipblasComputeType_t. All versions of
// ROCm 6 and 7 agree in these numbers. The type of an auxiliary matrix, which ROCm 6.4 added, is not set here. In ROCm 5.5 to 5.7, which
// minLt excludes, the numbers of types and compute types and the layout of algorithms were different.
var ltNumbers = lt.Numbers{
	Prefix: "hipblasLt", Plain: 111, Transposed: 112,
	Computes: map[lt.Compute]int32{lt.ComputeF16: 0, lt.ComputeF32: 2, lt.ComputeTF32: 6, lt.ComputeF64: 7},
	TransA:   0, TransB: 1, Epilogue: 2, Bias: 3, BiasType: 4, BiasStride: lt.None, Scales: [3]int{5, 6, 8}, Aux: 10, AuxLD: 11, AuxStride: 12, AuxType: lt.None,
	FastAccumulate: lt.None,
	LayoutBatch:    0, LayoutStride: 1, LayoutOrder: 3,
	PrefWorkspace: 1, PrefReductions: lt.None, PrefAlign: lt.None,
	AlgoBytes:   24,
	OutOfMemory: 2,
	Unsupported: []int32{3, 7, 8, 10}, // invalid value, not supported, architecture, enumeration
	Describe: func(status int32) (name, text string) {
		if status < 0 || int(status) >= len(ltStatuses) {
			return "", "a status that is not known"
		}
		return ltStatuses[status], ""
	},
}

// minLt is the first version with the numbers of ltNumbers: 0.6, of ROCm 6.0.
const minLt = 600

func openLt(handle uintptr) (*HipBLASLt, error) {
	x, err := lt.New(handle, ltName, &ltNumbers)
	if err != nil {
		return nil, err
	}
	var c struct {
		version vendor.Proc `c:"hipblasLtGetVersion"`
	}
	if err := vendor.Bind(handle, &c); err != nil {
		return nil, err
	}
	h, err := x.NewHandle()
	if err != nil {
		return nil, err
	}
	var v int32
	status := c.version.Call(h.Word(), uintptr(unsafe.Pointer(&v)))
	if err := h.Close(); err != nil {
		return nil, err
	}
	if status != 0 {
		return nil, ltNumbers.Error(ltName, c.version.Name, status)
	}
	if v < minLt {
		return nil, fmt.Errorf("it is hipBLASLt %s, whose types and algorithms have another layout; want 0.6 or newer, of ROCm 6.0", ltVersion(int(v)))
	}
	return &HipBLASLt{x, int(v)}, nil
}

// ltVersion returns 100200 as 1.2.0.
func ltVersion(v int) string { return fmt.Sprintf("%d.%d.%d", v/100000, v/100%1000, v%100) }
