package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// Reader reads the tensors of a file one by one. It implements nn.Source and is safe for concurrent use.
type Reader struct {
	format   Format
	metadata map[string]string
	infos    []Info
	index    map[string]int
	read     func(i int, dst []byte) error
	closer   io.Closer
}

// Open opens a file of any of the formats, which it detects by content, and checks its layout. Contents are read on demand, except in
// JSON, which is read and parsed at once.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	var r *Reader
	s, err := f.Stat()
	if err == nil {
		r, err = NewReader(f, s.Size())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("record: %s: %w", path, err), f.Close())
	}
	r.closer = f
	return r, nil
}

// Parse opens a file that is in memory. b must not change.
func Parse(b []byte) (*Reader, error) { return NewReader(bytes.NewReader(b), int64(len(b))) }

// NewReader opens a file of the given size, which it reads through the io.ReaderAt at. Close does not close the io.ReaderAt.
func NewReader(at io.ReaderAt, size int64) (*Reader, error) {
	var head [9]byte
	n, err := at.ReadAt(head[:min(9, max(0, size))], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	r := &Reader{}
	switch {
	case n >= len(magic) && string(head[:len(magic)]) == magic:
		err = r.openRecord(at, size)
	case n == 9 && head[8] == '{' && le.Uint64(head[:]) <= maxSafetensors:
		err = r.openSafetensors(at, size)
	case n > 0 && head[0] == '{':
		err = r.openJSON(at, size)
	default:
		err = fmt.Errorf("%d bytes that begin with %q, want a record, safetensors or JSON: %w", size, head[:n], ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// add adds a tensor to the index.
func (r *Reader) add(i Info) error {
	if _, twice := r.index[i.Name]; twice || i.Name == "" {
		return fmt.Errorf("tensor %q: a name that is empty or given twice: %w", i.Name, ErrCorrupt)
	}
	if r.index == nil {
		r.index = map[string]int{}
	}
	r.index[i.Name] = len(r.infos)
	r.infos = append(r.infos, i)
	return nil
}

// sizeOf checks the shape of a tensor and returns it with its size in bytes.
func sizeOf(name string, d dtype.DType, dims []int64) (shape.Shape, int64, error) {
	if len(dims) > shape.MaxRank {
		return nil, 0, fmt.Errorf("tensor %q of rank %d, want at most %d: %w", name, len(dims), shape.MaxRank, ErrCorrupt)
	}
	n, zero := int64(d.Size()), false
	s := make(shape.Shape, len(dims))
	for i, v := range dims {
		if v < 0 || v > math.MaxInt32*int64(1<<16) {
			return nil, 0, fmt.Errorf("tensor %q of dimensions %v: %w", name, dims, ErrCorrupt)
		}
		s[i] = int(v)
		if v == 0 {
			zero = true
		} else if n > math.MaxInt64/v {
			return nil, 0, fmt.Errorf("tensor %q of dimensions %v has too many elements: %w", name, dims, ErrCorrupt)
		} else {
			n *= v
		}
	}
	if zero {
		n = 0
	}
	return s, n, nil
}

// Format returns the format of the file.
func (r *Reader) Format() Format { return r.format }

// Metadata returns the texts stored with the tensors. The caller must not change the map.
func (r *Reader) Metadata() map[string]string { return r.metadata }

// Infos describes all tensors in the order of the file. The caller must not change the slice.
func (r *Reader) Infos() []Info { return r.infos }

// Names returns the names of all tensors in the order of the file.
func (r *Reader) Names() []string {
	names := make([]string, len(r.infos))
	for i, info := range r.infos {
		names[i] = info.Name
	}
	return names
}

// Bytes reads a tensor: elements in row-major order, little-endian. For an unknown name the error is core.ErrNotFound, for damaged data
// it is ErrCorrupt.
func (r *Reader) Bytes(name string) (Info, []byte, error) {
	i, ok := r.index[name]
	if !ok {
		return Info{}, nil, fmt.Errorf("record: no tensor %q: %w", name, core.ErrNotFound)
	}
	info := r.infos[i]
	b := make([]byte, info.Bytes())
	err := r.read(i, b)
	if err == nil && info.DType == dtype.Bool {
		for k, v := range b {
			if v > 1 {
				err = fmt.Errorf("bool %d is %d, want 0 or 1: %w", k, v, ErrCorrupt)
				break
			}
		}
	}
	if err != nil {
		return info, nil, fmt.Errorf("record: tensor %q: %w", name, err)
	}
	return info, b, nil
}

// Tensor reads a tensor onto d. The caller owns it.
func (r *Reader) Tensor(ctx context.Context, d *tensor.Device, name string) (*tensor.Tensor, error) {
	info, b, err := r.Bytes(name)
	if err != nil {
		return nil, err
	}
	t, err := d.Adopt(ctx, info.DType, info.Shape, b, func() {})
	if err != nil {
		return nil, fmt.Errorf("record: tensor %q: %w", name, err)
	}
	return t, nil
}

// Verify reads everything once, to find damage in contents that were not read yet. Safetensors files have no checksums.
func (r *Reader) Verify() error {
	for _, i := range r.infos {
		if _, _, err := r.Bytes(i.Name); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// full fills all of dst with ReadAt.
func full(at io.ReaderAt, dst []byte, off int64) error {
	n, err := at.ReadAt(dst, off)
	if n == len(dst) {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("ends at byte %d, want %d: %w", off+int64(n), off+int64(len(dst)), ErrCorrupt)
	}
	return err
}
