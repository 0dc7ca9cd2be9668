package ref

import (
	"math"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// word returns word i of random_bits for a node's seed and counter.
func word(a op.Attrs, i int) uint32 {
	return wordAt(uint64(a.Value("seed").Int()), uint64(a.Value("counter").Int()), i)
}

func wordAt(seed, counter uint64, i int) uint32 {
	c := counter + uint64(i/4)
	return philox([4]uint32{uint32(c), uint32(c >> 32), 0, 0}, [2]uint32{uint32(seed), uint32(seed >> 32)})[i%4]
}

// fraction returns the upper 24 bits of a word over 2^24.
func fraction(w uint32) float64 { return float64(w>>8) / (1 << 24) }

// drawn returns a kernel that sets element i to f(attributes, i).
func drawn(f func(a op.Attrs, i int) float64) kernel {
	return direct(func(n *op.Node, _ []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for i := range out.F {
			out.F[i] = f(n.Attrs, i)
		}
		return out
	})
}

var randomKernels = map[op.Code]kernel{
	op.RandomBitsAt: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		seed, counter := uint64(n.Attrs.Value("seed").Int())+uint64(in[0].I[0]), uint64(n.Attrs.Value("counter").Int())+uint64(in[0].I[1])
		for i := range out.I {
			if out.I[i] = int64(wordAt(seed, counter, i)); out.Desc.DType == dtype.I32 {
				out.I[i] = int64(int32(out.I[i]))
			}
		}
		return out
	}),
	op.RandomUniform: drawn(func(a op.Attrs, i int) float64 {
		u := fraction(word(a, i))
		if a.DType("dtype") == dtype.F64 {
			u = (float64(word(a, 2*i)>>5)*(1<<26) + float64(word(a, 2*i+1)>>6)) / (1 << 53)
		}
		return a.Float("low") + u*(a.Float("high")-a.Float("low"))
	}),
	op.RandomNormal: drawn(func(a op.Attrs, i int) float64 {
		u, v := fraction(word(a, 2*i))+0x1p-24, fraction(word(a, 2*i+1))
		if a.DType("dtype") == dtype.F64 {
			u, v = (float64(word(a, 2*i))+1)/(1<<32), float64(word(a, 2*i+1))/(1<<32)
		}
		return a.Float("mean") + a.Float("std")*math.Sqrt(-2*math.Log(u))*math.Cos(2*math.Pi*v)
	}),
	op.Bernoulli: direct(func(n *op.Node, in []Tensor) Tensor {
		out := Zeros(n.Outputs[0])
		for i, p := range in[0].F {
			yes := Tensor{Desc: op.DescOf(dtype.Bool), I: []int64{truth(fraction(word(n.Attrs, i)) < p)}}
			out.set(i, convert(yes, 0, out.Desc.DType), 0)
		}
		return out
	}),
	op.Multinomial: direct(func(n *op.Node, in []Tensor) Tensor {
		out, s, count := Zeros(n.Outputs[0]), in[0].Desc.Shape, n.Attrs.Int("count")
		d := dtype.F32
		if s := in[0].Desc.DType; s == dtype.F64 {
			d = s
		}
		for line, g := range lines(s, len(s)-1) {
			for k := range count {
				i := line*count + k
				point := Round(d, fraction(word(n.Attrs, i))*Round(d, total(floatsAt(in[0], g))))
				for j := range g[:len(g)-1] {
					if Round(d, total(floatsAt(in[0], g[:j+1]))) <= point {
						out.I[i]++
					}
				}
			}
		}
		return out
	}),
}
