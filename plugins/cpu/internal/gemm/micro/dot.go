package micro

// Dot4 returns the products of x and each of four vectors, with the same bits as Dot.
func Dot4[T Number](x, m0, m1, m2, m3 []T) (T, T, T, T) {
	var e0, e1, e2, e3, o0, o1, o2, o3 T
	for len(x) >= 4 && len(m0) >= 4 && len(m1) >= 4 && len(m2) >= 4 && len(m3) >= 4 {
		v, w := x[0], x[1]
		e0, o0 = e0+m0[0]*v, o0+m0[1]*w
		e1, o1 = e1+m1[0]*v, o1+m1[1]*w
		e2, o2 = e2+m2[0]*v, o2+m2[1]*w
		e3, o3 = e3+m3[0]*v, o3+m3[1]*w
		v, w = x[2], x[3]
		e0, o0 = e0+m0[2]*v, o0+m0[3]*w
		e1, o1 = e1+m1[2]*v, o1+m1[3]*w
		e2, o2 = e2+m2[2]*v, o2+m2[3]*w
		e3, o3 = e3+m3[2]*v, o3+m3[3]*w
		x, m0, m1, m2, m3 = x[4:], m0[4:], m1[4:], m2[4:], m3[4:]
	}
	return finish(e0, o0, x, m0), finish(e1, o1, x, m1), finish(e2, o2, x, m2), finish(e3, o3, x, m3)
}

// Dot returns the dot product of two vectors, in plain Go. It sums the products at even and at odd positions separately.
func Dot[T Number](x, m []T) T { return finish(0, 0, x, m) }

// finish adds the remaining products to the sums over even and odd positions, and returns the total. It begins at an even position.
func finish[T Number](even, odd T, x, m []T) T {
	for len(x) >= 2 && len(m) >= 2 {
		even, odd = even+m[0]*x[0], odd+m[1]*x[1]
		x, m = x[2:], m[2:]
	}
	if len(x) > 0 && len(m) > 0 {
		even += m[0] * x[0]
	}
	return even + odd
}
