package pb

import (
	"encoding/binary"
	"math"
)

// Bytes returns the elements of t in their natural layout: little endian, row major, DataType.Size bytes each. Elements narrower than a
// byte (UINT4, INT4, FLOAT4E2M1, UINT2, INT2, FLOAT6*) take one byte each: INT4 and INT2 are sign-extended, and the others have zeros in
// the upper bits. A complex number is its real part followed by its imaginary part. A BOOL is 0 or 1.
//
// files reads external data. If it is nil, Bytes returns an error for a tensor with external data. The result may share memory with
// t.RawData or with the result of files.Range, so it must not be written to.
//
// It returns an error if dims and data disagree, if an integer is outside the range of its type (a UINT8 of 300), and for STRING (see
// Strings), UNDEFINED and unknown types.
func (t *Tensor) Bytes(files Files) ([]byte, error) {
	b, err := t.bytes(files)
	if err != nil {
		return nil, inside(tensorLabel(t), err)
	}
	return b, nil
}

// ReadExternal returns the data of a tensor with external data as raw_data would hold them: little endian, elements narrower than a byte
// packed. It is an error when dims and data disagree, and for STRING, UNDEFINED and unknown types.
func (t *Tensor) ReadExternal(files Files) ([]byte, error) {
	n, err := t.Elements()
	switch {
	case err != nil:
	case t.DataType.Bits() == 0:
		err = fail("data_type", "%v has no elements to read", t.DataType)
	default:
		var b []byte
		if b, err = t.external(files, n); err == nil {
			return b, nil
		}
	}
	return nil, inside(tensorLabel(t), err)
}

func tensorLabel(t *Tensor) string {
	if t.Name == "" {
		return "tensor"
	}
	return "tensor " + quote(t.Name)
}

func (t *Tensor) bytes(files Files) ([]byte, error) {
	if !t.DataType.Known() {
		return nil, fail("data_type", "%v has no elements to read", t.DataType)
	}
	if t.DataType == String {
		return nil, fail("data_type", "STRING has no bytes, want a numeric type")
	}
	if err := t.check(0); err != nil {
		return nil, err
	}
	n, err := t.Elements()
	if err != nil {
		return nil, err
	}
	if n > math.MaxInt/int64(t.DataType.Size()) {
		return nil, limit("dims", "%v of %v does not fit memory", t.Dims, t.DataType)
	}
	switch {
	case t.Location == LocationExternal:
		raw, err := t.external(files, n)
		if err != nil {
			return nil, err
		}
		return t.unpack(raw, int(n)), nil
	case t.RawData != nil:
		return t.unpack(t.RawData, int(n)), nil
	}
	return t.typed(int(n))
}

// Strings returns the elements of a STRING tensor, in row-major order. It is an error for other types, and when dims
// and data disagree.
func (t *Tensor) Strings() ([]string, error) {
	if t.DataType != String {
		return nil, inside(tensorLabel(t), fail("data_type", "%v, want STRING", t.DataType))
	}
	if err := t.check(0); err != nil {
		return nil, inside(tensorLabel(t), err)
	}
	out := make([]string, len(t.StringData))
	for i, s := range t.StringData {
		out[i] = string(s)
	}
	return out, nil
}

// unpack converts raw_data of the right size to the layout of Bytes.
func (t *Tensor) unpack(raw []byte, n int) []byte {
	info := dataTypes[t.DataType]
	if t.DataType == Bool {
		return normalBools(raw)
	}
	if info.bits >= 8 {
		return raw
	}
	out := make([]byte, n)
	mask, sign := byte(1)<<info.bits-1, byte(0)
	if info.signed {
		sign = 1 << (info.bits - 1)
	}
	for i := range out { // a bit stream, least significant bit first
		bit := uint64(i) * uint64(info.bits)
		at, shift := bit/8, bit%8
		w := uint16(raw[at])
		if at+1 < uint64(len(raw)) {
			w |= uint16(raw[at+1]) << 8
		}
		v := byte(w>>shift) & mask
		out[i] = v&^sign - v&sign
	}
	return out
}

// normalBools returns b if every byte is 0 or 1, else a copy in which every other byte is 1.
func normalBools(b []byte) []byte {
	for i, v := range b {
		if v <= 1 {
			continue
		}
		out := append([]byte(nil), b...)
		for j := i; j < len(out); j++ {
			if out[j] != 0 {
				out[j] = 1
			}
		}
		return out
	}
	return b
}

// typed reads the elements from the typed field, whose length has been checked.
func (t *Tensor) typed(n int) ([]byte, error) {
	le := binary.LittleEndian
	out := make([]byte, 0, n*t.DataType.Size())
	switch dataTypes[t.DataType].store {
	case storeFloat:
		for _, v := range t.FloatData {
			out = le.AppendUint32(out, math.Float32bits(v))
		}
	case storeDouble:
		for _, v := range t.DoubleData {
			out = le.AppendUint64(out, math.Float64bits(v))
		}
	case storeInt64:
		for _, v := range t.Int64Data {
			out = le.AppendUint64(out, uint64(v))
		}
	case storeUint64:
		for i, v := range t.Uint64Data {
			if t.DataType == Uint64 {
				out = le.AppendUint64(out, v)
				continue
			}
			if v > math.MaxUint32 {
				return nil, fail("uint64_data", "entry %d: %d does not fit UINT32", i, v)
			}
			out = le.AppendUint32(out, uint32(v))
		}
	case storeInt32:
		return t.narrow(out, n)
	}
	return out, nil
}

// int32Range returns the range of an entry of int32_data. For types whose entries are bit patterns it includes sign-extended patterns,
// because some writers produce them.
func int32Range(t DataType) (lo, hi int32) {
	switch t {
	case Uint8:
		return 0, math.MaxUint8
	case Int8:
		return math.MinInt8, math.MaxInt8
	case Uint16:
		return 0, math.MaxUint16
	case Int16:
		return math.MinInt16, math.MaxInt16
	case Float16, BFloat16:
		return math.MinInt16, math.MaxUint16
	case Float6E2M3, Float6E3M2:
		return 0, 1<<6 - 1
	case Int32, Bool:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt8, math.MaxUint8 // float8 patterns, and bytes of packed 4- and 2-bit elements
}

func (t *Tensor) narrow(out []byte, n int) ([]byte, error) {
	le := binary.LittleEndian
	info := dataTypes[t.DataType]
	lo, hi := int32Range(t.DataType)
	for i, v := range t.Int32Data {
		if v < lo || v > hi {
			return nil, fail("int32_data", "entry %d: %d does not fit %v", i, v, t.DataType)
		}
		switch {
		case t.DataType == Bool && v != 0:
			out = append(out, 1)
		case info.bits == 32:
			out = le.AppendUint32(out, uint32(v))
		case info.bits == 16:
			out = le.AppendUint16(out, uint16(v))
		default:
			out = append(out, byte(v))
		}
	}
	if info.bits == 4 || info.bits == 2 {
		return t.unpack(out, n), nil
	}
	return out, nil
}
