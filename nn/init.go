package nn

import (
	"math"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Init draws the initial values of a parameter. Its zero value means the default of the layer. Draws use the device's generator:
// after Device.Seed a model has the same parameters on every backend.
type Init struct {
	name string
	draw func(d *tensor.Device, f fan, dims []int) *tensor.Tensor
}

// fan holds the number of operands per result, and the number of results per operand.
type fan struct{ in, out int }

// New returns an f32 tensor of the given dimensions for a layer with fanIn operands per result and fanOut results per operand.
// The zero Init returns zeros.
func (i Init) New(d *tensor.Device, fanIn, fanOut int, dims ...int) *tensor.Tensor {
	if i.draw == nil {
		i = Zeros()
	}
	return tensor.NoGrad(d, func(d *tensor.Device) []*tensor.Tensor {
		return []*tensor.Tensor{i.draw(d, fan{fanIn, fanOut}, dims)}
	})[0]
}

// String returns the name of the distribution.
func (i Init) String() string { return or(i.name, "default") }

func (i Init) or(def Init) Init {
	if i.draw == nil {
		return def
	}
	return i
}

// Constant sets every element to v.
func Constant(v float64) Init {
	return Init{"constant", func(d *tensor.Device, _ fan, dims []int) *tensor.Tensor { return d.Full(dtype.F32, v, dims...) }}
}

// Zeros sets every element to 0.
func Zeros() Init { return Constant(0) }

// Ones sets every element to 1.
func Ones() Init { return Constant(1) }

// Uniform draws from the uniform distribution over [low, high).
func Uniform(low, high float64) Init {
	return Init{"uniform", func(d *tensor.Device, _ fan, dims []int) *tensor.Tensor {
		return d.Uniform(dtype.F32, low, high, dims...)
	}}
}

// Normal draws from the normal distribution.
func Normal(mean, std float64) Init {
	return Init{"normal", func(d *tensor.Device, _ fan, dims []int) *tensor.Tensor {
		return d.Normal(dtype.F32, mean, std, dims...)
	}}
}

// TruncatedNormal draws from the normal distribution restricted to [low, high], by the inverse of its distribution function.
func TruncatedNormal(mean, std, low, high float64) Init {
	if !(std > 0 && low < high) {
		fail("truncated normal: deviation %v in [%v, %v], want one above 0 and a range that is not empty: %w", std, low, high, core.ErrAttr)
	}
	return Init{"truncated normal", func(d *tensor.Device, _ fan, dims []int) *tensor.Tensor {
		edge := func(x float64) float64 { return math.Erf((x - mean) / std / math.Sqrt2) }
		p := d.Uniform(dtype.F64, edge(low), edge(high), dims...)
		return erfinv(p).MulScalar(std*math.Sqrt2).AddScalar(mean).Clamp(low, high).Cast(dtype.F32)
	}}
}

// erfinv returns the inverse error function of p in (-1, 1), by the approximation of M. Giles, "Approximating the erfinv function"
// (2010), good to single precision.
func erfinv(p *tensor.Tensor) *tensor.Tensor {
	w := p.Mul(p).Neg().Log1p().Neg().ClampMax(80)
	near := horner(w.SubScalar(2.5), 2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
		-0.00417768164, 0.246640727, 1.50140941)
	far := horner(w.Sqrt().SubScalar(3), -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
		0.00943887047, 1.00167406, 2.83297682)
	return w.LessScalar(5).Where(near, far).Mul(p)
}

// horner returns the polynomial of x with the given coefficients, the highest power first.
func horner(x *tensor.Tensor, c ...float64) *tensor.Tensor {
	y := x.FullLike(c[0])
	for _, v := range c[1:] {
		y = y.Mul(x).AddScalar(v)
	}
	return y
}

// KaimingUniform draws uniformly within ±gain·√(3/fanIn) (He and others 2015). The gain for relu is √2.
func KaimingUniform(gain float64) Init {
	return Init{"kaiming uniform", func(d *tensor.Device, f fan, dims []int) *tensor.Tensor {
		return symmetric(d, gain*math.Sqrt(3/float64(max(1, f.in))), dims)
	}}
}

// KaimingNormal draws from the normal distribution with standard deviation gain/√fanIn.
func KaimingNormal(gain float64) Init {
	return Init{"kaiming normal", func(d *tensor.Device, f fan, dims []int) *tensor.Tensor {
		return d.Normal(dtype.F32, 0, gain/math.Sqrt(float64(max(1, f.in))), dims...)
	}}
}

// FanOut returns i with fan in and fan out exchanged. The zero Init remains the default of the layer.
func (i Init) FanOut() Init {
	if i.draw == nil {
		return i
	}
	return Init{i.name + " of fan out", func(d *tensor.Device, f fan, dims []int) *tensor.Tensor {
		return i.draw(d, fan{f.out, f.in}, dims)
	}}
}

// XavierUniform draws uniformly within ±gain·√(6/(fanIn+fanOut)) (Glorot and Bengio 2010).
func XavierUniform(gain float64) Init {
	return Init{"xavier uniform", func(d *tensor.Device, f fan, dims []int) *tensor.Tensor {
		return symmetric(d, gain*math.Sqrt(6/float64(max(1, f.in+f.out))), dims)
	}}
}

// XavierNormal draws from the normal distribution with standard deviation gain·√(2/(fanIn+fanOut)).
func XavierNormal(gain float64) Init {
	return Init{"xavier normal", func(d *tensor.Device, f fan, dims []int) *tensor.Tensor {
		return d.Normal(dtype.F32, 0, gain*math.Sqrt(2/float64(max(1, f.in+f.out))), dims...)
	}}
}

// Orthogonal draws a matrix with orthonormal rows or columns, times gain, uniformly among all such matrices (Saxe and others
// 2013). Dimensions after the first are merged; there must be two or more.
func Orthogonal(gain float64) Init {
	return Init{"orthogonal", func(d *tensor.Device, _ fan, dims []int) *tensor.Tensor {
		if len(dims) < 2 {
			fail("orthogonal: dimensions %v, want two or more: %w", dims, core.ErrShape)
		}
		rows, columns := dims[0], shape.Shape(dims[1:]).Size()
		q, _ := d.Normal(dtype.F64, 0, 1, max(rows, columns), min(rows, columns)).QR(false) // the diagonal of r is not negative
		if rows < columns {
			q = q.T()
		}
		return q.MulScalar(gain).Cast(dtype.F32).Reshape(dims...)
	}}
}

func symmetric(d *tensor.Device, bound float64, dims []int) *tensor.Tensor {
	return d.Uniform(dtype.F32, -bound, bound, dims...)
}

// fanIn returns PyTorch's default for linear and convolution layers: uniform within ±1/√n.
func fanIn(n int) Init {
	bound := 1 / math.Sqrt(float64(max(1, n)))
	return Uniform(-bound, bound)
}
