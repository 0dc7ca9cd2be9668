package program

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// kinds returns a program with attributes of many kinds.
func kinds(t testing.TB) *Program {
	x := op.Desc{ID: 1, DType: dtype.F32, Shape: []int{2, 3}}
	id := op.TensorID(1)
	b := op.NewBuilder(func() op.TensorID { id++; return id })
	y := b.Un(op.Sum, x, op.Ints("axes", 0), op.Flag("keep_dims", true))
	f := b.With(op.Full, nil, op.Dims("shape", nil), op.ScalarFloat("value", math.Inf(1)), op.Type("dtype", dtype.F32))
	z := b.Un(op.LeakyRelu, b.Do(op.Mul, y, f), op.Float("alpha", math.NaN()))
	require.NoError(t, b.Err())
	return &Program{Name: "kinds", Inputs: []op.Desc{x}, Nodes: b.Nodes, Outputs: []op.TensorID{z.ID, x.ID}}
}

func TestTextKeepsPrograms(t *testing.T) {
	for _, p := range []*Program{chain(t), kinds(t), {Name: "empty"}} {
		data, err := json.Marshal(p)
		require.NoError(t, err)
		var q Program
		require.NoError(t, json.Unmarshal(data, &q))
		require.NoError(t, q.Check())
		require.Equal(t, p.String(), q.String())
		for i := range p.Nodes {
			require.True(t, p.Nodes[i].Attrs.Equal(q.Nodes[i].Attrs))
		}
	}
}

func TestTextRefuses(t *testing.T) {
	for text, is := range map[string]error{
		`{"nodes":[{"op":"no_such","version":1}]}`:                                    op.ErrUnsupported,
		`{"nodes":[{"op":"add","version":99}]}`:                                       op.ErrUnsupported,
		`{"inputs":[{"id":1,"dtype":"f33","shape":[]}]}`:                              op.ErrDType,
		`{"nodes":[{"op":"add","version":1,"attrs":[{"name":"x","kind":77}]}]}`:       op.ErrAttr,
		`{"nodes":[{"op":"add","version":1,"out":[{"id":1,"dtype":"","shape":[]}]}]}`: op.ErrDType,
	} {
		require.ErrorIs(t, json.Unmarshal([]byte(text), new(Program)), is, text)
	}
	require.Error(t, json.Unmarshal([]byte(`{"nodes":7}`), new(Program)))
}

// For any text, decoding and checking it returns a program or an error, and a legal program is decoded as it was encoded.
func FuzzText(f *testing.F) {
	data, err := json.Marshal(kinds(f))
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(`{"nodes":[{"op":"add","version":1,"in":[1,1],"out":[{"id":2,"dtype":"f32","shape":[-1,9999999999]}]}],"outputs":[2]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p, q Program
		if json.Unmarshal(data, &p) != nil || p.Check() != nil {
			return
		}
		again, err := json.Marshal(&p)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(again, &q))
		require.Equal(t, p.String(), q.String())
	})
}
