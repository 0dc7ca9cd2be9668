package micro

// rowGroup is the number of columns that RowOfPanels computes at a time.
const rowGroup = 8

// RowOfPanels computes one row of C from panels of two columns, eight columns at a time. A micro kernel would also compute the missing rows
// of its tile. The sums have the same bits as those of the portable kernel. It returns the first column that it did not compute. Fewer than
// eight columns remain.
func RowOfPanels[T Number](k, mr int, a, b []T, c []T, j0, j1 int, accumulate bool) int {
	for ; j0+rowGroup <= j1; j0 += rowGroup {
		to := (*[rowGroup]T)(c[j0:])
		at := b[j0*k:]
		p0, p1, p2, p3 := at[:2*k], at[2*k:][:2*k], at[4*k:][:2*k], at[6*k:][:2*k]
		var s0, s1, s2, s3, s4, s5, s6, s7 T
		x := a[:k*mr]
		for len(x) >= 4*mr && len(p0) >= 8 && len(p1) >= 8 && len(p2) >= 8 && len(p3) >= 8 {
			q0, q1, q2, q3 := (*[8]T)(p0), (*[8]T)(p1), (*[8]T)(p2), (*[8]T)(p3)
			v := x[0]
			s0, s1 = s0+v*q0[0], s1+v*q0[1]
			s2, s3 = s2+v*q1[0], s3+v*q1[1]
			s4, s5 = s4+v*q2[0], s5+v*q2[1]
			s6, s7 = s6+v*q3[0], s7+v*q3[1]
			v = x[mr]
			s0, s1 = s0+v*q0[2], s1+v*q0[3]
			s2, s3 = s2+v*q1[2], s3+v*q1[3]
			s4, s5 = s4+v*q2[2], s5+v*q2[3]
			s6, s7 = s6+v*q3[2], s7+v*q3[3]
			v = x[2*mr]
			s0, s1 = s0+v*q0[4], s1+v*q0[5]
			s2, s3 = s2+v*q1[4], s3+v*q1[5]
			s4, s5 = s4+v*q2[4], s5+v*q2[5]
			s6, s7 = s6+v*q3[4], s7+v*q3[5]
			v = x[3*mr]
			s0, s1 = s0+v*q0[6], s1+v*q0[7]
			s2, s3 = s2+v*q1[6], s3+v*q1[7]
			s4, s5 = s4+v*q2[6], s5+v*q2[7]
			s6, s7 = s6+v*q3[6], s7+v*q3[7]
			x, p0, p1, p2, p3 = x[4*mr:], p0[8:], p1[8:], p2[8:], p3[8:]
		}
		for len(x) >= mr && len(p0) >= 2 && len(p1) >= 2 && len(p2) >= 2 && len(p3) >= 2 {
			v := x[0]
			s0, s1 = s0+v*p0[0], s1+v*p0[1]
			s2, s3 = s2+v*p1[0], s3+v*p1[1]
			s4, s5 = s4+v*p2[0], s5+v*p2[1]
			s6, s7 = s6+v*p3[0], s7+v*p3[1]
			x, p0, p1, p2, p3 = x[mr:], p0[2:], p1[2:], p2[2:], p3[2:]
		}
		if accumulate {
			s0, s1, s2, s3 = s0+to[0], s1+to[1], s2+to[2], s3+to[3]
			s4, s5, s6, s7 = s4+to[4], s5+to[5], s6+to[6], s7+to[7]
		}
		*to = [rowGroup]T{s0, s1, s2, s3, s4, s5, s6, s7}
	}
	return j0
}
