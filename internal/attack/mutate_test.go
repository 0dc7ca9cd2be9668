package attack

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
)

// tokens are fragments with a meaning in one of the formats.
var tokens = []string{"[", "[[", "]", "{", "}", "\"", "\"\"\"", "'", "=", ".", ",", "\n", "\r", "\x00", "\x1b[2J", "\u202e", "../", "/", "-", "~",
	"1e999", "-1", "0x7fffffffffffffff", "18446744073709551615", "9223372036854775807", "NaN", "inf", "null", "true", "\xff\xfe", "\xf4\x90\x80\x80"}

// numbers are boundary values that overwrite fields of several sizes.
var numbers = []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 1 << 20, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, ^uint64(0)}

// largest is the maximum size of a mutation in bytes.
const largest = 1 << 20

// mutation returns the n-th mutation of the seeds of a format; it depends only on its arguments.
func mutation(format string, seeds [][]byte, n int) []byte {
	key := [32]byte{}
	copy(key[:], format)
	binary.LittleEndian.PutUint64(key[24:], uint64(n))
	r := rand.New(rand.NewChaCha8(key))
	b := bytes.Clone(seeds[n%len(seeds)])
	for range 1 + r.IntN(6) {
		b = mutate(r, b, seeds)
		if len(b) > largest {
			b = b[:largest]
		}
	}
	return b
}

func mutate(r *rand.Rand, b []byte, seeds [][]byte) []byte {
	if len(b) == 0 {
		return []byte(tokens[r.IntN(len(tokens))])
	}
	at := r.IntN(len(b))
	end := min(len(b), at+1+r.IntN(64))
	insert := func(s []byte) []byte { return append(b[:at:at], append(bytes.Clone(s), b[at:]...)...) }
	switch r.IntN(12) {
	case 0:
		b[at] ^= 1 << r.IntN(8)
	case 1:
		b[at] = byte(r.Uint32())
	case 2:
		return b[:at]
	case 3:
		return append(b[:at:at], b[end:]...)
	case 4:
		return insert(b[at:end])
	case 5:
		return insert([]byte(tokens[r.IntN(len(tokens))]))
	case 6: // deep nesting or long runs
		return insert([]byte(strings.Repeat(tokens[r.IntN(len(tokens))], 1<<r.IntN(14))))
	case 7:
		var field [8]byte
		binary.LittleEndian.PutUint64(field[:], numbers[r.IntN(len(numbers))])
		copy(b[at:], field[:1<<r.IntN(4)])
	case 8:
		var field [8]byte
		binary.BigEndian.PutUint64(field[:], numbers[r.IntN(len(numbers))])
		n := 1 << r.IntN(4)
		copy(b[at:], field[8-n:])
	case 9: // another number in a text
		i := bytes.IndexAny(b[at:], "0123456789")
		if i < 0 {
			return b
		}
		at += i
		for end = at; end < len(b) && b[end] >= '0' && b[end] <= '9'; end++ {
		}
		return append(b[:at:at], append([]byte(tokens[r.IntN(len(tokens))]), b[end:]...)...)
	case 10: // a fragment of another seed
		other := seeds[r.IntN(len(seeds))]
		if len(other) > 0 {
			from := r.IntN(len(other))
			return insert(other[from:min(len(other), from+256)])
		}
	case 11: // a varint of protocol buffers
		return insert(binary.AppendUvarint(nil, numbers[r.IntN(len(numbers))]))
	}
	return b
}
