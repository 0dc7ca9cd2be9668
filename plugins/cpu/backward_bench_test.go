package cpu

import (
	"testing"

	"github.com/goburn/burn/core/op"
)

// BenchmarkBackward measures sequences of nodes that backward passes submit, on tensors of [64, 512].
func BenchmarkBackward(b *testing.B) {
	const rows, length = 64, 512
	axis := func(axes ...int) []op.Attr { return []op.Attr{op.Ints("axes", axes...), op.Flag("keep_dims", true)} }
	run := func(name string, f func(bed *bed, x, y op.Desc) []op.Desc) {
		b.Run(name, func(b *testing.B) {
			bed := newBed(b)
			x, y := put(bed, random(1, rows*length), rows, length), put(bed, random(2, rows*length), rows, length)
			b.ReportAllocs()
			for b.Loop() {
				for _, d := range f(bed, x, y) {
					bed.Free([]op.TensorID{d.ID})
				}
				bed.Sync(ctx)
			}
		})
	}
	run("softmax", func(bed *bed, y, dy op.Desc) []op.Desc { // y·(dy - sum(y·dy))
		p := bed.do(op.Mul, list(y, dy))[0]
		s := bed.do(op.Sum, list(p), axis(1)...)[0]
		d := bed.do(op.Sub, list(dy, s))[0]
		return list(p, s, d, bed.do(op.Mul, list(y, d))[0])
	})
	run("layer norm", func(bed *bed, v, hat op.Desc) []op.Desc { // v - mean(v) - hat·mean(v·hat)
		m := bed.do(op.Mean, list(v), axis(1)...)[0]
		p := bed.do(op.Mul, list(v, hat))[0]
		q := bed.do(op.Mean, list(p), axis(1)...)[0]
		h := bed.do(op.Mul, list(hat, q))[0]
		d := bed.do(op.Sub, list(v, m))[0]
		return list(m, p, q, h, d, bed.do(op.Sub, list(d, h))[0])
	})
	run("bias", func(bed *bed, x, _ op.Desc) []op.Desc {
		return bed.do(op.Sum, list(x), op.Ints("axes", 0))
	})
	run("scalar", func(bed *bed, x, _ op.Desc) []op.Desc {
		s := bed.do(op.Full, nil, op.ScalarFloat("value", 2), op.Type("dtype", x.DType), dims())[0]
		return list(s, bed.do(op.Mul, list(x, s))[0])
	})
}
