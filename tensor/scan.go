package tensor

import "github.com/goburn/burn/core/op"

// ScanOptions configures a running reduction. The zero value includes each element and runs from the start.
type ScanOptions struct {
	Exclusive bool // element i does not include t[i]
	Reverse   bool // run from the end
}

func (t *Tensor) scan(c op.Code, axis int, os []ScanOptions) *Tensor {
	var o ScanOptions
	if len(os) > 0 {
		o = os[0]
	}
	return t.along(c, axis, op.Flag("exclusive", o.Exclusive), op.Flag("reverse", o.Reverse))
}

// CumSum returns the running sum along axis.
func (t *Tensor) CumSum(axis int, o ...ScanOptions) *Tensor { return t.scan(op.CumSum, axis, o) }

// CumProd returns the running product along axis.
func (t *Tensor) CumProd(axis int, o ...ScanOptions) *Tensor { return t.scan(op.CumProd, axis, o) }

// CumMax returns the running maximum along axis, NaN from the first NaN on.
func (t *Tensor) CumMax(axis int, o ...ScanOptions) *Tensor { return t.scan(op.CumMax, axis, o) }

// CumMin returns the running minimum along axis, NaN from the first NaN on.
func (t *Tensor) CumMin(axis int, o ...ScanOptions) *Tensor { return t.scan(op.CumMin, axis, o) }

// LogCumSumExp returns the running logarithm of the sum of exp(t) along axis, without overflow.
func (t *Tensor) LogCumSumExp(axis int, o ...ScanOptions) *Tensor {
	return t.scan(op.LogCumSumExp, axis, o)
}

// CumArgMax returns the index (i64) of the running maximum along axis, the first of equal ones.
func (t *Tensor) CumArgMax(axis int) *Tensor { return t.along(op.CumArgMax, axis) }

// CumArgMin returns the index (i64) of the running minimum along axis, the first of equal ones.
func (t *Tensor) CumArgMin(axis int) *Tensor { return t.along(op.CumArgMin, axis) }
