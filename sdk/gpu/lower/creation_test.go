package lower

import (
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/sdk/gpu/template"
)

func TestCreation(t *testing.T) {
	for i, s := range []shape.Shape{{}, {1}, {0}, {5}, {4}, {1023}, {1024}, {3, 4, 5}, {2, 1500}} {
		for j, d := range (dtype.Any).List() {
			for _, target := range []template.Target{tiny, narrowGrid} {
				c := newRunner(t, target, uint64(i*20+j))
				b := newSketch()
				outs := []op.Desc{
					b.With(op.Full, nil, op.ScalarFloat("value", []float64{1.5, -3, 300, 1e30, 0}[i%5]), op.Type("dtype", d), op.Dims("shape", s)),
					b.With(op.Full, nil, op.ScalarInt("value", []int64{-1, 7, 1<<30 + 1<<22 + 1, 300, 1 << 60}[i%5]), op.Type("dtype", d), op.Dims("shape", s)),
				}
				if len(s) > 0 && d != dtype.Bool {
					outs = append(outs, b.With(op.Iota, nil, op.Type("dtype", d), op.Dims("shape", s), op.Int("axis", j%len(s))))
				}
				if d == dtype.I32 || d == dtype.U32 {
					outs = append(outs, b.With(op.RandomBits, nil, op.Int("seed", -3<<40+77), op.Int("counter", 1<<32-3), op.Dims("shape", s), op.Type("dtype", d)))
					state := b.With(op.Concat, []op.Desc{
						b.With(op.Full, nil, op.ScalarInt("value", 1<<33-5), op.Type("dtype", dtype.I64), op.Ints("shape", 1)),
						b.With(op.Full, nil, op.ScalarInt("value", []int64{0, -9, 1<<32 - 2, 7}[i%4]), op.Type("dtype", dtype.I64), op.Ints("shape", 1))}, op.Int("axis", 0))
					outs = append(outs, b.With(op.RandomBitsAt, []op.Desc{state}, op.Int("seed", -3<<40+77), op.Int("counter", 1<<32-3), op.Dims("shape", s), op.Type("dtype", d)))
				}
				c.run(b.graph(t, outs...), nil)
			}
		}
	}
}
