package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// sizer computes the size of decompressed data in bounded memory.
type sizer struct {
	// ratio is the greatest number of output bytes per input byte; 0 if there is no useful bound.
	ratio int64
	// decoded returns the size of the decompressed data, or a number above limit if it is larger. If an upper bound of the size is at most
	// maxPage, decoded need not decompress: it may return any number up to limit.
	decoded func(data []byte, limit int64) (int64, error)
}

var codecs = map[format.CompressionCodec]sizer{
	format.Snappy: {decoded: snappySize},
	format.Lz4Raw: {decoded: lz4Size},
	format.Zstd: {decoded: func(b []byte, limit int64) (int64, error) {
		if n, err := zstdBound(b); err != nil || n <= maxPage {
			return min(n, limit), err
		}
		r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
		if err != nil {
			return 0, err
		}
		defer r.Close()
		return io.Copy(io.Discard, io.LimitReader(r, limit+1))
	}},
	format.Gzip: {ratio: 1032, decoded: func(b []byte, limit int64) (int64, error) {
		r, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return 0, err
		}
		return io.Copy(io.Discard, io.LimitReader(r, limit+1))
	}},
	format.Brotli: {decoded: func(b []byte, limit int64) (int64, error) {
		return io.Copy(io.Discard, io.LimitReader(brotli.NewReader(bytes.NewReader(b)), limit+1))
	}},
}

var errTruncated = errors.New("the data are truncated")

// snappySize returns the size in the header of the data; decoders allocate a buffer of this size.
func snappySize(b []byte, _ int64) (int64, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > 1<<32-1 {
		return 0, errors.New("the data do not begin with their size")
	}
	return int64(n), nil
}

// lz4Size returns the sum of the lengths of a block's sequences. It returns an error where a decoder would return one, because the
// library treats every error of its decoder as a buffer that is too short.
func lz4Size(b []byte, _ int64) (int64, error) {
	var n int64
	length := func(code byte) (int64, bool) { // code 15 is followed by bytes of 255 and one smaller byte, which are added
		l := int64(code)
		for more := code == 15; more; {
			if len(b) == 0 {
				return 0, false
			}
			l, more = l+int64(b[0]), b[0] == 255
			b = b[1:]
		}
		return l, true
	}
	for len(b) > 0 {
		token := b[0]
		b = b[1:]
		literals, ok := length(token >> 4)
		if !ok || literals > int64(len(b)) {
			return 0, errTruncated
		}
		n, b = n+literals, b[literals:]
		if len(b) == 0 { // the last sequence has no match
			return n, nil
		}
		if len(b) < 2 {
			return 0, errTruncated
		}
		offset := int64(binary.LittleEndian.Uint16(b))
		b = b[2:]
		if offset == 0 || offset > n {
			return 0, fmt.Errorf("a match %d bytes back, after %d bytes", offset, n)
		}
		match, ok := length(token & 15)
		if !ok {
			return 0, errTruncated
		}
		if n += match + 4; len(b) == 0 {
			return 0, errTruncated
		}
	}
	return n, nil
}

// zstdBound returns an upper bound of the decompressed size: the sum over the blocks of all frames. A compressed block becomes at most
// 128 KiB.
func zstdBound(b []byte) (int64, error) {
	const magic, skippable, block = 0xfd2fb528, 0x184d2a50, 128 << 10
	var n int64
	for len(b) > 0 {
		if len(b) < 8 {
			return 0, errTruncated
		}
		m := binary.LittleEndian.Uint32(b)
		if m&^15 == skippable {
			size := int64(binary.LittleEndian.Uint32(b[4:]))
			if b = b[8:]; size > int64(len(b)) {
				return 0, errTruncated
			}
			b = b[size:]
			continue
		}
		if m != magic {
			return 0, fmt.Errorf("a frame begins with %08x, want the magic number %08x", m, uint32(magic))
		}
		d := b[4]
		single, sum := d>>5&1, d>>2&1
		head := 5 + int(1-single) + []int{0, 1, 2, 4}[d&3] + []int{int(single), 2, 4, 8}[d>>6]
		if len(b) < head {
			return 0, errTruncated
		}
		b = b[head:]
		for last := false; !last; {
			if len(b) < 3 {
				return 0, errTruncated
			}
			h := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
			size := int64(h >> 3)
			last, b = h&1 == 1, b[3:]
			takes := size
			switch h >> 1 & 3 {
			case 0:
				n += size
			case 1:
				n, takes = n+size, 1
			case 2:
				n += block
			default:
				return 0, errors.New("unknown block type 3, want 0 to 2")
			}
			if takes > int64(len(b)) {
				return 0, errTruncated
			}
			b = b[takes:]
		}
		b = b[min(len(b), 4*int(sum)):]
	}
	return n, nil
}
