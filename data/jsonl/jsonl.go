// Package jsonl reads files with one JSON value per line as datasets with random access, which a data.Loader turns into batches. It must
// not create tensors.
package jsonl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goburn/burn/data"
)

// File is a dataset over an open file. It holds the offsets of the lines in memory, 16 bytes each, but not the lines. It is safe
// for concurrent use until Close.
type File[T any] struct {
	r     io.ReaderAt
	close func() error
	name  string
	ends  []int64 // end of each line that is an item
	start []int64 // start of each of these lines
}

// Open finds the lines of the file at path. Empty lines are not items.
func Open[T any](path string) (*File[T], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("jsonl: %w", err)
	}
	d, err := Read[T](f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w (file %s)", err, path), f.Close())
	}
	d.close, d.name = f.Close, path
	return d, nil
}

// Read returns a dataset over r, which may be in memory; each Get reads from r again.
func Read[T any](r io.ReaderAt) (*File[T], error) {
	d := &File[T]{r: r, close: func() error { return nil }, name: "input"}
	br := bufio.NewReaderSize(io.NewSectionReader(r, 0, 1<<62), 1<<16)
	var at, start int64
	blank := true
	for {
		part, err := br.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return nil, fmt.Errorf("jsonl: after %d bytes: %w", at, err)
		}
		at += int64(len(part))
		blank = blank && len(bytes.TrimSpace(part)) == 0
		if err == bufio.ErrBufferFull {
			continue // a long line
		}
		if !blank {
			d.start, d.ends = append(d.start, start), append(d.ends, at)
		}
		if err == io.EOF {
			return d, nil
		}
		start, blank = at, true
	}
}

// Len returns the number of lines that are not empty.
func (d *File[T]) Len() int { return len(d.start) }

// Get decodes item i. JSON fields that T does not have are ignored.
func (d *File[T]) Get(i int) (item T, err error) {
	if err := data.Check(i, len(d.start)); err != nil {
		return item, err
	}
	b := make([]byte, d.ends[i]-d.start[i])
	if n, err := d.r.ReadAt(b, d.start[i]); n < len(b) {
		return item, fmt.Errorf("jsonl: %s: item %d: %d bytes, want %d; was the file changed? %w", d.name, i, n, len(b), err)
	}
	if err := json.Unmarshal(b, &item); err != nil {
		return item, fmt.Errorf("jsonl: %s: item %d at byte %d: %w", d.name, i, d.start[i], err)
	}
	return item, nil
}

// Close closes the file that Open opened.
func (d *File[T]) Close() error { return d.close() }

// Write writes ds, one line per item.
func Write[T any](w io.Writer, ds data.Dataset[T]) error {
	bw := bufio.NewWriter(w)
	e := json.NewEncoder(bw)
	for i := range ds.Len() {
		item, err := ds.Get(i)
		if err == nil {
			err = e.Encode(item)
		}
		if err != nil {
			return fmt.Errorf("jsonl: write: %w", &data.ItemError{Index: i, Err: err})
		}
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("jsonl: write: %w", err)
	}
	return nil
}
