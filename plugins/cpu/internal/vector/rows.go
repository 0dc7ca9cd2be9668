package vector

import "unsafe"

// Joint is a reduction.
type Joint int

// The reductions: sum, maximum and minimum. NaN and zeros are treated as in Greatest and Least.
const (
	Sums Joint = iota
	Maxima
	Minima
)

// RowLimit is the greatest length of a row that OfRows may sum, because each lane adds in order.
const RowLimit = 1024

// batch is the number of rows that are reduced between two checks for NaN.
const batch = 256

// OfRows sets out[r] to the reduction of the cols elements that begin at x[r*row]. cols is at least one. It may be called only if Has
// returns true.
func (j Joint) OfRows(out, x []float32, cols, row int) {
	for len(out) > 0 {
		n := min(len(out), batch)
		j.check(x, n, cols, row)
		met := joinRows(j, n, cols, &x[0], row, &out[0])
		for r := 0; j != Sums && r < n; r++ {
			if met || out[r] == 0 && active.lanes == 8 { // the AVX2 loop ignores the signs of zeros
				out[r] = j.line(x[r*row:][:cols])
			}
		}
		out = out[n:]
		if len(out) > 0 {
			x = x[n*row:]
		}
	}
}

// OfColumns reduces columns: out[c] is the reduction of x[r*row+c] over r < rows, which is at least one. Has must report true.
func (j Joint) OfColumns(out, x []float32, rows, row int) {
	if len(out) == 0 {
		return
	}
	j.check(x, rows, len(out), row)
	met := joinColumns(j, rows, len(out), &x[0], row, &out[0])
	for c := 0; j != Sums && c < len(out); c++ {
		if met || out[c] == 0 && active.lanes == 8 {
			out[c] = j.column(x[c:], rows, row)
		}
	}
}

// Stacked is the number of rows that OfStack reduces.
const Stacked = 8

// OfStack reduces Stacked rows of x and acc into acc, element by element. Rows have the length of acc and begin row elements apart. NaN and
// zeros are treated as in Greatest and Least. Each row is read from beginning to end, so that rows may be far apart in memory. Has must
// report true.
func (j Joint) OfStack(acc, x []float32, row int) {
	if n := len(acc); n > 0 {
		j.check(x, Stacked, n, row)
		joinStack(j, n, &acc[0], &x[0], row)
	}
}

// quarters returns the extreme of a long line, which it reduces as four rows. ok is false if the line is
// too short, or if the result may be wrong because of NaN or zeros.
func (j Joint) quarters(x []float32) (m float32, ok bool) {
	n := wholeVectors(len(x) / 4)
	if n < 64 {
		return 0, false
	}
	var out [4]float32
	if joinRows(j, 4, n, &x[0], n, &out[0]) {
		return 0, false
	}
	m = out[0]
	for _, rest := range [][]float32{out[1:], x[4*n:]} {
		for _, v := range rest {
			if j == Maxima {
				m = max(m, v)
			} else {
				m = min(m, v)
			}
		}
	}
	return m, m != 0 || active.lanes != 8
}

func (j Joint) check(x []float32, rows, cols, row int) {
	if cols < 1 || rows < 1 || row < 0 {
		panic("vector: no elements, or a negative step")
	}
	_ = x[(rows-1)*row+cols-1]
}

func (j Joint) line(x []float32) float32 {
	if j == Maxima {
		return Greatest(x)
	}
	return Least(x)
}

func (j Joint) column(x []float32, rows, row int) float32 {
	m := x[0]
	for r := 1; r < rows; r++ {
		if j == Maxima {
			m = max(m, x[r*row])
		} else {
			m = min(m, x[r*row])
		}
	}
	return m
}

// Bound is a comparison for Find. NaN satisfies each of them.
type Bound int

// The comparisons.
const (
	Above Bound = iota
	Below
	AtLeast
	AtMost
)

// Find returns the index of the first element x[i] that is NaN or for which the comparison with bound holds, or len(x) if there is none.
// Has must report true.
func (b Bound) Find(x []float32, bound float32) int {
	if len(x) == 0 {
		return 0
	}
	return find(b, len(x), &x[0], bound)
}

// Cumulate adds x to sums, element by element, and sets d to the new sums. It processes complete vectors only and returns the number of
// elements processed.
func Cumulate(sums []float64, d, x []float32) int {
	n := wholeVectors(len(d))
	if n > 0 {
		cumulate(n, &sums[:n][0], &d[0], &x[:n][0])
	}
	return n
}

// StandardRows sets each row of cols elements of d to (x-mean)·factor+bias, with one mean, factor and bias per row. d and x
// contain at least len(mean) rows. If nonTemporal is set, StandardRows uses non-temporal stores where possible: call Fence before another
// thread reads d. Has must report true.
func StandardRows(d, x []float32, cols int, mean, factor, bias []float32, nonTemporal bool) {
	rows := len(mean)
	if rows == 0 || cols <= 0 {
		return
	}
	f := active.standardRows
	if nonTemporal && (uintptr(unsafe.Pointer(&d[0]))|uintptr(4*cols))&uintptr(4*active.lanes-1) == 0 {
		f = active.standardRowsNonTemporal
	}
	f(rows, cols, &d[:rows*cols][0], &x[:rows*cols][0], &mean[0], &factor[:rows][0], &bias[:rows][0])
}

// StandardAffine sets d[i] to (x[i]-mean)·factor·scale[i]+bias[i]. A nil bias means zeros.
func StandardAffine(d, x, scale, bias []float32, mean, factor float32) {
	n := len(d)
	if n == 0 {
		return
	}
	if bias == nil {
		active.standardScaled(n, &d[0], &x[:n][0], &scale[:n][0], mean, factor)
		return
	}
	active.standardAffine(n, &d[0], &x[:n][0], &scale[:n][0], &bias[:n][0], mean, factor)
}
