package normal

import (
	"math"

	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/plugins/cpu/internal/kernel"
	"github.com/goburn/burn/plugins/cpu/internal/vector"
)

// batchNorm returns a kernel that normalises by given statistics: y = (x-mean)·factor+bias, with one mean, factor and bias per channel.
func batchNorm[T float](n *op.Node, in []op.Desc) kernel.Func {
	s, epsilon := in[0].Shape, T(n.Attrs.Float("epsilon"))
	channels, inner := s[1], shape.Shape(s[2:]).Size()
	return func(c *kernel.Call) error {
		x := kernel.Flat[T](c.Contiguous(c.In[0]))
		var p [4][]T
		for i := range p {
			p[i] = kernel.Flat[T](c.Contiguous(c.In[1+i]))
		}
		factor := kernel.TempOf[T](c, channels)
		for k := range factor {
			factor[k] = p[0][k] / T(math.Sqrt(float64(p[3][k]+epsilon)))
		}
		y := kernel.Flat[T](c.Reuse(0, 0))
		if len(y) == 0 {
			return nil
		}
		if to, ok := float32s(y); ok {
			from, scale, bias, mean := any(x).([]float32), any(factor).([]float32), any(p[1]).([]float32), any(p[2]).([]float32)
			nonTemporal := useNonTemporal(c, c.Out[0], inner)
			c.Pool.For(s[0]*channels, grain/inner+1, func(lo, hi int) {
				for i := lo; i < hi; {
					k := i % channels
					count := min(channels-k, hi-i)
					vector.StandardRows(to[i*inner:][:count*inner], from[i*inner:], inner, mean[k:k+count], scale[k:k+count], bias[k:k+count], nonTemporal)
					i += count
				}
				if nonTemporal {
					vector.Fence()
				}
			})
			return nil
		}
		c.Pool.For(s[0]*channels, grain/inner+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				k := i % channels
				mean, f, bias := p[2][k], factor[k], p[1][k]
				to := y[i*inner:][:inner]
				for j, v := range x[i*inner:][:len(to)] {
					to[j] = (v-mean)*f + bias
				}
			}
		})
		return nil
	}
}

// tailNorm returns a kernel of layer or RMS normalisation over axis and all later axes.
func tailNorm[T float](n *op.Node, in []op.Desc) kernel.Func {
	s, axis, epsilon := in[0].Shape, n.Attrs.Int("axis"), n.Attrs.Float("epsilon")
	tail := shape.Shape(s[axis:])
	count, length := shape.Shape(s[:axis]).Size(), tail.Size()
	return func(c *kernel.Call) error {
		x := kernel.Flat[T](c.Contiguous(c.In[0]))
		var scale, bias []T
		if len(c.In) > 1 {
			scale = spread[T](c, c.In[1], tail)
		}
		if len(c.In) > 2 {
			bias = spread[T](c, c.In[2], tail)
		}
		y := kernel.Flat[T](c.Reuse(0, 0))
		if len(y) == 0 {
			return nil
		}
		if from, ok := float32s(x); ok {
			to, factors, biases, nonTemporal := any(y).([]float32), any(scale).([]float32), any(bias).([]float32), useNonTemporal(c, c.Out[0], length)
			lines := func(y, x []float32) {
				for i := 0; i < len(y); i += length {
					tailLine(y[i:i+length], x[i:i+length], factors, biases, n.Op == op.RMSNorm, epsilon)
				}
			}
			c.Pool.For(count, grain/length+1, func(lo, hi int) {
				from, to := from[lo*length:hi*length], to[lo*length:hi*length]
				if nonTemporal {
					streamLines(to, from, length, func(d []float32, at int) { lines(d, from[at:]) })
					return
				}
				lines(to, from)
			})
			return nil
		}
		c.Pool.For(count, grain/length+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				from, to := x[i*length:][:length], y[i*length:][:length]
				if n.Op == op.RMSNorm {
					rms(to, from, epsilon)
				} else {
					standardise(to, from, epsilon)
				}
				affine(to, scale, bias)
			}
		})
		return nil
	}
}

// spread returns the elements of a parameter broadcast to shape tail.
func spread[T float](c *kernel.Call, a kernel.Array, tail shape.Shape) []T {
	a.View = a.View.Expand(tail)
	return kernel.Flat[T](c.Contiguous(a))
}

func affine[T float](y, scale, bias []T) {
	if scale != nil {
		scale = scale[:len(y)]
		for j := range y {
			y[j] *= scale[j]
		}
	}
	if bias != nil {
		bias = bias[:len(y)]
		for j := range y {
			y[j] += bias[j]
		}
	}
}

func total[T float](x []T) float64 {
	var a, b, c, d float64
	for len(x) >= 4 {
		a += float64(x[0])
		b += float64(x[1])
		c += float64(x[2])
		d += float64(x[3])
		x = x[4:]
	}
	for _, v := range x {
		a += float64(v)
	}
	return (a + b) + (c + d)
}

// standardise scales and shifts x to mean 0 and variance 1.
func standardise[T float](y, x []T, epsilon float64) {
	if f, ok := float32s(x); ok {
		tailLine(any(y).([]float32), f, nil, nil, false, epsilon)
		return
	}
	mean := T(total(x) / float64(len(x)))
	var a, b float64
	for i, v := range x {
		d := v - mean
		y[i] = d
		if i&1 == 0 {
			a += float64(d) * float64(d)
		} else {
			b += float64(d) * float64(d)
		}
	}
	root := T(math.Sqrt((a+b)/float64(len(x)) + epsilon))
	for i := range y {
		y[i] /= root
	}
}

// rms divides x by the root of its mean square.
func rms[T float](y, x []T, epsilon float64) {
	var a, b float64
	for i, v := range x {
		if i&1 == 0 {
			a += float64(v) * float64(v)
		} else {
			b += float64(v) * float64(v)
		}
	}
	root := T(math.Sqrt((a+b)/float64(len(x)) + epsilon))
	for i, v := range x {
		y[i] = v / root
	}
}

func groupNorm[T float](n *op.Node, in []op.Desc) kernel.Func {
	s, groups, epsilon := in[0].Shape, n.Attrs.Int("groups"), n.Attrs.Float("epsilon")
	per, inner := s[1]/groups, shape.Shape(s[2:]).Size()
	length := per * inner
	return func(c *kernel.Call) error {
		x := kernel.Flat[T](c.Contiguous(c.In[0]))
		scale, bias := kernel.Flat[T](c.Contiguous(c.In[1])), kernel.Flat[T](c.Contiguous(c.In[2]))
		y := kernel.Flat[T](c.Reuse(0, 0))
		if len(y) == 0 {
			return nil
		}
		c.Pool.For(s[0]*groups, grain/length+1, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				to := y[i*length:][:length]
				standardise(to, x[i*length:][:length], epsilon)
				for p := range per {
					k := i%groups*per + p
					channel := to[p*inner:][:inner]
					if f, ok := float32s(channel); ok {
						vector.Linear(f, f, float32(scale[k]), float32(bias[k]))
						continue
					}
					for j, v := range channel {
						channel[j] = v*scale[k] + bias[k]
					}
				}
			}
		})
		return nil
	}
}
