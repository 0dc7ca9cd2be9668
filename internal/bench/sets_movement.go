package bench

import "github.com/goburn/burn/core/op"

func movement() []Case {
	cases := both(func(n int, size string) []Case {
		permuted := []Case{
			of("movement", "transpose/"+size, op.Permute, in(f32(n, n)), op.Ints("axes", 1, 0)),
			of("movement", "permute/nchw_nhwc/"+size, op.Permute, in(f32(n/64, 64, n/8, 8)), op.Ints("axes", 0, 2, 3, 1)),
			of("movement", "permute/heads/"+size, op.Permute, in(f32(n/32, 32, n/32, 32)), op.Ints("axes", 0, 2, 1, 3)),
		}
		for i := range permuted {
			permuted[i].Copied = true
		}
		return append(permuted, memory(
			of("movement", "concat/axis0/"+size, op.Concat, in(f32(n/2, n), f32(n/2, n)), op.Int("axis", 0)),
			of("movement", "concat/axis1/"+size, op.Concat, in(f32(n, n/2), f32(n, n/2)), op.Int("axis", 1)),
			of("movement", "gather/rows/"+size, op.Gather, in(f32(n, n), index(n, n)), op.Int("axis", 0)),
		)...)
	})
	return append(cases,
		of("movement", "gather/columns/1024x1024", op.Gather, in(f32(1024, 1024), index(1024, 1024)), op.Int("axis", 1)),
		of("movement", "gather/embedding/30522x768/512", op.Gather, in(f32(30522, 768), index(30522, 512)), op.Int("axis", 0)),
	)
}
