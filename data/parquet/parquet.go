// Package parquet reads Parquet files as datasets of structs, whose fields are columns by the tag `parquet:"name"` of
// github.com/parquet-go/parquet-go. A data.Loader turns the rows into batches; this package must not create tensors. It is a module of its
// own, so that other programs do not depend on that library.
package parquet

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"sync"

	"github.com/goburn/burn/data"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// Load reads all rows of the file at path into memory. It is the fastest way for files that fit in memory.
func Load[T any](path string) (data.Memory[T], error) {
	f, err := Open[T](path, 1)
	if err != nil {
		return nil, err
	}
	out := data.Memory[T]{}
	for g := range f.groups {
		var rows []T
		if rows, err = f.read(g); err != nil {
			break
		}
		out = append(out, rows...)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return out, nil
}

// File is a dataset over an open file. A row group is decoded when one of its rows is requested, and the most recently used
// groups are held. Reading in order, or shuffled within few groups, is fast. Reading at random over more groups than are held
// decodes a group per item: use Load, or store the rows in SQLite. A File is safe for concurrent use until Close.
type File[T any] struct {
	name   string
	r      *os.File
	groups []parquet.RowGroup
	meta   *format.FileMetaData
	schema *parquet.Schema // schema of T
	ends   []int           // end of each group, in rows of the file
	held   int

	mu    sync.Mutex
	cache map[int]*group[T]
	used  list.List // group numbers, the most recently used in front
}

type group[T any] struct {
	once sync.Once
	rows []T
	err  error
	at   *list.Element
}

// Open opens the file at path and holds up to held decoded row groups; 0 means 4. Pages are checked before they are decoded: a
// page whose data does not match its header, or decodes to more than a gibibyte, is an error for the rows in its group.
func Open[T any](path string, held int) (*File[T], error) {
	if held < 0 {
		return nil, fmt.Errorf("parquet: %d row groups held, want 0 (the default) or more", held)
	}
	if held == 0 {
		held = 4
	}
	r, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("parquet: %w", err)
	}
	f := &File[T]{name: path, r: r, held: held, cache: map[int]*group[T]{}}
	if err := f.index(); err != nil {
		return nil, errors.Join(fmt.Errorf("parquet: %s: %w", path, err), r.Close())
	}
	return f, nil
}

func (f *File[T]) index() error {
	info, err := f.r.Stat()
	if err != nil {
		return err
	}
	if err := checkFooter(f.r, info.Size()); err != nil {
		return err
	}
	return contain(func() error {
		p, err := parquet.OpenFile(f.r, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			return err
		}
		f.meta, f.schema = p.Metadata(), parquet.SchemaOf(new(T))
		if err := columns(f.schema, p.Schema()); err != nil {
			return err
		}
		if len(p.RowGroups()) != len(f.meta.RowGroups) {
			return fmt.Errorf("%d row groups, the file lists %d", len(p.RowGroups()), len(f.meta.RowGroups))
		}
		end := 0
		for _, g := range p.RowGroups() {
			if n := g.NumRows(); n < 0 || n > maxRows-int64(end) {
				return fmt.Errorf("a row group of %d rows after %d, want at most %d in all", n, end, int64(maxRows))
			}
			end += int(g.NumRows())
			f.groups, f.ends = append(f.groups, g), append(f.ends, end)
		}
		return nil
	})
}

// checkFooter returns an error if the end of a file of size bytes declares a footer that does not fit into the file. Without this check the
// library would allocate the declared size.
func checkFooter(r io.ReaderAt, size int64) error {
	const around = 12 // bytes of both marks and of the length
	var end [8]byte
	if size < around {
		return fmt.Errorf("%d bytes, want at least %d: the file is cut off or not in the Parquet format", size, around)
	}
	if _, err := r.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(end[:])); n > size-around {
		return fmt.Errorf("a footer of %d bytes in a file of %d: the file is damaged or cut off", n, size)
	}
	return nil
}

// columns returns an error if the file lacks a column of T, because the library would silently leave the field zero.
func columns(want, have *parquet.Schema) error {
	for _, path := range want.Columns() {
		if _, ok := have.Lookup(path...); !ok {
			return fmt.Errorf("no column %q, the file has %q", path, have.Columns())
		}
	}
	return nil
}

// Len returns the number of rows.
func (f *File[T]) Len() int {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// Get returns row i. Data that the row refers to, such as slices, must not be changed.
func (f *File[T]) Get(i int) (item T, err error) {
	if err := data.Check(i, f.Len()); err != nil {
		return item, err
	}
	g := sort.SearchInts(f.ends, i+1)
	rows, err := f.decoded(g)
	if err != nil {
		return item, err
	}
	if g > 0 {
		i -= f.ends[g-1]
	}
	return rows[i], nil
}

// decoded returns the rows of a group, from the cache or from the file. Concurrent requests for a group decode it once.
func (f *File[T]) decoded(g int) ([]T, error) {
	f.mu.Lock()
	c, ok := f.cache[g]
	if ok {
		f.used.MoveToFront(c.at)
	} else {
		c = &group[T]{at: f.used.PushFront(g)}
		f.cache[g] = c
		if f.used.Len() > f.held {
			delete(f.cache, f.used.Remove(f.used.Back()).(int))
		}
	}
	f.mu.Unlock()
	c.once.Do(func() { c.rows, c.err = f.read(g) })
	return c.rows, c.err
}

func (f *File[T]) read(g int) (rows []T, err error) {
	err = contain(func() (err error) {
		if err := checkPages(f.r, &f.meta.RowGroups[g], f.schema); err != nil {
			return err
		}
		r := parquet.NewGenericRowGroupReader[T](f.groups[g])
		defer func() { err = errors.Join(err, r.Close()) }()
		total := int(f.groups[g].NumRows())
		for n := 0; n < total; {
			if n == len(rows) { // grow by rows that were read, because the file may declare any number
				rows = slices.Grow(rows, min(total-n, max(n, chunk)))[:min(total, n+max(n, chunk))]
			}
			k, err := r.Read(rows[n:])
			n += k
			if n < total && err != nil {
				if err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			if k == 0 && err == nil {
				return io.ErrNoProgress
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("parquet: %s: row group %d: %w", f.name, g, err)
	}
	return rows, nil
}

// maxRows is the greatest number of rows of a file, and chunk the number of rows by which the buffer grows at first.
const (
	maxRows = 1 << 40
	chunk   = 1 << 12
)

// contain converts panics of the library, which damaged files and unsuitable types cause, to errors.
func contain(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged file or unfit type: %v", v)
		}
	}()
	return f()
}

// Close closes the file.
func (f *File[T]) Close() error { return f.r.Close() }
