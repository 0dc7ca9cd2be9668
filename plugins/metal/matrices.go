package metal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/calls"
	"github.com/goburn/burn/sdk/gpu/dialect"
	"github.com/goburn/burn/sdk/gpu/ir"
)

// hidden reports whether BURN_METAL_HIDE lists a part of Metal, mps or matrices, which then counts as missing.
func hidden(part string) bool {
	return slices.Contains(strings.Split(os.Getenv("BURN_METAL_HIDE"), ","), part)
}

// matrices returns the matrix instructions that kernels use on a device, or an error that says why kernels use no matrix instructions.
// Apple does not document which thread holds which element of a simdgroup matrix, nor how exact products are; a product with known results
// shows both.
func matrices(d calls.Device) (m []ir.MMA, err error) {
	for _, family := range d.Facts().Families {
		if all := dialect.MetalMatrices(family); len(all) > 0 {
			m = all
		}
	}
	switch {
	case len(m) == 0:
		return nil, errors.New("the family has none")
	case hidden("matrices"):
		return nil, errors.New("hidden by BURN_METAL_HIDE")
	}
	got, err := tryMatrices(d)
	if err == nil {
		err = checkMatrices(m[0], got)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// matrixText multiplies two matrices of the first buffer and adds 3. It writes to the second buffer the elements of the left factor and of
// the result that each thread holds, and the result row by row.
const matrixText = `#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(32)]] kernel void matrices(device const float* in [[buffer(0)]], device float* out [[buffer(1)]], uint lane_at [[thread_index_in_simdgroup]]) {
	simdgroup_float8x8 a, b, c = make_filled_simdgroup_matrix<float, 8, 8>(3.0f);
	simdgroup_load(a, in, 8);
	simdgroup_load(b, in + 64, 8);
	simdgroup_multiply_accumulate(c, a, b, c);
	for (uint e = 0; e < 2u; e++) {
		out[2u * lane_at + e] = a.thread_elements()[e];
		out[64u + 2u * lane_at + e] = c.thread_elements()[e];
	}
	simdgroup_store(c, out + 128, 8);
}
`

// matrixFactors returns a left factor whose elements differ and need all 24 bits, and a right factor that permutes columns and changes
// signs, so that results are exact unless the hardware rounds factors.
func matrixFactors() (a, b [64]float32) {
	for i := range 64 {
		a[i] = float32(1<<23 + 1 + 2*i)
	}
	for row := range 8 {
		b[8*row+(3*row+1)%8] = float32(1 - row%2*2)
	}
	return a, b
}

// trial limits the time of the product. If the product takes longer, the device is used without matrices.
const trial = 20 * time.Second

// tryMatrices runs matrixText on matrixFactors, and returns the contents of the second buffer.
func tryMatrices(d calls.Device) ([]float32, error) {
	l, err := d.NewLibrary(exact + matrixText)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	p, err := l.Pipeline("matrices")
	if err != nil {
		return nil, err
	}
	defer p.Release()
	if p.Width() != 32 {
		return nil, fmt.Errorf("simdgroups have %d threads: %w", p.Width(), core.ErrUnsupported)
	}
	memory, err := d.NewBuffer(4 * 5 * 64)
	if err != nil {
		return nil, err
	}
	defer memory.Release()
	x := dtype.Slice[float32](memory.Contents())
	a, b := matrixFactors()
	copy(x, append(a[:], b[:]...))
	q, err := d.NewQueue(1)
	if err != nil {
		return nil, err
	}
	defer q.Release()
	e, err := d.NewEvent()
	if err != nil {
		return nil, err
	}
	defer e.Release()
	c, err := q.NewCommands()
	if err != nil {
		return nil, err
	}
	defer c.Release()
	c.SetPipeline(p)
	c.SetBuffer(0, memory, 0)
	c.SetBuffer(1, memory, 4*2*64)
	c.Dispatch([3]int{1, 1, 1}, 32)
	c.Commit(e, 1)
	if !e.Wait(1, trial) {
		if _, err := c.Done(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("a product was not ready within %v: %w", trial, core.ErrBackendLost)
	}
	return slices.Clone(x[2*64:]), nil
}

// checkMatrices returns an error if the results of matrixText are not exact, or not in the order of elements that m describes.
func checkMatrices(m ir.MMA, got []float32) error {
	a, b := matrixFactors()
	var c [64]float32
	for i := range c {
		sum := 3.0
		for k := range 8 {
			sum += float64(a[i/8*8+k]) * float64(b[8*k+i%8])
		}
		c[i] = float32(sum)
	}
	for lane := range 32 {
		for e := range 2 {
			row, column := m.Accumulator(32, lane, e)
			for n, want := range [2]float32{a[8*row+column], c[8*row+column]} {
				if x := got[64*n+2*lane+e]; x != want {
					return fmt.Errorf("thread %d holds %v where row %d, column %d of a matrix is %v", lane, x, row, column, want)
				}
			}
		}
	}
	for i, want := range c {
		if x := got[128+i]; math.Float32bits(x) != math.Float32bits(want) {
			return fmt.Errorf("a product is %v, want %v", x, want)
		}
	}
	return nil
}
