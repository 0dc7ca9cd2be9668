package amd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/streams"
	"github.com/goburn/burn/sdk/gpu/vendor"
)

// BLAS is rocBLAS: matrix products without epilogues.
type BLAS struct {
	Version string // as in 4.2.1
	c       blasProcs
}

type blasProcs struct {
	create    vendor.Proc `c:"rocblas_create_handle"`
	destroy   vendor.Proc `c:"rocblas_destroy_handle"`
	stream    vendor.Proc `c:"rocblas_set_stream"`
	workspace vendor.Proc `c:"rocblas_set_workspace"`
	atomics   vendor.Proc `c:"rocblas_set_atomics_mode"`
	text      vendor.Proc `c:"rocblas_status_to_string"`
	version   vendor.Proc `c:"rocblas_get_version_string"`
	gemm      vendor.Proc `c:"rocblas_gemm_strided_batched_ex"`
	prepare   vendor.Proc `c:"rocblas_initialize"`
}

const blasName = "rocBLAS"

// The numbers of rocblas-types.h, the same in ROCm 5.2 (rocBLAS 2.44) to 7: rocblas_operation, rocblas_datatype, rocblas_gemm_algo and
// rocblas_gemm_flags. The flag that packs 4 factors of 8 bits was removed in ROCm 6 and is never set.
const (
	BLASPlain      = 111
	BLASTransposed = 112

	BLASF16  BLASType = 150
	BLASF32  BLASType = 151
	BLASF64  BLASType = 152
	BLASBF16 BLASType = 168
)

// BLASType is a type of elements of rocBLAS.
type BLASType int32

// The versions of rocBLAS in which these numbers are valid: 2.44, of ROCm 5.2, to 5, of ROCm 7.
const minBLASMajor, minBLASMinor, maxBLASMajor = 2, 44, 5

func openBLAS(handle uintptr) (*BLAS, error) {
	b := &BLAS{}
	if err := vendor.Bind(handle, &b.c); err != nil {
		return nil, err
	}
	text := make([]byte, 256)
	if err := b.check(&b.c.version, b.c.version.Call(uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))); err != nil {
		return nil, err
	}
	said := strings.SplitN(vendor.UpToZero(text), ".", 4)
	b.Version = strings.Join(said[:min(3, len(said))], ".")
	var v [2]int
	for i := range min(2, len(said)) {
		v[i], _ = strconv.Atoi(said[i]) // a text that is not a number counts as version 0, which is refused
	}
	if v[0] < minBLASMajor || v[0] == minBLASMajor && v[1] < minBLASMinor || v[0] > maxBLASMajor {
		return nil, fmt.Errorf("it is rocBLAS %s, want %d.%d to %d", b.Version, minBLASMajor, minBLASMinor, maxBLASMajor)
	}
	return b, nil
}

func (b *BLAS) check(p *vendor.Proc, status int32) error {
	if status == 0 {
		return nil
	}
	e := &vendor.Error{Library: blasName, Call: p.Name, Code: int(status), Name: vendor.Text(b.c.text.Word(uintptr(status)))}
	switch status {
	case 5: // memory
		e.Kind = vendor.ErrOutOfMemory
	case 2, 3, 4, 11: // not implemented, invalid pointer, invalid size, invalid value
		e.Kind = vendor.ErrUnsupported
	}
	return e
}

// Try creates a handle and loads the kernels for the current device. If rocBLAS has no kernels for the device, it ends the process.
func (b *BLAS) Try() error {
	h, err := b.NewHandle()
	if err != nil {
		return err
	}
	b.c.prepare.Call()
	return h.Close()
}

// BLASHandle is a handle of rocBLAS on the device that was current when the handle was created. One goroutine at a time uses it.
type BLASHandle struct {
	b       *BLAS
	h       uintptr
	frame   vendor.Frame
	scalars [2]float64 // alpha and beta, in the compute type
}

// NewHandle creates a handle whose products have the same bits each time. Close releases it.
func (b *BLAS) NewHandle() (*BLASHandle, error) {
	h := &BLASHandle{b: b}
	if err := b.check(&b.c.create, b.c.create.Call(uintptr(unsafe.Pointer(&h.h)))); err != nil {
		return nil, err
	}
	const notAllowed = 0
	if err := b.check(&b.c.atomics, b.c.atomics.Call(h.h, notAllowed)); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// Close releases the handle.
func (h *BLASHandle) Close() error { return h.b.check(&h.b.c.destroy, h.b.c.destroy.Call(h.h)) }

// BLASMatrix describes a batch of column-major matrices in memory: element (r, c) of matrix i is at i*Stride + c*LD + r.
type BLASMatrix struct {
	At     streams.Ptr
	Type   BLASType
	LD     int32
	Stride int64
}

// Gemm is the product D = op(A)*op(B) + Beta*C of a batch, where op transposes or does nothing; D is M×N, and K is the inner dimension. The
// sums are of type Compute.
type Gemm struct {
	TransA, TransB bool
	M, N, K, Batch int32
	A, B, C, D     BLASMatrix
	Beta           float64
	Compute        BLASType
	Workspace      streams.Ptr
	WorkspaceSize  uint64
}

// Run enqueues a product on a stream. The error wraps vendor.ErrUnsupported if rocBLAS cannot compute the product.
func (h *BLASHandle) Run(s streams.Stream, g *Gemm) error {
	b := h.b
	if err := b.check(&b.c.stream, b.c.stream.Quick(h.h, uintptr(s), 0, 0)); err != nil {
		return err
	}
	if err := b.check(&b.c.workspace, b.c.workspace.Quick(h.h, uintptr(g.Workspace), uintptr(g.WorkspaceSize), 0)); err != nil {
		return err
	}
	operation := func(transposed bool) uintptr {
		if transposed {
			return BLASTransposed
		}
		return BLASPlain
	}
	h.scalars = [2]float64{1, g.Beta}
	if g.Compute == BLASF32 {
		*(*[2]float32)(unsafe.Pointer(&h.scalars)) = [2]float32{1, float32(g.Beta)}
	}
	size := uintptr(4)
	if g.Compute == BLASF64 {
		size = 8
	}
	alpha := uintptr(unsafe.Pointer(&h.scalars))
	const standard, solution, flags = 0, 0, 0
	h.frame.Set(&b.c.gemm, [vendor.FrameArgs]uintptr{h.h, operation(g.TransA), operation(g.TransB), uintptr(g.M), uintptr(g.N), uintptr(g.K), alpha,
		uintptr(g.A.At), uintptr(g.A.Type), uintptr(g.A.LD), uintptr(g.A.Stride), uintptr(g.B.At), uintptr(g.B.Type), uintptr(g.B.LD), uintptr(g.B.Stride), alpha + size,
		uintptr(g.C.At), uintptr(g.C.Type), uintptr(g.C.LD), uintptr(g.C.Stride), uintptr(g.D.At), uintptr(g.D.Type), uintptr(g.D.LD), uintptr(g.D.Stride),
		uintptr(g.Batch), uintptr(g.Compute), standard, solution, flags})
	return b.check(&b.c.gemm, h.frame.Call(unsafe.Pointer(h)))
}
