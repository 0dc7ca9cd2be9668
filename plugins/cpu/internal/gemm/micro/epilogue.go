package micro

// Epilogue is applied to each element of C once its sum is complete. It adds
// BiasRow[i] to row i, then BiasCol[j] to column j, and then, with HasClamp,
// clamps to [Lo, Hi]. NaN is not clamped. A relu is a clamp from zero to
// infinity. Either bias may be nil.
type Epilogue[T Number] struct {
	BiasRow, BiasCol []T
	HasClamp         bool
	Lo, Hi           T
}

// Apply applies e to all of C, of m rows and n columns.
func (e *Epilogue[T]) Apply(c []T, ldc, m, n int) { e.ApplyRange(c, ldc, 0, m, 0, n) }

// ApplyRange applies e to rows i0 to i1, columns j0 to j1 of C.
func (e *Epilogue[T]) ApplyRange(c []T, ldc, i0, i1, j0, j1 int) {
	if e = e.When(true); e == nil {
		return
	}
	if kern := Active[T](); kern.ApplyEpilogue != nil {
		if i0 < i1 && j0 < j1 {
			kern.ApplyEpilogue(i1-i0, j1-j0, c[i0*ldc+j0:], ldc, e, i0, j0)
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

// When returns e if e is not empty and done is true, else nil.
func (e *Epilogue[T]) When(done bool) *Epilogue[T] {
	if !done || e == nil || e.BiasRow == nil && e.BiasCol == nil && !e.HasClamp {
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

// Rows returns the epilogue of the rows from i on, for callers that split C by rows.
func (e *Epilogue[T]) Rows(i int) *Epilogue[T] {
	if e == nil || e.BiasRow == nil || i == 0 {
		return e
	}
	partition := *e
	partition.BiasRow = e.BiasRow[i:]
	return &partition
}

// Block returns the epilogue for the block of the product that begins at
// element (i, j).
func (e *Epilogue[T]) Block(i, j int) *Epilogue[T] {
	if e == nil {
		return nil
	}
	moved := *e
	if e.BiasRow != nil {
		moved.BiasRow = e.BiasRow[i:]
	}
	if e.BiasCol != nil {
		moved.BiasCol = e.BiasCol[j:]
	}
	return &moved
}
