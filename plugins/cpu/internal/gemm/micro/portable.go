package micro

import "runtime"

// portable returns the kernel in plain Go for this architecture. The tile is the largest whose accumulators the compiler keeps in
// registers: of the tiles tried on amd64 (fifteen registers, no fused multiply-add) 4x2 was the fastest and 4x4 half as fast; architectures
// with 32 registers use 4x4.
func portable[T Number]() *Kernel[T] {
	if runtime.GOARCH == "amd64" || runtime.GOARCH == "386" {
		return &Kernel[T]{Name: "portable", MR: 4, NR: 2, KC: 256, MC: 64, NC: 2048, Run: portable4x2[T]}
	}
	return &Kernel[T]{Name: "portable", MR: 4, NR: 4, KC: 256, MC: 64, NC: 2048, Run: portable4x4[T]}
}

// portable4x2 unrolls the inner dimension by eight, so that bounds are checked once per eight steps.
func portable4x2[T Number](k int, a, b, c []T, ldc int, accumulate bool) {
	var c00, c01 T
	var c10, c11 T
	var c20, c21 T
	var c30, c31 T
	a, b = a[:4*k], b[:2*k]
	for len(a) >= 32 && len(b) >= 16 {
		ap, bp := (*[32]T)(a), (*[16]T)(b)
		b0, b1 := bp[0], bp[1]
		a0 := ap[0]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 := ap[1]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 := ap[2]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 := ap[3]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[2], bp[3]
		a0 = ap[4]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[5]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[6]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[7]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[4], bp[5]
		a0 = ap[8]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[9]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[10]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[11]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[6], bp[7]
		a0 = ap[12]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[13]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[14]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[15]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[8], bp[9]
		a0 = ap[16]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[17]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[18]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[19]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[10], bp[11]
		a0 = ap[20]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[21]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[22]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[23]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[12], bp[13]
		a0 = ap[24]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[25]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[26]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[27]
		c30, c31 = c30+a3*b0, c31+a3*b1
		b0, b1 = bp[14], bp[15]
		a0 = ap[28]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 = ap[29]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 = ap[30]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 = ap[31]
		c30, c31 = c30+a3*b0, c31+a3*b1
		a, b = a[32:], b[16:]
	}
	for len(a) >= 4 && len(b) >= 2 {
		ap, bp := (*[4]T)(a), (*[2]T)(b)
		b0, b1 := bp[0], bp[1]
		a0 := ap[0]
		c00, c01 = c00+a0*b0, c01+a0*b1
		a1 := ap[1]
		c10, c11 = c10+a1*b0, c11+a1*b1
		a2 := ap[2]
		c20, c21 = c20+a2*b0, c21+a2*b1
		a3 := ap[3]
		c30, c31 = c30+a3*b0, c31+a3*b1
		a, b = a[4:], b[2:]
	}
	r0 := (*[2]T)(c[0*ldc:])
	r1 := (*[2]T)(c[1*ldc:])
	r2 := (*[2]T)(c[2*ldc:])
	r3 := (*[2]T)(c[3*ldc:])
	if accumulate {
		c00 += r0[0]
		c01 += r0[1]
		c10 += r1[0]
		c11 += r1[1]
		c20 += r2[0]
		c21 += r2[1]
		c30 += r3[0]
		c31 += r3[1]
	}
	*r0 = [2]T{c00, c01}
	*r1 = [2]T{c10, c11}
	*r2 = [2]T{c20, c21}
	*r3 = [2]T{c30, c31}
}
