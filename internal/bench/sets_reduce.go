package bench

import (
	"fmt"

	"github.com/goburn/burn/core/op"
)

// reductions returns cases along each axis of a tensor of rank 3, and along all axes. They sum positive numbers, so that a
// relative error is meaningful.
func reductions() []Case {
	var cases []Case
	for _, s := range []struct {
		size string
		dims []int
	}{{"64KiB", []int{16, 32, 32}}, {"64MiB", []int{256, 256, 256}}} {
		for _, r := range []struct {
			name string
			code op.Code
		}{{"sum", op.Sum}, {"max", op.ReduceMax}} {
			for axis := range 3 {
				cases = append(cases, memory(of("reduce", fmt.Sprintf("%s/axis%d/%s", r.name, axis, s.size), r.code, in(positive(s.dims...)), op.Ints("axes", axis)))...)
			}
			cases = append(cases, memory(of("reduce", fmt.Sprintf("%s/all/%s", r.name, s.size), r.code, in(positive(s.dims...)), op.Ints("axes", 0, 1, 2)))...)
		}
		for _, axis := range []int{0, 2} {
			cases = append(cases, of("reduce", fmt.Sprintf("argmax/axis%d/%s", axis, s.size), op.ArgMax, in(positive(s.dims...)), op.Int("axis", axis)))
		}
	}
	return cases
}

func selection() []Case {
	cases := both(func(n int, size string) []Case {
		return []Case{
			memory(of("select", "where/"+size, op.Where, in(truth(n, n), f32(n, n), f32(n, n))))[0],
			of("select", "cumsum/axis1/"+size, op.CumSum, in(positive(n, n)), op.Int("axis", 1)),
			of("select", "cumsum/axis0/"+size, op.CumSum, in(positive(n, n)), op.Int("axis", 0)),
		}
	})
	return append(cases,
		of("select", "sort/64x256", op.Sort, in(f32(64, 256)), op.Int("axis", 1)),
		of("select", "sort/1048576", op.Sort, in(f32(1<<20)), op.Int("axis", 0)),
		of("select", "topk/64x1000/5", op.TopK, in(f32(64, 1000)), op.Int("k", 5), op.Int("axis", 1)),
		of("select", "topk/16x65536/50", op.TopK, in(f32(16, 65536)), op.Int("k", 50), op.Int("axis", 1)),
	)
}
