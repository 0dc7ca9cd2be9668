package nv

import "math"

// AttentionSpec describes the attention o = softmax(scale q k^T + mask) v, with tensors of dimensions batch, heads, length, head size, in
// f16 or bf16. The last stride of each is 1, and head sizes are multiples of 8, at most 256.
type AttentionSpec struct {
	Q, K, V, O TensorSpec
	Mask       *TensorSpec // added to the scores: dimensions batch, heads, length of q and of k, or 1 where it is the same for all; nil for none
	Causal     bool        // position i of q sees positions 0 to i of k
	Statistics bool        // write the logarithm of the sums of exponentials, which the backward pass reads: f32, dimensions batch, heads, length, 1
}

// AttentionTensors are the tensors of an attention graph. Scale and Low are scalars of type f32; Low replaces masked scores.
type AttentionTensors struct {
	Q, K, V, O, Mask, Statistics Tensor
	Scale, Low                   Tensor
	causal                       bool
}

// SetScalars stores the scale, and the value of masked scores, in a pack.
func (a *AttentionTensors) SetScalars(k *Pack, d *DNN, scale float32) {
	k.SetFloat32(a.Scale, scale)
	if a.causal {
		low := float32(math.Inf(-1))
		if d.Version < 91000 { // older engines use the value in computations
			low = -math.MaxFloat32
		}
		k.SetFloat32(a.Low, low)
	}
}

// Attention adds attention as the sequence of operations that every cuDNN 9 recognises. The statistics are part of the
// sequence: without them versions 9.14 to 9.26 have no engine. If the caller does not want them, they become a virtual tensor within the
// graph.
func (g *DNNGraph) Attention(s AttentionSpec) AttentionTensors {
	batch, heads, length, size := s.Q.Dims[0], s.Q.Dims[1], s.Q.Dims[2], s.Q.Dims[3]
	keys := s.K.Dims[2]
	a := AttentionTensors{Q: g.Tensor(s.Q), V: g.Tensor(s.V), O: g.Tensor(s.O), causal: s.Causal}
	kt := s.K
	if kt.Strides == nil {
		kt.Strides = RowMajorStrides(kt.Dims)
	}
	kt.Dims = []int64{s.K.Dims[0], s.K.Dims[1], size, keys}
	kt.Strides = []int64{kt.Strides[0], kt.Strides[1], kt.Strides[3], kt.Strides[2]}
	a.K = g.Tensor(kt)
	scores := func(t DNNType) Tensor { return g.Virtual(t, batch, heads, length, keys) }
	rows := func() Tensor { return g.Virtual(DNNF32, batch, heads, length, 1) }
	pointwise := func(op Pointwise, y Tensor, x ...Tensor) {
		g.Pointwise(PointwiseSpec{Op: op, Compute: DNNF32}, y, x...)
	}

	product := scores(DNNF32)
	g.Matmul(DNNF32, a.Q, a.K, product)
	a.Scale = g.Scalar(DNNF32, 4)
	last := scores(DNNF32)
	pointwise(PwMul, last, product, a.Scale)
	if s.Mask != nil {
		a.Mask = g.Tensor(*s.Mask)
		sum := scores(DNNF32)
		pointwise(PwAdd, sum, last, a.Mask)
		last = sum
	}
	if s.Causal {
		row, column, sees, masked := scores(DNNI32), scores(DNNI32), scores(DNNBool), scores(DNNF32)
		g.Pointwise(PointwiseSpec{Op: PwIndex, Compute: DNNF32, Axis: 2}, row, last)
		g.Pointwise(PointwiseSpec{Op: PwIndex, Compute: DNNF32, Axis: 3}, column, last)
		g.Pointwise(PointwiseSpec{Op: PwGreaterEq, Compute: DNNBool}, sees, row, column)
		a.Low = g.Scalar(DNNF32, 4)
		pointwise(PwSelect, masked, last, a.Low, sees)
		last = masked
	}
	highest, sum := rows(), rows()
	g.Reduce(ReduceMax, DNNF32, last, highest)
	shifted, powers := scores(DNNF32), scores(DNNF32)
	pointwise(PwSub, shifted, last, highest)
	pointwise(PwExp, powers, shifted)
	g.Reduce(ReduceAdd, DNNF32, powers, sum)
	log := rows()
	pointwise(PwLog, log, sum)
	statistics := g.Tensor(TensorSpec{Type: DNNF32, Dims: []int64{batch, heads, length, 1}, Virtual: !s.Statistics})
	pointwise(PwAdd, statistics, highest, log)
	if s.Statistics {
		a.Statistics = statistics
	}
	weights := scores(s.Q.Type)
	pointwise(PwDiv, weights, powers, sum)
	g.Matmul(DNNF32, weights, a.V, a.O)
	return a
}
