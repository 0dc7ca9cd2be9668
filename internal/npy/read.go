package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Read reads one array, of format version 1, 2 or 3, C or Fortran order, either byte order. It reads to the end of the array and
// no further. Arrays of more than maxBytes bytes are refused; 0 means no limit. Memory is allocated as the data arrives, so that
// a header alone cannot claim it. Element types other than those of Array are an error.
func Read(r io.Reader, maxBytes int64) (*Array, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, fmt.Errorf("npy: %w", err)
	}
	size, err := byteSize(h.shape, h.size)
	if err != nil {
		return nil, fmt.Errorf("npy: header: %w", err)
	}
	if maxBytes > 0 && size > maxBytes {
		return nil, fmt.Errorf("npy: data: %s %v is %d bytes, limit %d", h.name, h.shape, size, maxBytes)
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("npy: data: %s %v is %d bytes, more than memory can address", h.name, h.shape, size)
	}
	var buf bytes.Buffer
	buf.Grow(int(min(size, 1<<20)))
	if n, err := io.CopyN(&buf, r, size); err != nil {
		return nil, fmt.Errorf("npy: data: %s %v is %d bytes, got %d: %w", h.name, h.shape, size, n, truncated(err))
	}
	data := buf.Bytes()
	if h.big && h.size > 1 {
		for e := 0; e < len(data); e += h.size {
			slices.Reverse(data[e : e+h.size])
		}
	}
	if h.kind == 'b' {
		for i, v := range data {
			if v != 0 {
				data[i] = 1
			}
		}
	}
	if h.fortran {
		data = rowMajor(data, h.shape, h.size)
	}
	return &Array{DType: h.name, Shape: h.shape, Data: data}, nil
}

func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func readHeader(r io.Reader) (*header, error) {
	head := make([]byte, len(magic)+4)
	if n, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("magic: want %d bytes, got %d: %w", len(head), n, truncated(err))
	}
	if string(head[:len(magic)]) != magic {
		return nil, fmt.Errorf("magic: want %q, got %q: not an .npy file", magic, head[:len(magic)])
	}
	major, minor := head[len(magic)], head[len(magic)+1]
	if major < 1 || major > 3 || minor != 0 {
		return nil, fmt.Errorf("version: want 1.0, 2.0 or 3.0, got %d.%d", major, minor)
	}
	size := int64(binary.LittleEndian.Uint16(head[len(magic)+2:]))
	if major > 1 {
		head = append(head, 0, 0)
		if _, err := io.ReadFull(r, head[len(magic)+4:]); err != nil {
			return nil, fmt.Errorf("header: length: %w", truncated(err))
		}
		size = int64(binary.LittleEndian.Uint32(head[len(magic)+2:]))
	}
	if size > maxHeader {
		return nil, fmt.Errorf("header: %d bytes, limit %d", size, maxHeader)
	}
	text := make([]byte, size)
	if n, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("header: want %d bytes, got %d: %w", size, n, truncated(err))
	}
	return parseHeader(string(text))
}

// rowMajor converts column-major data to row-major order.
func rowMajor(data []byte, shape []int, size int) []byte {
	if len(shape) < 2 || len(data) == 0 {
		return data
	}
	stride := make([]int, len(shape)) // in data, in bytes
	for i, s := 0, size; i < len(shape); i++ {
		stride[i] = s
		s *= shape[i]
	}
	out := make([]byte, 0, len(data))
	at, index := 0, make([]int, len(shape))
	for len(out) < len(data) {
		out = append(out, data[at:at+size]...)
		for i := len(shape) - 1; i >= 0; i-- {
			index[i]++
			at += stride[i]
			if index[i] < shape[i] {
				break
			}
			at -= stride[i] * shape[i]
			index[i] = 0
		}
	}
	return out
}
