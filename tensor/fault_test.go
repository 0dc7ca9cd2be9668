package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Programming errors panic with *tensor.Error, which names the op, its operands and the requirement.
func TestFaults(t *testing.T) {
	d := open(t)
	x, v, n := d.Zeros(dtype.F32, 2, 3), d.Zeros(dtype.F32, 3), d.Zeros(dtype.I64, 2)
	img := d.Zeros(dtype.F32, 1, 2, 4, 4)
	for name, c := range map[string]struct {
		f    func()
		is   error
		text string
	}{
		"axis":          {func() { x.Softmax(2) }, core.ErrShape, "softmax"},
		"narrow":        {func() { x.Narrow(1, 2, 2) }, core.ErrShape, "narrow: 2 elements from 2 along axis 1 of f32[2,3], want a part of 3"},
		"select":        {func() { x.Select(1, 3) }, core.ErrShape, "want one in [-3, 3)"},
		"ranges":        {func() { v.SliceRanges(tensor.Range{}, tensor.Range{}) }, core.ErrShape, "2 ranges for f32[3], want at most 1"},
		"assign":        {func() { x.SliceAssign(d.Zeros(dtype.F32, 4)) }, core.ErrShape, "expand"},
		"split":         {func() { x.SplitSizes([]int{1, 1}, 1) }, core.ErrShape, "want a sum of 3"},
		"parts":         {func() { x.Split(0, 1) }, core.ErrShape, "parts of 0 elements"},
		"chunk":         {func() { x.Chunk(0, 1) }, core.ErrShape, "chunk: 0 parts"},
		"unfold":        {func() { x.Unfold(1, 4, 1) }, core.ErrShape, "unfold: windows of 4"},
		"move":          {func() { x.MoveAxis([]int{0, 0}, []int{0, 1}) }, core.ErrShape, "want distinct axes"},
		"lists":         {func() { x.MoveAxis([]int{0}, nil) }, core.ErrShape, "want lists of one length"},
		"flatten":       {func() { x.FlattenFrom(1, 0) }, core.ErrShape, "want them in order"},
		"squeeze":       {func() { x.SqueezeAll(0) }, core.ErrShape, "axis 0 of f32[2,3] has length 2, want 1"},
		"unsqueeze":     {func() { x.UnsqueezeAll(0, 0) }, core.ErrShape, "want distinct ones"},
		"rank":          {func() { x.UnsqueezeTo(1) }, core.ErrShape, "want 2 or more"},
		"dot":           {func() { v.Dot(d.Zeros(dtype.F32, 4)) }, core.ErrShape, "want the same length"},
		"dot rank":      {func() { x.Dot(v) }, core.ErrShape, "dot: f32[2,3] has rank 2, want 1"},
		"conv rank":     {func() { img.Conv1d(img, nil, tensor.ConvOptions{}) }, core.ErrShape, "conv1d: f32[1,2,4,4] has rank 4, want 3"},
		"conv bias":     {func() { img.Conv2d(img, x, tensor.ConvOptions{}) }, core.ErrShape, "want one for each of 1 channels"},
		"conv entries":  {func() { img.Conv(img, tensor.ConvOptions{Strides: []int{1, 1, 1}}) }, core.ErrAttr, "strides: 3 entries"},
		"pool":          {func() { v.MaxPool([]int{2, 2}, tensor.PoolOptions{}) }, core.ErrShape, "max_pool: window [2 2] over f32[3]"},
		"pool strides":  {func() { v.MaxPool([]int{2}, tensor.PoolOptions{Strides: []int{1, 2}}) }, core.ErrAttr, "strides: 2 entries"},
		"norm":          {func() { x.LayerNorm(-1, nil, v, 1e-5) }, core.ErrAttr, "layer_norm: operand 2 without the one before it"},
		"group norm":    {func() { v.GroupNorm(1, nil, nil, 1e-5) }, core.ErrShape, "group_norm: f32[3] has rank 1, want 2 or more"},
		"real":          {func() { v.Real() }, core.ErrShape, "real: f32[3], want a last dimension of 2"},
		"einsum":        {func() { tensor.Einsum("i") }, core.ErrShape, "einsum: no tensors"},
		"grid":          {func() { tensor.MeshGrid() }, core.ErrShape, "mesh_grid: no vectors"},
		"median":        {func() { d.Zeros(dtype.F32, 0).MedianWithIndices(0) }, core.ErrShape, "is empty"},
		"arange":        {func() { d.Arange(dtype.F32, 0, 1, 0) }, core.ErrAttr, "arange: from 0 to 1 by 0"},
		"integer step":  {func() { d.Arange(dtype.I64, 0, 3, 0.5) }, core.ErrAttr, "arange: i64 from 0 by 0.5, want a whole start and step"},
		"integer start": {func() { d.Arange(dtype.U8, 0.5, 3, 1) }, core.ErrAttr, "arange: u8 from 0.5 by 1"},
		"mask":          {func() { _, _ = x.MaskSelect(ctx, d.Zeros(dtype.Bool, 4)) }, core.ErrShape, "mask_select: "},
		"mask type":     {func() { _, _ = x.MaskSelect(ctx, v) }, core.ErrDType, "compress"},
		"float64":       {func() { _, _ = x.Float64(ctx) }, core.ErrShape, "float64: f32[2,3] has 6 elements, want 1"},
		"types":         {func() { x.Add(n) }, core.ErrDType, "add"},
		"mean of ints":  {func() { n.Mean() }, core.ErrDType, "mean"},
		"reduction":     {func() { v.MSELoss(v, "average") }, core.ErrAttr, "mse_loss"},
		"interpolation": {func() { v.Interpolate(tensor.InterpolateOptions{Mode: "bilinear"}, 2) }, core.ErrAttr, "interpolate"},
	} {
		err := tensor.Try(c.f)
		require.ErrorIs(t, err, c.is, name)
		require.ErrorContains(t, err, c.text, name)
	}
}

// A scalar operand takes the tensor's type, whatever it is.
func TestScalarsKeepTheType(t *testing.T) {
	d := open(t)
	for _, dt := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.I32, dtype.I16, dtype.I8, dtype.U64, dtype.U32, dtype.U16, dtype.U8} {
		x := d.Full(dt, 3, 2)
		for _, y := range []*tensor.Tensor{x.AddScalar(2), x.MulScalar(2).SubScalar(1), x.RSubScalar(8), x.MaximumScalar(5)} {
			require.Equal(t, dt, y.DType())
			require.Equal(t, []float64{5, 5}, widened(t, y), dt)
		}
	}
}

func widened(t *testing.T, x *tensor.Tensor) []float64 {
	b, err := x.Bytes(ctx)
	require.NoError(t, err)
	return tensor.Float64s(x.DType(), b)
}

// Methods work on tensors without elements and of rank 0.
func TestEmptyAndScalarTensors(t *testing.T) {
	d := open(t)
	none := d.Zeros(dtype.F32, 0, 3)
	require.Equal(t, "[0,3]", none.Softmax(1).Shape().String())
	require.Equal(t, []float32{0, 0, 0}, data[float32](t, none.Sum(0)))
	require.Empty(t, none.Unbind(0))
	require.Empty(t, none.Split(2, 0))
	require.Equal(t, "[0,2]", none.SliceRanges(tensor.Range{}, tensor.Range{Start: 1}).Shape().String())
	require.Equal(t, "[0,3]", none.SliceFill(1).Shape().String())
	require.Equal(t, "[0,3]", none.Dropout(0.5).Shape().String())
	one := d.Full(dtype.F32, 4)
	require.Equal(t, []float32{2}, data[float32](t, one.Sqrt()))
	require.Equal(t, []float32{4}, data[float32](t, one.Sum()))
	require.Equal(t, []float32{7}, data[float32](t, one.SliceFill(7)))
	require.Equal(t, []bool{true}, data[bool](t, one.Any()))
	require.Equal(t, "[1,1,1]", one.UnsqueezeTo(3).Shape().String())
}
