package contraction

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
)

// FoldNorm prepares the folding of a batch normalisation with parameters p (scale, bias, mean, variance) into the weights
// w of a convolution and its bias, which may be nil. The returned function creates new weights and a new bias, each with a
// reference count of one. FoldNorm returns nil for types in which batch normalisation is computed only after widening.
func FoldNorm(env *kernel.Env, epsilon float64, w kernel.Array, bias *kernel.Array, p [4]kernel.Array) func() (kernel.Array, kernel.Array, error) {
	switch w.DType {
	case dtype.F32:
		return func() (kernel.Array, kernel.Array, error) { return foldNorm[float32](env, epsilon, w, bias, p) }
	case dtype.F64:
		return func() (kernel.Array, kernel.Array, error) { return foldNorm[float64](env, epsilon, w, bias, p) }
	}
	return nil
}

func foldNorm[T float32 | float64](env *kernel.Env, epsilon float64, w kernel.Array, bias *kernel.Array, p [4]kernel.Array) (_, _ kernel.Array, err error) {
	outputs := w.View.Shape[0]
	var params [5][]T
	for i := range p {
		params[i] = make([]T, outputs)
		kernel.Read(env.Pool, kernel.Bytes(params[i]), p[i])
	}
	params[4] = make([]T, outputs)
	if bias != nil {
		kernel.Read(env.Pool, kernel.Bytes(params[4]), *bias)
	}
	scale, shift, mean, variance, before := params[0], params[1], params[2], params[3], params[4]
	weights, err := env.Account.New(w.Size() * w.DType.Size())
	if err != nil {
		return kernel.Array{}, kernel.Array{}, err
	}
	offsets, err := env.Account.New(outputs * w.DType.Size())
	if err != nil {
		weights.Release()
		return kernel.Array{}, kernel.Array{}, err
	}
	nw := kernel.Array{Buf: weights, DType: w.DType, View: shape.Contiguous(w.View.Shape)}
	nb := kernel.Array{Buf: offsets, DType: w.DType, View: shape.Contiguous(shape.Of(outputs))}
	kernel.Copy(env.Pool, nw, w)
	data, out := kernel.Flat[T](nw), kernel.Flat[T](nb)
	for o := range outputs {
		f := float64(scale[o]) / math.Sqrt(float64(variance[o])+epsilon)
		row := data[o*len(data)/outputs : (o+1)*len(data)/outputs]
		for i := range row {
			row[i] = T(float64(row[i]) * f)
		}
		out[o] = T((float64(before[o])-float64(mean[o]))*f + float64(shift[o]))
	}
	return nw, nb, nil
}
