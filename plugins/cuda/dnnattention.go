package cuda

import (
	"fmt"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/plugins/cuda/internal/nv"
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
)

// maxWidth is the largest width of a head for which cuDNN has attention.
const maxWidth = 256

// Attention implements gpu.Library, for types of 16 bits.
func (l *dnn) Attention(a gpu.Attention) ([]gpu.Candidate, error) {
	what := fmt.Sprintf("attention of %v [%d %d %d %d] over %d", a.Type, a.Batch, a.Heads, a.Queries, a.Width, a.Keys)
	spec, err := attentionSpec(&a)
	if err == nil {
		err = attentionFault(l.device.libs.DNN.Version, l.device.facts.capability, &a)
	}
	if err != nil {
		return nil, named(what, err)
	}
	return l.build(what, a, nv.PlanOptions{Forbid: []nv.Note{nv.NoteDownConvert, nv.NoteNondeterministic}}, func(g *nv.DNNGraph, k *nv.Pack) ([]nv.Tensor, error) {
		t := g.Attention(spec)
		t.SetScalars(k, l.device.libs.DNN, float32(a.Scale))
		all := []nv.Tensor{t.Q, t.K, t.V, t.O}
		if spec.Mask != nil {
			all = append(all, t.Mask)
		}
		return all, nil
	})
}

// attentionSpec returns attention as cuDNN describes it.
func attentionSpec(a *gpu.Attention) (s nv.AttentionSpec, err error) {
	t, ok := dnnTypes[a.Type]
	switch {
	case !ok || !isHalf(a.Type):
		return s, library.Refuse("attention of %v", a.Type)
	case a.Width%8 != 0 || a.ValueWidth%8 != 0 || a.Width > maxWidth || a.ValueWidth > maxWidth || a.Width == 0 || a.ValueWidth == 0:
		return s, library.Refuse("attention of heads %d and %d wide, want multiples of 8 up to %d", a.Width, a.ValueWidth, maxWidth)
	case a.KeyHeads == 0 || a.Heads%a.KeyHeads != 0:
		return s, library.Refuse("attention of %d heads of queries and %d of keys", a.Heads, a.KeyHeads)
	case a.Scale == 0:
		return s, library.Refuse("attention with scale 0")
	}
	tensor := func(heads, length, width int, given [4]int) nv.TensorSpec {
		dims := []int{a.Batch, heads, length, width}
		st, e := library.Strides(dims, given[:])
		if e == nil && (st[3] != 1 || st[0]%8 != 0 || st[1]%8 != 0 || st[2]%8 != 0) {
			e = library.Refuse("attention of a tensor with strides %v, want multiples of 8 but for the last", given)
		}
		if e != nil {
			err = e
		}
		return nv.TensorSpec{Type: t, Dims: library.Int64s(dims), Strides: st, Align: operandAlign}
	}
	s = nv.AttentionSpec{Causal: a.Causal,
		Q: tensor(a.Heads, a.Queries, a.Width, a.QStrides), K: tensor(a.KeyHeads, a.Keys, a.Width, a.KStrides),
		V: tensor(a.KeyHeads, a.Keys, a.ValueWidth, a.VStrides), O: tensor(a.Heads, a.Queries, a.ValueWidth, a.OutStrides)}
	if a.Mask != dtype.Invalid {
		m, e := maskSpec(a)
		if e != nil {
			err = e
		}
		s.Mask = &m
	}
	return s, err
}

// maskSpec returns the tensor of the mask. Dimensions with stride 0, along which the mask is broadcast, become 1.
func maskSpec(a *gpu.Attention) (nv.TensorSpec, error) {
	t, ok := dnnTypes[a.Mask]
	if !ok || a.Mask == dtype.F64 {
		return nv.TensorSpec{}, library.Refuse("attention with a mask of %v", a.Mask)
	}
	m := nv.TensorSpec{Type: t, Align: operandAlign, Dims: library.Int64s([]int{a.Batch, a.Heads, a.Queries, a.Keys}), Strides: library.Int64s(a.MaskStrides[:])}
	for i, s := range m.Strides {
		switch {
		case s < 0:
			return m, library.Refuse("attention with a mask of strides %v", a.MaskStrides)
		case s == 0:
			m.Dims[i] = 1
		}
	}
	for i := 3; i >= 0; i-- { // a dimension of 1 needs a stride too
		if m.Strides[i] == 0 {
			m.Strides[i] = 1
			if i < 3 {
				m.Strides[i] = m.Strides[i+1] * m.Dims[i+1]
			}
		}
	}
	return m, nil
}
