package pb

import (
	"fmt"
	"math"
)

// Tensor is TensorProto. Its elements are in RawData, in the typed field of its DataType, or, when Location is LocationExternal,
// in the file that External describes. Bytes and Strings read them from any of these.
type Tensor struct {
	Dims       []int64
	DataType   DataType
	FloatData  []float32 // FLOAT, COMPLEX64 (real and imaginary parts in turn)
	Int32Data  []int32   // INT32 and everything of 16 bits or less; 2- and 4-bit elements packed into bytes
	StringData [][]byte  // STRING
	Int64Data  []int64   // INT64
	DoubleData []float64 // DOUBLE, COMPLEX128
	Uint64Data []uint64  // UINT32, UINT64
	RawData    []byte    // little endian, row major; nil when the field is absent
	Name       string
	Doc        string
	External   []*Property // location, offset, length, checksum
	Location   DataLocation
	Metadata   []*Property
}

// SparseTensor is SparseTensorProto in COO form: Values of shape [nnz], Indices of shape [nnz] (linear) or [nnz, rank].
type SparseTensor struct {
	Values  *Tensor
	Indices *Tensor
	Dims    []int64
}

// Elements returns the product of the dims, 1 for rank 0. It refuses negative dims and products beyond int64.
func (t *Tensor) Elements() (int64, error) { return elements(t.Dims) }

func elements(dims []int64) (int64, error) {
	n, zero, overflow := int64(1), false, false
	for i, d := range dims {
		switch {
		case d < 0:
			return 0, fail(fmt.Sprintf("dims[%d]", i), "negative: %d", d)
		case d == 0:
			zero = true
		case n > math.MaxInt64/d:
			overflow = true
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	if overflow {
		return 0, fail("dims", "product of %v overflows", dims)
	}
	return n, nil
}

// fields returns the number of entries of each typed field.
func (t *Tensor) fields() [7]int {
	return [...]int{
		storeFloat:  len(t.FloatData),
		storeInt32:  len(t.Int32Data),
		storeString: len(t.StringData),
		storeInt64:  len(t.Int64Data),
		storeDouble: len(t.DoubleData),
		storeUint64: len(t.Uint64Data),
	}
}

// check checks that the dims agree with the data that is present. It reads no external data. For a tensor of UNDEFINED or unknown
// type it checks only the dims.
func (t *Tensor) check(maxElements int64) error {
	n, err := t.Elements()
	if err != nil {
		return err
	}
	if maxElements > 0 && n > maxElements {
		return limit("dims", "%v is %d elements, limit %d", t.Dims, n, maxElements)
	}
	if !t.DataType.Known() {
		return nil
	}
	info := dataTypes[t.DataType]
	have := t.fields()
	for s, c := range have {
		if c > 0 && (store(s) != info.store || t.RawData != nil || t.Location == LocationExternal) {
			return fail(store(s).String(), "not expected for data_type %v with %s", t.DataType, t.where())
		}
	}
	switch {
	case t.Location == LocationExternal:
		if t.DataType == String {
			return fail("data_location", "strings cannot be external")
		}
		if t.RawData != nil {
			return fail("raw_data", "not expected with external data")
		}
	case t.RawData != nil:
		if t.DataType == String {
			return fail("raw_data", "not allowed for data_type STRING")
		}
		return checkCount("raw_data", "bytes", len(t.RawData), n, info.bits, 8, t)
	default:
		per, unit := 1, 1 // per entries hold unit elements
		switch {
		case t.DataType == Complex64 || t.DataType == Complex128:
			per = 2
		case info.bits == 4 || info.bits == 2:
			unit = 8 / info.bits
		}
		return checkCount(info.store.String(), "entries", have[info.store], n, per, unit, t)
	}
	return nil
}

// checkCount checks that got equals ceil(n*mul/div).
func checkCount(field, what string, got int, n int64, mul, div int, t *Tensor) error {
	if n > (math.MaxInt64-int64(div))/int64(mul) {
		return fail("dims", "product of %v overflows", t.Dims)
	}
	want := (n*int64(mul) + int64(div) - 1) / int64(div)
	if int64(got) != want {
		return fail(field, "dims %v of %v want %d %s, got %d", t.Dims, t.DataType, want, what, got)
	}
	return nil
}

func (t *Tensor) where() string {
	switch {
	case t.Location == LocationExternal:
		return "external data"
	case t.RawData != nil:
		return "raw_data"
	}
	return dataTypes[t.DataType].store.String()
}
