package pb

import (
	"math"
	"strconv"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// decoder holds the state that the messages of one input share.
type decoder struct {
	lim    Limits
	budget int64 // bytes that may still be allocated
	depth  int
	nodes  int
}

func newDecoder(b []byte, lim Limits) (*decoder, error) {
	lim = lim.withDefaults()
	if int64(len(b)) > lim.MaxBytes {
		return nil, limit("", "%d bytes, limit %d", len(b), lim.MaxBytes)
	}
	return &decoder{lim: lim, budget: growth*int64(len(b)) + slack}, nil
}

// names holds the field names of a message by number; a name that ends in [] is shown with its index.
type names [32]string

// reader iterates over the fields of one message. The first error ends the iteration and is kept in err.
type reader struct {
	d     *decoder
	names *names
	rest  []byte
	num   protowire.Number
	typ   protowire.Type
	u     uint64 // value of varint and fixed fields
	b     []byte // value of length-delimited fields
	seen  [32]int32
	err   error
}

func (d *decoder) read(b []byte, n *names) *reader { return &reader{d: d, names: n, rest: b} }

// next moves to the next field and decodes its value, whatever its number.
func (r *reader) next() bool {
	if r.err != nil || len(r.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(r.rest)
	if n < 0 {
		r.err = fail("", "bad field tag: %s", wireError(n))
		return false
	}
	r.num, r.typ, r.rest = num, typ, r.rest[n:]
	if uint(num) < uint(len(r.seen)) {
		r.seen[num]++
	}
	switch typ {
	case protowire.VarintType:
		r.u, n = protowire.ConsumeVarint(r.rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(r.rest)
		r.u = uint64(v)
	case protowire.Fixed64Type:
		r.u, n = protowire.ConsumeFixed64(r.rest)
	case protowire.BytesType:
		var size uint64
		if size, n = protowire.ConsumeVarint(r.rest); n < 0 {
			break
		}
		if have := uint64(len(r.rest) - n); size > have {
			r.fail("truncated, want %d bytes, got %d", size, have)
			return false
		}
		end := n + int(size)
		r.b, n = r.rest[n:end:end], end
	default:
		n = protowire.ConsumeFieldValue(num, typ, r.rest)
	}
	if n < 0 {
		r.fail("%s", wireError(n))
		return false
	}
	r.rest = r.rest[n:]
	return true
}

// count returns how often field num follows, up to the first malformed field.
func (r *reader) count(num protowire.Number) int {
	c := 0
	for b := r.rest; len(b) > 0; {
		f, _, n := protowire.ConsumeField(b)
		if n < 0 {
			break
		}
		if f == num {
			c++
		}
		b = b[n:]
	}
	return c
}

func wireError(n int) string {
	switch err := protowire.ParseError(n); err.Error() {
	case "unexpected EOF":
		return "truncated"
	default:
		return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	}
}

// label returns the name of the current field, with its index if it is repeated.
func (r *reader) label() string {
	name := ""
	if uint(r.num) < uint(len(r.names)) {
		name = r.names[r.num]
	}
	if name == "" {
		return "field " + strconv.Itoa(int(r.num))
	}
	if base, ok := strings.CutSuffix(name, "[]"); ok {
		return base + "[" + strconv.Itoa(int(r.seen[r.num])-1) + "]"
	}
	return name
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fail(r.label(), format, args...)
	}
}

func (r *reader) want(t protowire.Type) bool {
	if r.typ != t {
		r.fail("wire type %s, want %s", typeName(r.typ), typeName(t))
	}
	return r.err == nil
}

func typeName(t protowire.Type) string {
	switch t {
	case protowire.VarintType:
		return "varint"
	case protowire.Fixed32Type:
		return "fixed32"
	case protowire.Fixed64Type:
		return "fixed64"
	case protowire.BytesType:
		return "bytes"
	case protowire.StartGroupType, protowire.EndGroupType:
		return "group"
	}
	return strconv.Itoa(int(t))
}

// charge subtracts n bytes from the budget, and reports whether the reader has no error.
func (r *reader) charge(n int) bool {
	if r.d.budget -= int64(n); r.d.budget < 0 && r.err == nil {
		r.err = limit(r.label(), "expands to more than %d times the input", growth)
	}
	return r.err == nil
}

func (r *reader) str(dst *string) {
	if r.want(protowire.BytesType) {
		*dst = string(r.b)
	}
}

func (r *reader) strs(dst *[]string) {
	if r.want(protowire.BytesType) && r.charge(16) {
		*dst = append(*dst, string(r.b))
	}
}

func (r *reader) bytes(dst *[]byte) {
	if r.want(protowire.BytesType) {
		*dst = r.b
	}
}

func (r *reader) byteses(dst *[][]byte) {
	if r.want(protowire.BytesType) && r.charge(24) {
		*dst = append(*dst, r.b)
	}
}

func (r *reader) int64(dst *int64) {
	if r.want(protowire.VarintType) {
		*dst = int64(r.u)
	}
}

func (r *reader) float32(dst *float32) {
	if r.want(protowire.Fixed32Type) {
		*dst = math.Float32frombits(uint32(r.u))
	}
}

// enum reads an enum or an int32 that holds one; a value that does not fit is refused instead of truncated.
func enum[T ~int32](r *reader, dst *T) {
	if !r.want(protowire.VarintType) {
		return
	}
	if v := int64(r.u); v < math.MinInt32 || v > math.MaxInt32 {
		r.fail("%d is out of range", v)
		return
	}
	*dst = T(r.u)
}

// varints reads a repeated integer, packed or not.
func varints[T int32 | int64 | uint64](r *reader, dst *[]T) {
	if r.typ == protowire.VarintType {
		if r.charge(int(unsafe.Sizeof(T(0)))) {
			*dst = append(*dst, T(r.u))
		}
		return
	}
	if !r.want(protowire.BytesType) {
		return
	}
	n := 0
	for _, c := range r.b {
		if c < 0x80 {
			n++
		}
	}
	if !r.charge(n * int(unsafe.Sizeof(T(0)))) {
		return
	}
	out := grow(*dst, n)
	for b := r.b; len(b) > 0; {
		v, k := protowire.ConsumeVarint(b)
		if k < 0 {
			r.fail("entry %d: %s", len(out), wireError(k))
			return
		}
		out, b = append(out, T(v)), b[k:]
	}
	*dst = out
}

// floats reads a repeated float, packed or not.
func (r *reader) floats(dst *[]float32) {
	if r.typ == protowire.Fixed32Type {
		if r.charge(4) {
			*dst = append(*dst, math.Float32frombits(uint32(r.u)))
		}
		return
	}
	if !r.want(protowire.BytesType) {
		return
	}
	if len(r.b)%4 != 0 {
		r.fail("truncated, %d bytes is no multiple of 4", len(r.b))
		return
	}
	if !r.charge(len(r.b)) {
		return
	}
	out := grow(*dst, len(r.b)/4)
	for b := r.b; len(b) > 0; b = b[4:] {
		v, _ := protowire.ConsumeFixed32(b)
		out = append(out, math.Float32frombits(v))
	}
	*dst = out
}

func (r *reader) doubles(dst *[]float64) {
	if r.typ == protowire.Fixed64Type {
		if r.charge(8) {
			*dst = append(*dst, math.Float64frombits(r.u))
		}
		return
	}
	if !r.want(protowire.BytesType) {
		return
	}
	if len(r.b)%8 != 0 {
		r.fail("truncated, %d bytes is no multiple of 8", len(r.b))
		return
	}
	if !r.charge(len(r.b)) {
		return
	}
	out := grow(*dst, len(r.b)/8)
	for b := r.b; len(b) > 0; b = b[8:] {
		v, _ := protowire.ConsumeFixed64(b)
		out = append(out, math.Float64frombits(v))
	}
	*dst = out
}

// grow returns s or, if it is nil, an empty slice with room for exactly n elements. Later growth, by append, is geometric, so that
// many small packed fields take linear time.
func grow[T any](s []T, n int) []T {
	if s == nil && n > 0 {
		return make([]T, 0, n)
	}
	return s
}

// one reads a message into *dst; a repeated occurrence is merged into the first, as protobuf requires.
func one[T any](r *reader, dst **T, dec func(*decoder, *T, []byte) error) {
	if !r.want(protowire.BytesType) {
		return
	}
	if *dst == nil {
		var zero T
		if !r.charge(int(unsafe.Sizeof(zero))) {
			return
		}
		*dst = new(T)
	}
	nest(r, *dst, dec)
}

// many appends a message to *dst.
func many[T any](r *reader, dst *[]*T, dec func(*decoder, *T, []byte) error) {
	if !r.want(protowire.BytesType) {
		return
	}
	var zero T
	if !r.charge(int(unsafe.Sizeof(zero)) + 8) {
		return
	}
	v := new(T)
	*dst = append(*dst, v)
	nest(r, v, dec)
}

func nest[T any](r *reader, v *T, dec func(*decoder, *T, []byte) error) {
	if r.d.depth++; r.d.depth > r.d.lim.MaxDepth {
		r.err = limit(r.label(), "nested deeper than %d messages", r.d.lim.MaxDepth)
		return
	}
	if err := dec(r.d, v, r.b); err != nil {
		r.err = inside(r.label(), err)
	}
	r.d.depth--
}
