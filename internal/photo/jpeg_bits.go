package photo

import "fmt"

// prefixCode is a canonical Huffman code: codes of equal length are consecutive.
type prefixCode struct {
	fast   [256]uint16 // by the next 8 bits: length<<8 | value, 0 when the code is longer
	limit  [17]int32   // per length: the last code plus one; -1 if no code has the length
	offset [17]int32   // per length: the index in values minus the code
	values []byte
}

func newPrefixCode(counts [16]int, values []byte) (*prefixCode, error) {
	c := &prefixCode{values: values}
	code, k := int32(0), 0
	for i, n := range counts {
		length := i + 1
		c.offset[length], c.limit[length] = int32(k)-code, -1
		if n > 0 {
			if code+int32(n) > 1<<length {
				return nil, fmt.Errorf("code table: %w", errBroken)
			}
			for j := range n {
				if length <= 8 {
					for s := range 1 << (8 - length) {
						c.fast[int(code+int32(j))<<(8-length)|s] = uint16(length)<<8 | uint16(values[k+j])
					}
				}
			}
			code += int32(n)
			k += n
			c.limit[length] = code
		}
		code <<= 1
	}
	return c, nil
}

// bitReader reads entropy-coded data, in which a zero byte follows each byte 0xff. It stops at a marker.
type bitReader struct {
	data []byte
	at   int
	acc  uint32
	n    int // unread low bits of acc
}

// fill reads bytes until n bits are available (n at most 16). It returns false if the data ends or a marker follows before that.
func (r *bitReader) fill(n int) bool {
	for r.n < n {
		if r.at >= len(r.data) {
			return false
		}
		b := r.data[r.at]
		if b == 0xff {
			if r.at+1 >= len(r.data) || r.data[r.at+1] != 0 {
				return false
			}
			r.at++
		}
		r.at++
		r.acc = r.acc<<8 | uint32(b)
		r.n += 8
	}
	return true
}

// take reads n bits, at most 16.
func (r *bitReader) take(n int) (int32, error) {
	if !r.fill(n) {
		return 0, errTruncated
	}
	r.n -= n
	return int32(r.acc>>r.n) & (1<<n - 1), nil
}

// signed reads an n-bit number whose lower half of values encodes negative numbers (T.81, EXTEND).
func (r *bitReader) signed(n int) (int32, error) {
	v, err := r.take(n)
	if n > 0 && v < 1<<(n-1) {
		v += -1<<n + 1
	}
	return v, err
}

func (r *bitReader) symbol(c *prefixCode) (int, error) {
	if c == nil {
		return 0, fmt.Errorf("a code table is missing: %w", errBroken)
	}
	if r.fill(8) {
		if e := c.fast[uint8(r.acc>>(r.n-8))]; e != 0 {
			r.n -= int(e >> 8)
			return int(e & 255), nil
		}
	}
	code := int32(0)
	for length := 1; length <= 16; length++ {
		bit, err := r.take(1)
		if err != nil {
			return 0, err
		}
		if code = code<<1 | bit; code < c.limit[length] {
			if i := code + c.offset[length]; i >= 0 && int(i) < len(c.values) {
				return int(c.values[i]), nil
			}
		}
	}
	return 0, fmt.Errorf("no code: %w", errBroken)
}
