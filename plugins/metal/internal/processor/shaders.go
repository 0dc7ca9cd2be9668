//go:build linux

package processor

import (
	"fmt"
	"unsafe"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/plugins/metal/internal/calls"
)

// Products returns the number of products that the library has computed.
func (a *API) Products() int { return int(a.products.Load()) }

// multiplier implements calls.Multiplier with sums in float64.
type multiplier struct {
	d *device
	m calls.Multiplication
}

// NewMultiplication implements calls.Device. It panics where MPS would end the process: if the shapes of the matrices do not fit, or the
// matrices overlap.
func (d *device) NewMultiplication(m calls.Multiplication) (calls.Multiplier, error) {
	switch d.o.Shaders {
	case "missing":
		return nil, fmt.Errorf("no library of products: %w", core.ErrUnsupported)
	case "refuse":
		return nil, fmt.Errorf("no kernel: %w", core.ErrOutOfMemory)
	}
	turn := func(rows, columns int, transposed bool) [2]int {
		if transposed {
			return [2]int{columns, rows}
		}
		return [2]int{rows, columns}
	}
	for i, want := range [3][2]int{turn(m.M, m.K, m.TransposeA), turn(m.K, m.N, m.TransposeB), {m.M, m.N}} {
		x := [3]calls.Matrix{m.A, m.B, m.C}[i]
		if m.Batch < 1 || x.Rows < 1 || x.Columns < 1 || [2]int{x.Rows, x.Columns} != want || x.RowBytes < 4*x.Columns || x.RowBytes%4 != 0 || x.MatrixBytes < x.Rows*x.RowBytes ||
			x.MatrixBytes%x.RowBytes != 0 {
			panic(fmt.Sprintf("matrix %d of %+v", i, m))
		}
	}
	return &multiplier{d, m}, nil
}

// Encode implements calls.Multiplier.
func (x *multiplier) Encode(on calls.Commands, buffers [3]calls.Buffer, offsets [3]int64) error {
	if x.d.o.Shaders == "encode" {
		return fmt.Errorf("a matrix of the library: %w", core.ErrKernel)
	}
	c, m := on.(*commands), x.m
	var data [3]func() []float32
	for i, l := range [3]calls.Matrix{m.A, m.B, m.C} {
		b, n := buffers[i].(*buffer), (m.Batch-1)*l.MatrixBytes+(l.Rows-1)*l.RowBytes+4*l.Columns
		if offsets[i]%4 != 0 || offsets[i] < 0 || offsets[i]+int64(n) > b.bytes {
			panic(fmt.Sprintf("%d bytes from %d on, of %d", n, offsets[i], b.bytes))
		}
		x.d.mu.Lock()
		b.holders++
		x.d.mu.Unlock()
		c.held = append(c.held, b)
		data[i] = func() []float32 { return unsafe.Slice((*float32)(unsafe.Pointer(&b.data[offsets[i]])), n/4) }
	}
	c.steps = append(c.steps, func() error {
		x.d.products.Add(1)
		left, right, result := data[0](), data[1](), data[2]()
		at := func(l calls.Matrix, transposed bool, batch, row, column int) int {
			if transposed {
				row, column = column, row
			}
			return (batch*l.MatrixBytes + row*l.RowBytes + 4*column) / 4
		}
		for n := range m.Batch {
			for i := range m.M {
				for j := range m.N {
					sum := 0.0
					for k := range m.K {
						sum += float64(left[at(m.A, m.TransposeA, n, i, k)]) * float64(right[at(m.B, m.TransposeB, n, k, j)])
					}
					result[at(m.C, false, n, i, j)] = float32(sum)
				}
			}
		}
		return nil
	})
	return nil
}

// Release implements calls.Multiplier.
func (*multiplier) Release() {}
