package gemm

import (
	"github.com/goburn/burn/plugins/cpu/internal/gemm/micro"
	"github.com/goburn/burn/plugins/cpu/internal/par"
)

// smallWork is the greatest number of multiply-adds for which packing does not pay.
const smallWork = 2 << 10

// mulSmall computes the product without packing, on the calling goroutine.
func mulSmall[T micro.Number](g *Args[T]) {
	if kern := micro.Active[T](); kern.Dot != nil && !g.Accumulate && g.A.ColStride == 1 && g.B.RowStride == 1 {
		for i := range g.M {
			kern.Dot(g.A.Data[i*g.A.RowStride:][:g.K], g.B.Data, g.B.ColStride, g.C[i*g.LDC:][:g.N])
		}
		g.Epilogue.ApplyRange(g.C, g.LDC, 0, g.M, 0, g.N)
		return
	}
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
	g.Epilogue.ApplyRange(g.C, g.LDC, 0, g.M, 0, g.N)
}

// maxThin is the greatest number of rows of A for which packing B does not pay, however large B is.
const maxThin = 3

// mulThin computes a product of few rows row by row.
func mulThin[T micro.Number](pool *par.Pool, g *Args[T]) {
	row := *g
	row.M = 1
	for i := range g.M {
		row.A.Data = g.A.Data[i*g.A.RowStride:]
		row.C = g.C[i*g.LDC:]
		row.Epilogue = g.Epilogue.Rows(i)
		mulVector(pool, &row)
	}
}
