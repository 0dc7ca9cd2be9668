package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/goburn/burn/conformance/ref"
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Mode is a measured property of the device's arithmetic that the rows of the table leave open, with the name of the measurement.
type Mode struct {
	What  string `json:"what"`
	Value string `json:"value"`
}

// measureModes measures all modes that the device has nodes for. Results that no mode explains are reported unchanged.
func measureModes(ctx context.Context, q *queue) ([]Mode, error) {
	var modes []Mode
	for _, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16} {
		for _, m := range []struct {
			what  string
			value func(ctx context.Context, q *queue, d dtype.DType) (string, error)
		}{{"denormal operands", flushedOperands}, {"denormal results", flushedResults}, {"sum accumulates in", sumWidth}, {"matmul accumulates in", productWidth},
			{"matmul multiplies", operandWidth}} {
			value, err := m.value(ctx, q, d)
			var sk skip
			switch {
			case errors.As(err, &sk) || errors.Is(err, core.ErrUnsupported):
				continue
			case err != nil:
				return modes, fmt.Errorf("%s of %v: %w", m.what, d, err)
			}
			modes = append(modes, Mode{d.String() + ": " + m.what, value})
		}
	}
	return modes, nil
}

// once runs a node that the device claims and reads its first result.
func (q *queue) once(ctx context.Context, c op.Code, in []ref.Tensor, attrs ...op.Attr) (ref.Tensor, error) {
	types := dtype.Set(0)
	for _, t := range in {
		types |= dtype.SetOf(t.Desc.DType)
	}
	if missing := types &^ q.dev.Capabilities().Types; missing != 0 {
		return ref.Tensor{}, skip{"type not claimed"}
	}
	probe, err := op.New(c, descsOf(in), attrs...)
	if err != nil {
		return ref.Tensor{}, err
	}
	if err := q.claims(&probe, descsOf(in)); err != nil {
		return ref.Tensor{}, err
	}
	ds, err := q.putAll(ctx, in)
	if err != nil {
		return ref.Tensor{}, err
	}
	outs, err := q.do(c, ds, attrs...)
	if err != nil {
		return ref.Tensor{}, err
	}
	return q.get(ctx, outs[0])
}

// floatsOf returns a vector of type d.
func floatsOf(d dtype.DType, f ...float64) ref.Tensor {
	return ref.Tensor{Desc: op.DescOf(d, len(f)), F: f}
}

func flushedOperands(ctx context.Context, q *queue, d dtype.DType) (string, error) {
	small := d.LeastNormal() / 4
	got, err := q.once(ctx, op.Mul, []ref.Tensor{floatsOf(d, small), floatsOf(d, 256)})
	if err != nil {
		return "", err
	}
	return flushed(got.F[0], small*256), nil
}

func flushedResults(ctx context.Context, q *queue, d dtype.DType) (string, error) {
	small := d.LeastNormal() * 4
	got, err := q.once(ctx, op.Mul, []ref.Tensor{floatsOf(d, small), floatsOf(d, 1.0/16)})
	if err != nil {
		return "", err
	}
	return flushed(got.F[0], small/16), nil
}

func flushed(got, want float64) string {
	switch got {
	case want:
		return "kept"
	case 0:
		return "flushed to zero"
	}
	return fmt.Sprintf("%v for %v", got, want)
}

// triples is the number of triples, each a large number, a small one and the negated large one, that are added up.
const triples = 64

// width determines the number of bits of an accumulator. It adds large numbers that cancel, and small ones, in random order: if the
// accumulator is wide enough for both, the sum contains all small numbers. Sums of several large numbers need additional bits, so the
// result is a class of widths.
func (q *queue) width(d dtype.DType, sum func(x ref.Tensor) (float64, error)) (string, error) {
	const large = 256
	kept := 0
	for _, bits := range []int{14, 32} {
		small := math.Ldexp(large, -bits)
		if ref.Round(d, small) != small || ref.Round(d, small*triples) != small*triples {
			break // the type has no such number
		}
		var f []float64
		for range triples {
			f = append(f, large, small, -large)
		}
		q.random(fmt.Sprint("width", bits)).Shuffle(len(f), func(i, j int) { f[i], f[j] = f[j], f[i] })
		got, err := sum(floatsOf(d, f...))
		if err != nil {
			return "", err
		}
		if got != small*triples {
			break
		}
		kept = bits
	}
	switch kept {
	case 32:
		return "more than 32 bits, such as f64", nil
	case 14:
		return "more than 14 bits, such as f32", nil
	}
	return "less than f32", nil
}

func sumWidth(ctx context.Context, q *queue, d dtype.DType) (string, error) {
	return q.width(d, func(x ref.Tensor) (float64, error) {
		got, err := q.once(ctx, op.Sum, []ref.Tensor{x}, op.Ints("axes", 0))
		if err != nil {
			return 0, err
		}
		return got.F[0], nil
	})
}

func productWidth(ctx context.Context, q *queue, d dtype.DType) (string, error) {
	return q.width(d, func(x ref.Tensor) (float64, error) {
		ones := ref.Zeros(op.DescOf(d, len(x.F), 1))
		for i := range ones.F {
			ones.F[i] = 1
		}
		x.Desc.Shape = dims(1, len(x.F))
		got, err := q.once(ctx, op.MatMul, []ref.Tensor{x, ones})
		if err != nil {
			return 0, err
		}
		return got.F[0], nil
	})
}

// operandWidth determines whether operands of a product are first rounded to a narrower type.
func operandWidth(ctx context.Context, q *queue, d dtype.DType) (string, error) {
	const rows = 16 // sizes that matrix units require
	digits := map[dtype.DType]int{dtype.F64: 52, dtype.F32: 23, dtype.F16: 10, dtype.BF16: 7}[d]
	for _, bits := range []int{digits, 23, 10, 7} {
		if bits > digits {
			continue
		}
		a, b := ref.Zeros(op.DescOf(d, rows, rows)), ref.Zeros(op.DescOf(d, rows, rows))
		for i := range rows { // a multiple of the unit matrix
			a.F[i*rows+i], b.F[i*rows+i] = 1+math.Ldexp(1, -bits), 1
		}
		got, err := q.once(ctx, op.MatMul, []ref.Tensor{a, b})
		if err != nil {
			return "", err
		}
		if got.F[0] == a.F[0] {
			return fmt.Sprintf("operands of %d bits", bits+1), nil
		}
	}
	return "operands of less than 8 bits", nil
}
