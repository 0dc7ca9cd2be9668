package apple

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

// multiplier implements calls.Multiplier.
type multiplier struct {
	owned
	layouts [3]id // retained descriptors of the matrices
}

func (d *device) NewMultiplication(m calls.Multiplication) (x calls.Multiplier, err error) {
	r := d.r
	if r.supports == nil || !r.supports(d.self) {
		return nil, fmt.Errorf("Metal Performance Shaders do not support the device: %w", core.ErrUnsupported)
	}
	r.pooled(func() {
		k := r.messageProduct(initProduct, r.message(alloc, class("MPSMatrixMultiplication")), object(d.self), boolean(m.TransposeA), boolean(m.TransposeB),
			unsigned(uint64(m.M)), unsigned(uint64(m.N)), unsigned(uint64(m.K)), double(1), double(0))
		if k == 0 {
			err = fmt.Errorf("a kernel of MPS: %w", core.ErrUnsupported)
			return
		}
		p := &multiplier{owned: owned{r, k}}
		for i, l := range [3]calls.Matrix{m.A, m.B, m.C} {
			p.layouts[i] = r.message(retain, r.message(matrixDescriptor, class("MPSMatrixDescriptor"), unsigned(uint64(l.Rows)), unsigned(uint64(l.Columns)),
				unsigned(uint64(m.Batch)), unsigned(uint64(l.RowBytes)), unsigned(uint64(l.MatrixBytes)), enumeration(dataTypeF32)))
		}
		x = p
	})
	return x, err
}

// Encode implements calls.Multiplier. The kernel creates its own encoder.
func (x *multiplier) Encode(on calls.Commands, buffers [3]calls.Buffer, offsets [3]int64) (err error) {
	c, r := on.(*commands), x.r
	c.end()
	r.pooled(func() {
		var matrices [3]id
		for i, b := range buffers {
			matrices[i] = r.message(initMatrix, r.message(alloc, class("MPSMatrix")), object(b.(*buffer).self), unsigned(uint64(offsets[i])), object(x.layouts[i]))
			if matrices[i] == 0 {
				err = fmt.Errorf("a matrix of MPS: %w", core.ErrKernel)
			}
		}
		if err == nil {
			r.message(encodeProduct, x.self, object(c.self), object(matrices[0]), object(matrices[1]), object(matrices[2]))
		}
		for _, m := range matrices {
			r.message(release, m)
		}
	})
	return err
}

// Release implements calls.Multiplier.
func (x *multiplier) Release() {
	for _, l := range x.layouts {
		x.r.message(release, l)
	}
	x.owned.Release()
}
