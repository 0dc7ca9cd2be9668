package gemm

// smallWork is the most multiply-adds for which packing does not pay.
const smallWork = 8 << 10

// mulSmall computes the product where it stands, on the calling goroutine.
func mulSmall[T Number](g *Args[T]) {
	for i := range g.M {
		c := g.C[i*g.LDC:][:g.N]
		a := g.A.Data[i*g.A.RowStride:]
		if !g.Accumulate {
			clear(c)
		}
		if g.B.ColStride == 1 {
			for p := range g.K {
				v := a[p*g.A.ColStride]
				for j, w := range g.B.Data[p*g.B.RowStride:][:len(c)] {
					c[j] += v * w
				}
			}
			continue
		}
		for j := range c {
			b := g.B.Data[j*g.B.ColStride:]
			var sum T
			for p := range g.K {
				sum += a[p*g.A.ColStride] * b[p*g.B.RowStride]
			}
			c[j] += sum
		}
	}
	g.Epilogue.apply(g.C, g.LDC, 0, g.M, 0, g.N)
}
