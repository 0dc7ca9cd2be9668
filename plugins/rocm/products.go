package rocm

import (
	"fmt"
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/rocm/internal/amd"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
	"github.com/goburn/burn/sdk/gpu/lt"
	"github.com/goburn/burn/sdk/gpu/streams"
)

// ltClasses are the alignments for which algorithms of hipBLASLt are requested. The header of hipBLASLt names no alignment; 16 bytes are
// the widest access of a kernel.
var ltClasses = []library.Class{{Align: 16, Most: 3}}

// ltRefuses returns an error for activations that hipBLASLt computes differently from burn: its relu is v_max_f32
// (tensilelite/Tensile/Activation.py), which turns NaN into 0.
func ltRefuses(p *gpu.Product) error {
	if p.Activation == gpu.ReLU {
		return library.Refuse("relu: it makes 0 of NaN")
	}
	return nil
}

// blas is rocBLAS as a gpu.Library: products whose only epilogue is a residual.
type blas struct {
	library.None
	device *device
	b      *amd.BLAS
	lanes  library.Lanes[*amd.BLASHandle]
}

// Name implements gpu.Library.
func (*blas) Name() string { return "rocBLAS" }

// Version implements gpu.Library.
func (l *blas) Version() string { return l.b.Version }

var blasTypes = map[lt.DataType]amd.BLASType{lt.F32: amd.BLASF32, lt.F64: amd.BLASF64, lt.F16: amd.BLASF16, lt.BF16: amd.BLASBF16}

// Product implements gpu.Library.
func (l *blas) Product(p gpu.Product) ([]gpu.Candidate, error) {
	s, err := library.Spec(&p)
	switch {
	case err != nil:
	case p.Bias != dtype.Invalid || p.Activation != gpu.None:
		err = library.Refuse("a bias or an activation")
	case max(p.M, p.N, p.K, p.Batch, int(s.A.LD), int(s.B.LD), int(s.D.LD)) > math.MaxInt32:
		err = library.Refuse("a dimension, batch or leading dimension of 2^31 or more")
	}
	if err != nil {
		return nil, streams.Named("rocBLAS", "product", err)
	}
	matrix := func(x lt.Layout) amd.BLASMatrix {
		return amd.BLASMatrix{Type: blasTypes[x.Type], LD: int32(x.LD), Stride: x.Stride}
	}
	c := &gemm{library: l, p: p, g: amd.Gemm{TransA: s.TransA, TransB: s.TransB, M: int32(p.N), N: int32(p.M), K: int32(p.K), Batch: int32(max(p.Batch, 1)),
		A: matrix(s.A), B: matrix(s.B), C: matrix(s.C), D: matrix(s.D), Compute: blasTypes[s.Scale]}}
	if p.Residual {
		c.g.Beta = 1
	}
	return []gpu.Candidate{c}, nil
}

// Close releases the handles. The device is current.
func (l *blas) Close() error { return l.lanes.Close() }

// gemm is the candidate of rocBLAS for a product. If rocBLAS has no kernel for the product, the call fails.
type gemm struct {
	library *blas
	p       gpu.Product
	g       amd.Gemm // without addresses
}

// Name implements gpu.Candidate.
func (c *gemm) Name() string {
	return fmt.Sprintf("rocBLAS %v %dx%dx%dx%d", c.p.D.Type, c.p.Batch, c.p.M, c.p.N, c.p.K)
}

// Workspace implements gpu.Candidate. It is never 0, because rocBLAS would then allocate its own memory.
func (c *gemm) Workspace() int64 { return library.ProductWorkspace }

// Ready implements gpu.Candidate.
func (c *gemm) Ready(args []gpu.Ref) error {
	return library.Aligned("rocBLAS", args, func(i int) int {
		if i < 2 {
			return c.p.A.Type.Size()
		}
		return c.p.D.Type.Size()
	})
}

// Call implements gpu.Candidate.
func (c *gemm) Call(x gpu.Queue, args []gpu.Ref, workspace gpu.Ref) error {
	q, l := x.(*streams.Queue), c.library.lanes.Take()
	defer l.Unlock()
	g := c.g
	g.A.At, g.B.At, g.D.At = streams.Address(args[1]), streams.Address(args[0]), streams.Address(args[2])
	if g.C.At = g.D.At; c.p.Residual {
		g.C.At = streams.Address(args[3])
	}
	g.Workspace, g.WorkspaceSize = streams.Address(workspace), library.ProductWorkspace
	return q.Call(c.Name(), "a product of rocBLAS", func(s streams.Stream) (err error) {
		if l.Handle == nil {
			if l.Handle, err = c.library.b.NewHandle(); err != nil {
				return err
			}
		}
		return l.Handle.Run(s, &g)
	})
}

// Close implements gpu.Candidate. There is nothing to release.
func (c *gemm) Close() {}
