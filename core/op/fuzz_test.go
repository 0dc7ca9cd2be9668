package op_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// bytesOf reads numbers from a fuzz input, and zeros after its end.
type bytesOf struct{ data []byte }

func (b *bytesOf) next() int {
	if len(b.data) == 0 {
		return 0
	}
	x := b.data[0]
	b.data = b.data[1:]
	return int(x)
}

// number returns a number that is mostly small and sometimes huge.
func (b *bytesOf) number() int {
	x := b.next()
	if x < 240 {
		return x%16 - 4
	}
	var wide [8]byte
	for i := range wide {
		wide[i] = byte(b.next())
	}
	return int(binary.LittleEndian.Uint64(wide[:]))
}

func (b *bytesOf) numbers() []int {
	l := make([]int, b.next()%5)
	for i := range l {
		l[i] = b.number()
	}
	return l
}

// real returns a whole number, a fraction, an infinity or NaN.
func (b *bytesOf) real() float64 {
	switch x := b.number(); {
	case x == -4:
		return math.NaN()
	case x == -3:
		return math.Inf(1 - 2*(b.next()%2))
	case x < 0:
		return float64(x) / 8
	default:
		return float64(x)
	}
}

func (b *bytesOf) attr(s op.AttrSpec) op.Attr {
	switch s.Kind {
	case op.KindInts:
		return op.Ints(s.Name, b.numbers()...)
	case op.KindFloats:
		l := make([]float64, b.next()%6)
		for i := range l {
			l[i] = b.real()
		}
		return op.Floats(s.Name, l...)
	case op.KindFloat:
		return op.Float(s.Name, b.real())
	case op.KindBool:
		return op.Flag(s.Name, b.next()%2 == 1)
	case op.KindString:
		return op.Str(s.Name, append(s.OneOf, "")[b.next()%(len(s.OneOf)+1)])
	case op.KindDType:
		return op.Type(s.Name, dtype.DType(b.next()%16))
	case op.KindScalar:
		return op.ScalarInt(s.Name, int64(b.number()))
	}
	return op.Int(s.Name, b.number())
}

// vast reports whether d is empty and the product of its other dimensions exceeds 2^48, so that an intermediate result without the empty
// dimension may have no legal shape.
func vast(d op.Desc) bool {
	n := 1.0
	for _, k := range d.Shape {
		n *= float64(max(1, k))
	}
	return d.Shape.Size() == 0 && n > 1<<48
}

// unrolled lists the ops whose decomposition has nodes for each row of a matrix or step of a sequence.
var unrolled = []op.Code{op.RNN, op.LSTM, op.GRU, op.CTCLoss, op.Cholesky, op.TriangularSolve, op.LU, op.Det, op.SlogDet, op.Inverse, op.Solve,
	op.MatrixPower, op.QR, op.Eigh, op.SVD, op.MatrixNorm, op.PInv, op.LstSq}

// paired lists the ops whose decomposition combines pairs of elements. There may be more pairs than a tensor can have elements.
var paired = []op.Code{op.Covariance, op.CorrCoef, op.Histogram, op.SearchSorted, op.FFT, op.RFFT, op.IRFFT, op.FFTShift, op.STFT, op.ISTFT,
	op.HannWindow, op.HammingWindow, op.BlackmanWindow, op.KaiserWindow, op.Tril, op.Triu, op.Diag, op.Diagonal, op.Trace, op.Outer, op.Kron, op.Cross}

// For any operands and attributes from a file or a peer, New returns a node that Check accepts and whose outputs are legal,
// or an *op.Error. It never panics. Nodes that New accepts can be decomposed.
func FuzzNew(f *testing.F) {
	f.Add(uint16(op.Conv), []byte{0, 1, 4, 5, 6, 7, 8})
	f.Add(uint16(op.Slice), []byte{0, 1, 1, 12, 1, 5, 1, 7, 1, 5})
	f.Add(uint16(op.GatherND), []byte{0, 2, 4, 2, 7, 8, 5, 1, 6, 0})
	f.Add(uint16(op.AvgPool), []byte{0, 2, 9, 9, 1, 6, 1, 5, 1, 4, 1, 4, 1, 4, 1, 5, 250, 255, 255, 255, 255, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, code uint16, data []byte) {
		c := op.Code(code)
		row := op.Lookup(c)
		if row.Infer == nil || row.Class == op.Custom {
			return
		}
		b := &bytesOf{data}
		var in []op.Desc
		least, greatest := row.Arity()
		count := len(row.Operands)
		if x := b.next(); greatest < 0 {
			count += x % 3
		} else {
			count -= x % (greatest - least + 1)
		}
		for k := range count {
			o := row.Operands[min(k, len(row.Operands)-1)]
			types := o.Types.List()
			d := op.Desc{ID: op.TensorID(k + 1), DType: types[b.next()%len(types)], Shape: b.numbers()}
			if o.SameAs > 0 {
				d.DType = in[o.SameAs-1].DType
			}
			if k >= len(row.Operands) {
				d.DType = in[len(row.Operands)-1].DType
			}
			if d.Shape.Check() != nil { // tensors that exist have legal shapes
				return
			}
			in = append(in, d)
		}
		var attrs []op.Attr
		for _, s := range row.Attrs {
			attrs = append(attrs, b.attr(s))
		}
		n, err := op.New(c, in, attrs...)
		if err != nil {
			if _, ok := err.(*op.Error); !ok {
				t.Fatalf("the error is not an *op.Error: %v", err)
			}
			return
		}
		if err := op.Check(&n, in); err != nil {
			t.Fatalf("Check refuses a node that New returned: %v", err)
		}
		last := op.TensorID(100)
		for k := range n.Outputs {
			if err := n.Outputs[k].Shape.Check(); err != nil {
				t.Fatal(err)
			}
			last++
			n.Outputs[k].ID = last
		}
		if slices.Contains(unrolled, c) && slices.Max(append(in[0].Shape.Clone(), 0)) > 64 || c == op.NMS && n.Attrs.Int("max_output") > 64 {
			return // the decomposition has nodes for each row, step or output
		}
		if slices.Contains(paired, c) || slices.Contains(unrolled, c) {
			for _, d := range append(in, n.Outputs...) {
				if slices.Max(append(d.Shape.Clone(), 0)) > 1<<20 {
					_, _, _ = op.Decompose(&n, in, func() op.TensorID { last++; return last }) // may fail, may not panic
					return
				}
			}
		}
		if _, _, err := op.Decompose(&n, in, func() op.TensorID { last++; return last }); err != nil {
			if errors.Is(err, op.ErrShape) && slices.ContainsFunc(in, vast) {
				return // an intermediate result without the empty dimension has no legal shape
			}
			t.Fatalf("%v: %v", &n, err)
		}
	})
}
