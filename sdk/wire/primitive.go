package wire

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/goburn/burn/core"
)

// reader decodes primitives from b and keeps the first error.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("wire: %w: %s", core.ErrProtocol, fmt.Sprintf(format, args...))
		r.b = nil
	}
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail("truncated")
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		c := r.b[0]
		r.b = r.b[1:]
		return uint64(c)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail("truncated or overlong number")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads a number of items that take at least size bytes each, and refuses more than the rest of the frame holds.
func (r *reader) count(what string, size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.fail("%d %s in %d bytes", n, what, len(r.b))
		return 0
	}
	return int(n)
}

// take reads n bytes without copying.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail("truncated: %d bytes of %d", len(r.b), n)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text(limit int) string {
	n := r.count("bytes of text", 1)
	if n > limit {
		r.fail("text of %d bytes, at most %d", n, limit)
		return ""
	}
	return string(r.take(n))
}

func (r *reader) float() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// end returns an error if bytes remain.
func (r *reader) end() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail("%d bytes too many", len(r.b))
	}
	return r.err
}

func appendVarint(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v)<<1^uint64(v>>63))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

// clip shortens a text for humans to at most n bytes.
func clip(s string, n int) string {
	if len(s) > n {
		return s[:n-3] + "..."
	}
	return s
}
