package bench

import (
	"fmt"

	"github.com/goburn/burn/core/op"
)

func matmuls() []Case {
	plain := func(kind string, m, n, k int) Case {
		c := of("matmul", fmt.Sprintf("matmul/%s/%dx%dx%d", kind, m, n, k), op.MatMul, in(f32(m, k), f32(k, n)))
		c.Terms = int64(m) * int64(n) * int64(k)
		return c
	}
	batched := func(b, m, n, k int, transposed bool) Case {
		name, w := fmt.Sprintf("matmul/batched/%dx%dx%dx%d", b, m, n, k), f32(b, k, n)
		if transposed {
			name, w = name+"/bt", f32(b, n, k)
		}
		c := of("matmul", name, op.MatMul, in(f32(b, m, k), w), op.Flag("transpose_b", transposed))
		c.Terms = int64(b) * int64(m) * int64(n) * int64(k)
		return c
	}
	linear := of("matmul", "linear/512x3072x768", op.Linear, in(f32(512, 768), f32(3072, 768), f32(3072)), op.Flag("transpose_w", true))
	linear.Terms = 512 * 3072 * 768
	transposed := of("matmul", "matmul/transposed/512x512x512", op.MatMul, in(f32(512, 512), f32(512, 512)), op.Flag("transpose_a", true))
	transposed.Terms = 512 * 512 * 512
	return []Case{
		plain("square", 64, 64, 64), plain("square", 256, 256, 256), plain("square", 512, 512, 512), plain("square", 1024, 1024, 1024),
		transposed,
		plain("skinny", 4096, 16, 1024), plain("skinny", 16, 4096, 1024), plain("skinny", 512, 512, 8), plain("skinny", 32, 32, 16384),
		batched(24, 256, 256, 64, true), batched(24, 256, 64, 256, false), batched(128, 32, 32, 32, false),
		plain("vector", 1, 4096, 4096), plain("vector", 4096, 1, 4096), plain("vector", 1, 1024, 1024),
		linear,
	}
}

func attention() []Case {
	var cases []Case
	for _, c := range []struct {
		batch, heads, seq, dim int
		causal                 bool
	}{{1, 8, 128, 64, false}, {2, 12, 256, 64, false}, {1, 8, 512, 64, false}, {1, 8, 1024, 64, false}, {1, 8, 1024, 64, true}} {
		name := fmt.Sprintf("attention/%dx%dx%dx%d", c.batch, c.heads, c.seq, c.dim)
		if c.causal {
			name += "/causal"
		}
		q := func() Operand { return f32(c.batch, c.heads, c.seq, c.dim) }
		x := of("attention", name, op.Attention, in(q(), q(), q()), op.Flag("causal", c.causal))
		x.Terms = 2 * int64(c.batch*c.heads) * int64(c.seq) * int64(c.seq) * int64(c.dim)
		if c.causal {
			x.Terms /= 2 // half of the scores are masked
		}
		cases = append(cases, x)
	}
	return cases
}
