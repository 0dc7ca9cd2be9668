package ref_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// opened returns device 0 of a new reference backend and a stream on it.
func opened(t *testing.T, options ...ref.Option) (core.Device, core.Stream) {
	t.Helper()
	b := ref.New(options...)
	d, err := b.Open(t.Context(), 0)
	require.NoError(t, err)
	s, err := d.OpenStream(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, b.Close())
	})
	return d, s
}

// submit runs an op on the stream and returns the elements of its first result.
func submit(t *testing.T, d core.Device, s core.Stream, c op.Code, in []ref.Tensor, attrs ...op.Attr) (ref.Tensor, error) {
	t.Helper()
	var descs []op.Desc
	var ids []op.TensorID
	for _, x := range in {
		x.Desc.ID = d.NewIDs(1)
		require.NoError(t, s.Write(t.Context(), x.Desc, x.Bytes()))
		descs, ids = append(descs, x.Desc), append(ids, x.Desc.ID)
	}
	n, err := op.New(c, descs, attrs...)
	require.NoError(t, err)
	first := d.NewIDs(len(n.Outputs))
	for k := range n.Outputs {
		n.Outputs[k].ID = first + op.TensorID(k)
	}
	n.Inputs = ids
	require.NoError(t, s.Submit([]op.Node{n}, nil))
	data := make([]byte, n.Outputs[0].Bytes())
	if err := core.Read(t.Context(), s, first, data); err != nil {
		return ref.Tensor{}, err
	}
	return ref.FromBytes(n.Outputs[0], data)
}

// A device writes, permutes and reads elements of every type without changing them. The backend has one device.
func TestBackend(t *testing.T) {
	d, s := opened(t)
	for _, e := range dtype.Any.List() {
		x := ref.Zeros(op.DescOf(e, 2, 3))
		for i := range 6 {
			if x.F != nil {
				x.F[i] = float64(i) - 2.5
			} else {
				x.I[i] = ref.Wrap(e, int64(i-2))
			}
		}
		got, err := submit(t, d, s, op.Permute, []ref.Tensor{x}, op.Ints("axes", 1, 0))
		require.NoError(t, err, e)
		for i := range 6 {
			from := i%2*3 + i/2
			if x.F != nil {
				require.Equal(t, x.F[from], got.F[i], e)
			} else {
				require.Equal(t, x.I[from], got.I[i], e)
			}
		}
	}
	info := ref.New().Info()
	require.Equal(t, "ref", info.Name)
	require.Len(t, info.Devices, 1)
	_, err := ref.New().Open(t.Context(), 1)
	require.ErrorIs(t, err, core.ErrNotFound)
}

// The reference claims every op of the table: ops with one operand and no attributes with every type of the operand, and Full with
// every type of the result.
func TestBackendClaims(t *testing.T) {
	d, _ := opened(t)
	caps := d.Capabilities()
	require.Len(t, caps.Ops, len(op.All()))
	for _, c := range op.All() {
		row := op.Lookup(c)
		var descs []op.Desc
		if len(row.Operands) != 1 || row.Operands[0].Types&dtype.Any == 0 || len(row.Attrs) > 0 {
			continue
		}
		for _, e := range row.Operands[0].Types.List() {
			descs = []op.Desc{op.DescOf(e, 2, 2)}
			n, err := op.New(c, descs)
			if err == nil {
				require.NoError(t, caps.Check(&n, descs), "%v of %v", c, e)
			}
		}
	}
	for _, e := range dtype.Any.List() {
		n, err := op.New(op.Full, nil, op.ScalarInt("value", 1), op.Type("dtype", e), op.Ints("shape", 2))
		require.NoError(t, err)
		require.NoError(t, caps.Check(&n, nil), e)
	}
}

// Claiming removes ops from the claims. A node with such an op fails with core.ErrUnsupported, and so does a read of its output.
func TestBackendClaiming(t *testing.T) {
	d, s := opened(t, ref.Claiming(func(c op.Code) bool { return op.Lookup(c).Class == op.Primitive && c != op.Exp }))
	require.NotContains(t, d.Capabilities().Ops, "exp")
	require.NotContains(t, d.Capabilities().Ops, "relu")
	require.Contains(t, d.Capabilities().Ops, "log")
	_, err := submit(t, d, s, op.Exp, []ref.Tensor{vec(dtype.F32, 1)})
	require.ErrorIs(t, err, core.ErrUnsupported)
	got, err := submit(t, d, s, op.Neg, []ref.Tensor{vec(dtype.F32, 1)})
	require.NoError(t, err, "a failed node is not the end of the stream")
	require.Equal(t, []float64{-1}, got.F)
}

// Declaring changes the capability document, and the device checks nodes against it.
func TestBackendDeclaring(t *testing.T) {
	d, s := opened(t, ref.Declaring(func(c *core.Capabilities) { c.Limits.Rank = 2 }))
	require.Equal(t, 2, d.Capabilities().Limits.Rank)
	_, err := submit(t, d, s, op.Full, nil, op.ScalarFloat("value", 3), op.Type("dtype", dtype.F32), op.Ints("shape", 1, 1, 1))
	require.ErrorIs(t, err, core.ErrUnsupported)
	got, err := submit(t, d, s, op.Full, nil, op.ScalarFloat("value", 3), op.Type("dtype", dtype.F32), op.Ints("shape", 1, 1))
	require.NoError(t, err)
	require.Equal(t, []float64{3}, got.F)
}

// Evaluating replaces the evaluation of nodes: the device returns its results and its errors.
func TestBackendEvaluating(t *testing.T) {
	broken := errors.New("planted")
	d, s := opened(t, ref.Evaluating(func(n *op.Node, in []ref.Tensor) ([]ref.Tensor, error) {
		if n.Op == op.Neg {
			return nil, broken
		}
		outs, err := ref.Eval(n, in)
		outs[0].F[0]++
		return outs, err
	}))
	got, err := submit(t, d, s, op.Add, []ref.Tensor{vec(dtype.F32, 1, 2), vec(dtype.F32, 10, 20)})
	require.NoError(t, err)
	require.Equal(t, []float64{12, 22}, got.F)
	_, err = submit(t, d, s, op.Neg, []ref.Tensor{vec(dtype.F32, 1)})
	require.ErrorContains(t, err, "planted")
}

// A node with a result of more than 4 GiB fails with core.ErrOutOfMemory before anything is allocated.
func TestBackendRefusesHugeResults(t *testing.T) {
	d, s := opened(t)
	n, err := op.New(op.Iota, nil, op.Type("dtype", dtype.F64), op.Ints("shape", 1<<40))
	require.NoError(t, err)
	n.Outputs[0].ID = d.NewIDs(1)
	require.NoError(t, s.Submit([]op.Node{n}, nil))
	require.ErrorIs(t, core.Sync(t.Context(), s), core.ErrOutOfMemory)
}

// Eval of an op without a reference returns core.ErrUnsupported.
func TestEvalOfUnknownOp(t *testing.T) {
	_, err := ref.Eval(&op.Node{Op: op.Code(60000)}, nil)
	require.ErrorIs(t, err, core.ErrUnsupported)
	require.False(t, ref.Has(op.Code(60000)))
}

// product returns a·bᵀ for the row-major matrices a[rows, cols] and b[others, cols].
func product(a, b []float64, rows, others, cols int) []float64 {
	out := make([]float64, rows*others)
	for i := range rows {
		for j := range others {
			for k := range cols {
				out[i*others+j] += a[i*cols+k] * b[j*cols+k]
			}
		}
	}
	return out
}

// singular returns the squared singular values of the matrix m[rows, cols]: the eigenvalues of m·mᵀ, computed by the reference.
func singular(t *testing.T, m []float64, rows, cols int) []float64 {
	t.Helper()
	gram := ref.Tensor{Desc: op.DescOf(dtype.F64, rows, rows), F: product(m, m, rows, rows, cols)}
	out, err := eval(t, op.Eigh, []ref.Tensor{gram})
	require.NoError(t, err)
	return out[0].F
}

// Each drawn matrix of a batch has the property of its kind and is far from singular.
func TestMatrix(t *testing.T) {
	for _, c := range []struct{ rows, cols int }{{1, 1}, {2, 2}, {5, 5}, {3, 6}, {6, 3}} {
		for _, kind := range []op.MatrixKind{op.Triangular, op.PositiveDefinite, op.Symmetric, op.AnyMatrix} {
			square := c.rows == c.cols
			if !square && kind != op.AnyMatrix {
				continue
			}
			d := op.DescOf(dtype.F64, 2, c.rows, c.cols)
			all := ref.Matrix(rand.New(rand.NewPCG(1, uint64(kind))), kind, d)
			again := ref.Matrix(rand.New(rand.NewPCG(1, uint64(kind))), kind, d)
			require.Equal(t, all, again, "equal seeds give equal matrices")
			size := c.rows * c.cols
			require.NotEqual(t, all.F[:size], all.F[size:], "matrices of a batch differ")
			for _, m := range [][]float64{all.F[:size], all.F[size:]} {
				at := func(i, j int) float64 { return m[i*c.cols+j] }
				switch kind {
				case op.Triangular: // both triangles are filled, for ops that must not read one of them
					for i := range c.rows {
						for j := range c.cols {
							if i == j {
								require.GreaterOrEqual(t, at(i, i), 1.0)
								require.Less(t, at(i, i), 2.0)
							} else {
								require.NotZero(t, at(i, j))
								require.LessOrEqual(t, max(at(i, j), -at(i, j)), 1/float64(c.cols))
							}
						}
					}
					continue
				case op.PositiveDefinite, op.Symmetric:
					for i := range c.rows {
						for j := range i {
							require.Equal(t, at(i, j), at(j, i))
						}
					}
				}
				values := singular(t, m, min(c.rows, c.cols), max(c.rows, c.cols))
				if c.rows > c.cols {
					values = singular(t, transposed(m, c.rows, c.cols), c.cols, c.rows)
				}
				for k, v := range values { // 0.75 + 0.5·k and at most 0.2 more, squared
					least := 0.75 + 0.5*float64(k)
					require.Greater(t, v, least*least-1e-9, "value %d of kind %v", k, kind)
					require.Less(t, v, (least+0.2)*(least+0.2)+1e-9, "value %d of kind %v", k, kind)
				}
				if kind == op.PositiveDefinite {
					x := ref.Tensor{Desc: op.DescOf(dtype.F64, c.rows, c.rows), F: m}
					out, err := eval(t, op.Eigh, []ref.Tensor{x})
					require.NoError(t, err)
					require.Greater(t, out[0].F[0], 0.7)
				}
			}
		}
	}
}

func transposed(m []float64, rows, cols int) []float64 {
	var out []float64
	for j := range cols {
		for i := range rows {
			out = append(out, m[i*cols+j])
		}
	}
	return out
}

// Symmetric matrices have eigenvalues of both signs. Otherwise they would test no more than positive-definite matrices.
func TestMatrixSigns(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	negative := 0
	for range 10 {
		m := ref.Matrix(r, op.Symmetric, op.DescOf(dtype.F64, 4, 4))
		out, err := eval(t, op.Eigh, []ref.Tensor{m})
		require.NoError(t, err)
		for _, v := range out[0].F {
			if v < 0 {
				negative++
			}
		}
	}
	require.Greater(t, negative, 5)
	require.Less(t, negative, 35)
}

// Elements are rounded to their type. A tensor of rank 1 stays zero, and a batch of empty matrices has no elements.
func TestMatrixTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	m := ref.Matrix(r, op.AnyMatrix, op.DescOf(dtype.BF16, 3, 3))
	for _, f := range m.F {
		require.Equal(t, ref.Round(dtype.BF16, f), f)
	}
	require.Equal(t, []float64{0, 0}, ref.Matrix(r, op.AnyMatrix, op.DescOf(dtype.F32, 2)).F)
	require.Empty(t, ref.Matrix(r, op.Symmetric, op.DescOf(dtype.F32, 2, 0, 0)).F)
}
