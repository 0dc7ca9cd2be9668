package train

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core/dtype"
	_ "github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/tensor"
)

type inner struct {
	T    *tensor.Tensor
	N    int
	Kids []inner
}

type outer struct {
	One    *tensor.Tensor
	None   *tensor.Tensor
	List   []*tensor.Tensor
	Pair   [2]*tensor.Tensor
	Named  map[string]*tensor.Tensor
	In     inner
	Ptr    *inner
	Name   string
	shared *tensor.Tensor
}

func (o *outer) all() []*tensor.Tensor {
	return []*tensor.Tensor{o.One, o.List[0], o.List[1], o.Pair[0], o.Pair[1], o.Named["a"], o.In.T, o.In.Kids[0].T, o.Ptr.T}
}

type own struct{ released *int }

func (o own) Release() { *o.released++ }

func TestBatches(t *testing.T) {
	d, err := tensor.Open(context.Background(), "cpu")
	require.NoError(t, err)
	defer d.Close()
	one := func() *tensor.Tensor { return d.Ones(dtype.F32, 2) }
	b := &outer{One: one(), List: []*tensor.Tensor{one(), one()}, Pair: [2]*tensor.Tensor{one(), one()}, Named: map[string]*tensor.Tensor{"a": one()},
		In: inner{T: one(), N: 3, Kids: []inner{{T: one()}}}, Ptr: &inner{T: one()}, Name: "batch", shared: one()}
	count := func() int64 {
		require.NoError(t, d.Sync(context.Background()))
		m, _ := d.Memory()
		return m.Tensors
	}
	before := count()
	tensor.Scope(d, func(s *tensor.Device) []*tensor.Tensor {
		v := view(b, s)
		require.NotSame(t, b, v)
		require.Equal(t, "batch", v.Name)
		require.Equal(t, 3, v.In.N)
		require.Nil(t, v.None)
		require.Same(t, b.shared, v.shared)
		for i, x := range v.all() {
			require.NotSame(t, b.all()[i], x)
			x.AddScalar(1) // belongs to the scope
		}
		return nil
	})
	require.Equal(t, before, count(), "results went with the scope, the batch stayed")
	release(b)
	require.Equal(t, before-9, count(), "the shared tensor stayed")

	plain := one()
	release(plain)
	require.Equal(t, before-9, count())
	n := 0
	release(own{&n})
	require.Equal(t, 1, n)
	require.Equal(t, 7, view(7, d))
	release("no tensors")
}
