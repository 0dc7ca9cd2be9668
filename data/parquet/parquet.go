// Package parquet reads Parquet files as datasets of structs, whose fields are columns by the tag `parquet:"name"` of
// github.com/parquet-go/parquet-go.
package parquet

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"

	"github.com/goburn/burn/data"
	"github.com/parquet-go/parquet-go"
)

// Load reads all rows of the file at path into memory. It is the fast way for files that fit.
func Load[T any](path string) (data.Memory[T], error) {
	f, err := Open[T](path, 1)
	if err != nil {
		return nil, err
	}
	out := make(data.Memory[T], 0, f.Len())
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

// File is a dataset over an open file. A row group is decoded when one of its rows is asked for, and the ones that were
// used last are held. Reading in order, or shuffled within few groups, is fast; reading at random over more groups than are
// held decodes a group per item: use Load, or store the rows in SQLite. A File is safe for concurrent use until Close.
type File[T any] struct {
	name   string
	r      *os.File
	groups []parquet.RowGroup
	ends   []int // of each group, in rows of the file
	held   int

	mu    sync.Mutex
	cache map[int]*group[T]
	used  list.List // of group numbers, the last used in front
}

type group[T any] struct {
	once sync.Once
	rows []T
	err  error
	at   *list.Element
}

// Open opens the file at path and holds up to held decoded row groups, 0 means 4.
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
	return contain(func() error {
		p, err := parquet.OpenFile(f.r, info.Size())
		if err != nil {
			return err
		}
		if err := columns(parquet.SchemaOf(new(T)), p.Schema()); err != nil {
			return err
		}
		end := 0
		for _, g := range p.RowGroups() {
			end += int(g.NumRows())
			f.groups, f.ends = append(f.groups, g), append(f.ends, end)
		}
		return nil
	})
}

// columns says whether the file has all that T wants: what it has not would silently be zero.
func columns(want, have *parquet.Schema) error {
	for _, path := range want.Columns() {
		if _, ok := have.Lookup(path...); !ok {
			return fmt.Errorf("no column %q, the file has %q", path, have.Columns())
		}
	}
	return nil
}

// Len is the number of rows.
func (f *File[T]) Len() int {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// Get is row i. What the row refers to, such as slices, must not be changed.
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

// decoded gives the rows of a group, from the cache or, once for all that wait, from the file.
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
		r := parquet.NewGenericRowGroupReader[T](f.groups[g])
		defer func() { err = errors.Join(err, r.Close()) }()
		rows = make([]T, f.groups[g].NumRows())
		for n := 0; n < len(rows); {
			k, err := r.Read(rows[n:])
			n += k
			if n < len(rows) && err != nil {
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

// contain turns panics of the library, which damaged files and unfit types cause, into errors.
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
