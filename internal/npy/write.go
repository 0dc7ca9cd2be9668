package npy

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write writes a as format version 1.0, in C order and little endian, byte for byte as NumPy does. If the dtype is unknown or the
// data does not have the size of dtype and shape, it returns an error and writes nothing.
func Write(w io.Writer, a *Array) error {
	head, err := writeHeader(a)
	if err != nil {
		return fmt.Errorf("npy: write: %w", err)
	}
	for _, b := range [][]byte{head, a.Data} {
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("npy: write: %w", err)
		}
	}
	return nil
}

func writeHeader(a *Array) ([]byte, error) {
	descr, size := "", 0
	for _, d := range dtypes {
		if d.name == a.DType {
			order := "<"
			if d.size == 1 {
				order = "|"
			}
			descr, size = order+string(rune(d.kind))+strconv.Itoa(d.size), d.size
		}
	}
	if descr == "" {
		return nil, fmt.Errorf("dtype %q has no .npy type", a.DType)
	}
	want, err := byteSize(a.Shape, size)
	if err != nil {
		return nil, err
	}
	if int64(len(a.Data)) != want {
		return nil, fmt.Errorf("%s %v want %d bytes of data, got %d", a.DType, a.Shape, want, len(a.Data))
	}
	dims := make([]string, len(a.Shape))
	for i, d := range a.Shape {
		dims[i] = strconv.Itoa(d)
	}
	shape := strings.Join(dims, ", ")
	if len(dims) == 1 {
		shape += ","
	}
	text := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }"
	if len(dims) > 0 { // NumPy leaves room for the first dimension to grow in place to 21 digits
		text += strings.Repeat(" ", 21-len(dims[0]))
	}
	fixed := len(magic) + 4
	pad := 64 - (fixed+len(text)+1)%64 // NumPy pads to a multiple of 64, by 64 if the length is one already
	text += strings.Repeat(" ", pad) + "\n"
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text)))
	return append(out, text...), nil
}
