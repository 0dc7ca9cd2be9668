package gemm

// Epilogue is what is done to an element of C once its sum is complete, in
// this order: BiasRow[i] is added to row i, BiasCol[j] to column j, and with
// HasClamp the element is brought into [Lo, Hi]; a NaN stays one. A relu is a
// clamp from zero to infinity. Either bias may be nil.
type Epilogue[T Number] struct {
	BiasRow, BiasCol []T
	HasClamp         bool
	Lo, Hi           T
}

// Apply finishes a C of m rows and n columns that was computed otherwise.
func (e *Epilogue[T]) Apply(c []T, ldc, m, n int) { e.apply(c, ldc, 0, m, 0, n) }

// apply finishes rows i0 to i1, columns j0 to j1.
func (e *Epilogue[T]) apply(c []T, ldc, i0, i1, j0, j1 int) {
	if e = e.only(true); e == nil {
		return
	}
	if kern := Active[T](); kern.Finish != nil {
		if i0 < i1 && j0 < j1 {
			kern.Finish(i1-i0, j1-j0, c[i0*ldc+j0:], ldc, e, i0, j0)
		}
		return
	}
	for i := i0; i < i1; i++ {
		row := c[i*ldc+j0:][:j1-j0]
		if e.BiasRow != nil {
			bias := e.BiasRow[i]
			for j := range row {
				row[j] += bias
			}
		}
		if e.BiasCol != nil {
			for j, bias := range e.BiasCol[j0:j1] {
				row[j] += bias
			}
		}
		if e.HasClamp {
			clamp(row, e.Lo, e.Hi)
		}
	}
}

// only is e if it does anything and yes holds, else nil.
func (e *Epilogue[T]) only(yes bool) *Epilogue[T] {
	if !yes || e == nil || e.BiasRow == nil && e.BiasCol == nil && !e.HasClamp {
		return nil
	}
	return e
}

func clamp[T Number](row []T, lo, hi T) {
	for j, v := range row {
		if v < lo {
			v = lo
		}
		if v > hi {
			v = hi
		}
		row[j] = v
	}
}

// Rows returns the epilogue as seen by a product whose row 0 is row i of this
// one, for callers that cut C by rows.
func (e *Epilogue[T]) Rows(i int) *Epilogue[T] {
	if e == nil || e.BiasRow == nil || i == 0 {
		return e
	}
	cut := *e
	cut.BiasRow = e.BiasRow[i:]
	return &cut
}
