//go:build linux

package metal

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/metal/internal/processor"
	"github.com/goburn/burn/sdk/gpu"
)

// TestProductCases checks that products of f32 agree with the reference of the suite if the system's library computes them, and if it is missing or
// refuses to create or encode a kernel, so that burn's own kernels compute.
func TestProductCases(t *testing.T) {
	for _, fault := range []string{"", "missing", "refuse", "encode"} {
		t.Run(fault, func(t *testing.T) {
			api := onProcessor(t, processor.Options{Shaders: fault})
			o := conformance.Options{Run: `^matmul/f32/[^/]+/plain$`, Sample: 4, Shrink: -1}
			conformance.Run(t, func() (core.Backend, error) { return Over(api, nil)(quiet) }, o)
			require.Equal(t, fault == "", api.Products() > 0)
		})
	}
}

// TestMultiplication checks products of batches, of transposed factors and of rows with gaps, at an offset of their buffers.
func TestMultiplication(t *testing.T) {
	d := openDevice(t, processor.Options{}, time.Minute)
	defer d.Close()
	q, err := d.OpenQueue()
	require.NoError(t, err)
	defer q.Close()
	l := d.Libraries()
	require.Len(t, l, 1)
	const m, n, k, batch = 3, 5, 4, 2
	random := rand.New(rand.NewPCG(1, 2))
	for _, p := range []gpu.Product{
		{Batch: 1, A: gpu.Matrix{Row: k, Col: 1}, B: gpu.Matrix{Row: n, Col: 1}, D: gpu.Matrix{Row: n, Col: 1}},
		{Batch: batch, A: gpu.Matrix{Row: 1, Col: m, Batch: m * k}, B: gpu.Matrix{Row: 1, Col: k, Batch: n * k}, D: gpu.Matrix{Row: 8, Col: 1, Batch: 24}},
		{Batch: batch, A: gpu.Matrix{Row: 6, Col: 1, Batch: 18}, B: gpu.Matrix{Row: 1, Col: 7, Batch: 35}, D: gpu.Matrix{Row: n, Col: 1, Batch: m * n}},
	} {
		p.M, p.N, p.K = m, n, k
		p.A.Type, p.B.Type, p.D.Type = dtype.F32, dtype.F32, dtype.F32
		found, err := l[0].Product(p)
		require.NoError(t, err)
		require.Len(t, found, 1)
		const first = 16 // elements before each matrix
		args, data := make([]gpu.Ref, 3), make([][]float32, 3)
		for i := range args {
			data[i] = make([]float32, 120)
			for j := range data[i] {
				data[i][j] = float32(random.IntN(9) - 4)
			}
			block, err := d.Alloc(480)
			require.NoError(t, err)
			defer d.Free(block)
			require.NoError(t, q.Upload(gpu.Ref{Memory: block}, dtype.Bytes(data[i])))
			args[i] = gpu.Ref{Memory: block, Offset: 4 * first}
		}
		require.NoError(t, found[0].Ready(args))
		require.NoError(t, found[0].Call(q, args, gpu.Ref{}))
		got := make([]float32, 120)
		require.NoError(t, q.Download(dtype.Bytes(got), gpu.Ref{Memory: args[2].Memory}))
		require.NoError(t, q.Synchronize())
		want := data[2]
		for b := range p.Batch {
			for i := range m {
				for j := range n {
					sum := float32(0)
					for x := range k {
						sum += data[0][first+b*p.A.Batch+i*p.A.Row+x*p.A.Col] * data[1][first+b*p.B.Batch+x*p.B.Row+j*p.B.Col]
					}
					want[first+b*p.D.Batch+i*p.D.Row+j] = sum
				}
			}
		}
		require.Equal(t, want, got, "and nothing else was written")
		args[1].Offset = 4
		require.ErrorIs(t, found[0].Ready(args), core.ErrUnsupported)
		found[0].Close()
	}
}

// TestProductRefusals checks that products that MPS does not support, or does not document, are refused without calling it.
func TestProductRefusals(t *testing.T) {
	f32 := func(row, col int) gpu.Matrix { return gpu.Matrix{Type: dtype.F32, Row: row, Col: col} }
	good := gpu.Product{M: 2, N: 3, K: 4, A: f32(4, 1), B: f32(3, 1), D: f32(3, 1)}
	_, err := multiplication(&good)
	require.NoError(t, err)
	for says, change := range map[string]func(p *gpu.Product){
		"product of f16":   func(p *gpu.Product) { p.A.Type = dtype.F16 },
		"an epilogue":      func(p *gpu.Product) { p.Residual = true },
		"column by column": func(p *gpu.Product) { p.D = f32(1, 2) },
		"rows of 0 bytes":  func(p *gpu.Product) { p.B = f32(0, 1) },
		"28 apart":         func(p *gpu.Product) { p.Batch, p.A.Batch, p.B.Batch, p.D.Batch = 2, 8, 7, 6 },
		"the same factor":  func(p *gpu.Product) { p.Batch, p.A.Batch, p.B.Batch, p.D.Batch = 2, 0, 12, 6 },
	} {
		p := good
		change(&p)
		_, err := multiplication(&p)
		require.ErrorIs(t, err, core.ErrUnsupported, says)
		require.ErrorContains(t, err, says)
	}
}
