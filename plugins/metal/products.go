package metal

import (
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/commands"
)

// shaders are Metal Performance Shaders as a gpu.Library: products of f32 without an epilogue. The type in which MPS adds up products of
// f16 is not documented, so burn's own kernels compute these.
type shaders struct{ device *device }

// Name implements gpu.Library.
func (shaders) Name() string { return "MPS" }

// Version implements gpu.Library: the library is part of the system.
func (l shaders) Version() string { return l.device.facts.System }

// Convolution implements gpu.Library.
func (shaders) Convolution(gpu.Convolution) ([]gpu.Candidate, error) { return nil, nil }

// Attention implements gpu.Library.
func (shaders) Attention(gpu.Attention) ([]gpu.Candidate, error) { return nil, nil }

// Product implements gpu.Library.
func (l shaders) Product(p gpu.Product) ([]gpu.Candidate, error) {
	m, err := multiplication(&p)
	if err != nil {
		return nil, err
	}
	x, err := l.device.calls.NewMultiplication(m)
	if err != nil {
		return nil, fmt.Errorf("MPS: %w", err)
	}
	return []gpu.Candidate{&multiplier{x, p}}, nil
}

// multiplication returns the description of a product for MPS, whose matrices are stored row by row and whose batches have no broadcast
// factors.
func multiplication(p *gpu.Product) (m calls.Multiplication, err error) {
	for _, x := range []gpu.Matrix{p.A, p.B, p.D} {
		if x.Type != dtype.F32 {
			return m, refuse("product of %v", x.Type)
		}
	}
	if p.Bias != dtype.Invalid || p.Residual || p.Activation != gpu.None {
		return m, refuse("product with an epilogue")
	}
	if p.Batch > 1 && (p.A.Batch == 0 || p.B.Batch == 0) {
		return m, refuse("the same factor for a batch")
	}
	m = calls.Multiplication{M: p.M, N: p.N, K: p.K, Batch: max(p.Batch, 1)}
	m.A, m.TransposeA = stored(p.A, p.M, p.K)
	m.B, m.TransposeB = stored(p.B, p.K, p.N)
	turned := false
	if m.C, turned = stored(p.D, p.M, p.N); turned {
		return m, refuse("result column by column")
	}
	for _, x := range []calls.Matrix{m.A, m.B, m.C} {
		if x.Rows < 1 || x.Columns < 1 || x.RowBytes < 4*x.Columns || m.Batch > 1 && (x.MatrixBytes < x.Rows*x.RowBytes || x.MatrixBytes%x.RowBytes != 0) {
			return m, refuse("matrix of %d×%d in rows of %d bytes, %d apart", x.Rows, x.Columns, x.RowBytes, x.MatrixBytes)
		}
	}
	return m, nil
}

// stored returns the row-by-row layout of a matrix, and whether that is the layout of its transpose.
func stored(x gpu.Matrix, rows, columns int) (m calls.Matrix, transposed bool) {
	ld := x.Row
	if x.Col != 1 {
		rows, columns, ld, transposed = columns, rows, x.Col, true
	}
	matrix := x.Batch
	if matrix == 0 { // there is no batch
		matrix = rows * ld
	}
	return calls.Matrix{Rows: rows, Columns: columns, RowBytes: 4 * ld, MatrixBytes: 4 * matrix}, transposed
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("MPS: %s: %w", fmt.Sprintf(format, args...), core.ErrUnsupported)
}

// multiplier is the candidate of MPS for a product.
type multiplier struct {
	calls.Multiplier
	p gpu.Product
}

// Name implements gpu.Candidate.
func (x *multiplier) Name() string {
	return fmt.Sprintf("MPSMatrixMultiplication %dx%dx%dx%d", x.p.Batch, x.p.M, x.p.N, x.p.K)
}

// Workspace implements gpu.Candidate.
func (*multiplier) Workspace() int64 { return 0 }

// Ready implements gpu.Candidate.
func (*multiplier) Ready(args []gpu.Ref) error {
	if len(args) != 3 || slices.ContainsFunc(args, func(r gpu.Ref) bool { return r.Offset%16 != 0 }) {
		return refuse("%d operands, or an offset that is no multiple of 16", len(args))
	}
	return nil
}

// Call implements gpu.Candidate.
func (x *multiplier) Call(q gpu.Queue, args []gpu.Ref, _ gpu.Ref) error {
	return commands.Encode(q, args, func(c commands.Commands, buffers []commands.Buffer) error {
		return x.Encode(c, [3]calls.Buffer(buffers), [3]int64{args[0].Offset, args[1].Offset, args[2].Offset})
	})
}

// Close implements gpu.Candidate.
func (x *multiplier) Close() { x.Release() }
