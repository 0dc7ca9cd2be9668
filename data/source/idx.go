package source

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// IDX is an array in the format of MNIST's files, of unsigned bytes.
type IDX struct {
	Dims []int
	Data []byte // row-major
}

// maxIDX is the greatest number of elements of an array.
const maxIDX = 1 << 30

// ReadIDX reads an array of unsigned bytes, compressed by gzip or not: two zero bytes, the type 0x08, the number of dimensions,
// each dimension as a big-endian 32-bit number, then the elements and nothing more.
func ReadIDX(r io.Reader) (IDX, error) {
	b, err := limited(r)
	if err == nil {
		b, err = gunzip(b)
	}
	if err != nil {
		return IDX{}, fmt.Errorf("idx: %w", err)
	}
	return parseIDX(b)
}

func parseIDX(b []byte) (IDX, error) {
	if len(b) < 4 {
		return IDX{}, fmt.Errorf("idx: %d bytes, want 4 of magic number at least", len(b))
	}
	if b[0] != 0 || b[1] != 0 || b[2] != 8 || b[3] == 0 {
		return IDX{}, fmt.Errorf("idx: magic number %#08x, want 0x000008 and the number of dimensions: unsigned bytes", binary.BigEndian.Uint32(b))
	}
	rank := int(b[3])
	b = b[4:]
	if len(b) < 4*rank {
		return IDX{}, fmt.Errorf("idx: ends within the %d dimensions", rank)
	}
	x := IDX{Dims: make([]int, rank), Data: b[4*rank:]}
	size := uint64(1)
	for i := range x.Dims {
		d := binary.BigEndian.Uint32(b[4*i:])
		if d > math.MaxInt32 || size*uint64(d) > maxIDX {
			return IDX{}, fmt.Errorf("idx: dimension %d of %d makes more than %d elements", i, d, maxIDX)
		}
		x.Dims[i], size = int(d), size*uint64(d)
	}
	if uint64(len(x.Data)) != size {
		return IDX{}, fmt.Errorf("idx: %d elements, want %d for dimensions %v", len(x.Data), size, x.Dims)
	}
	return x, nil
}
