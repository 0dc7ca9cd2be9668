package pb

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Files reads external data files. An implementation may read, cache or map them.
type Files interface {
	// Range returns length bytes of the file at location, starting at offset. location is the text in the model: a
	// slash-separated path relative to the model's directory, not yet checked. Callers must not write to the result.
	Range(location string, offset, length int64) ([]byte, error)
}

// Dir reads external data from a directory and its subdirectories, with ordinary reads. It refuses absolute locations, locations
// that leave the directory (by .. or symbolic links) and files that are not regular. Files stay open until Close. It is safe for
// concurrent use.
type Dir struct {
	root *os.Root

	mu   sync.Mutex
	open map[string]openFile
}

type openFile struct {
	f    *os.File
	size int64
}

var _ Files = (*Dir)(nil)

// OpenDir opens the directory of a model for reading its external data.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: external data: %w", err)
	}
	return &Dir{root: root, open: map[string]openFile{}}, nil
}

// Close closes the directory and its files.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := []error{d.root.Close()}
	for _, o := range d.open {
		errs = append(errs, o.f.Close())
	}
	d.open = map[string]openFile{}
	return errors.Join(errs...)
}

// Range reads from a file. It checks the range against the size of the file before it allocates memory.
func (d *Dir) Range(location string, offset, length int64) ([]byte, error) {
	o, err := d.file(location)
	if err != nil {
		return nil, err
	}
	if offset < 0 || length < 0 || offset > o.size || length > o.size-offset {
		return nil, fmt.Errorf("%s: want %d bytes at offset %d, file has %d", quote(location), length, offset, o.size)
	}
	if length > math.MaxInt {
		return nil, fmt.Errorf("%s: %d bytes do not fit memory", quote(location), length)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(o.f, offset, length), b); err != nil {
		return nil, fmt.Errorf("%s: read %d bytes at offset %d: %w", quote(location), length, offset, err)
	}
	return b, nil
}

func (d *Dir) file(location string) (openFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if o, ok := d.open[location]; ok {
		return o, nil
	}
	name := filepath.FromSlash(location)
	if !filepath.IsLocal(name) {
		return openFile{}, fmt.Errorf("%s: want a path inside the model's directory", quote(location))
	}
	// Stat precedes opening, because opening a pipe would wait for its writer.
	if info, err := d.root.Stat(name); err != nil {
		return openFile{}, notFound(location, err)
	} else if !info.Mode().IsRegular() {
		return openFile{}, fmt.Errorf("%s: not a regular file", quote(location))
	}
	f, err := d.root.Open(name)
	if err != nil {
		return openFile{}, notFound(location, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return openFile{}, fmt.Errorf("%s: %w", quote(location), err)
	}
	o := openFile{f, info.Size()}
	d.open[location] = o
	return o, nil
}

// notFound removes from a file system error the path that os would repeat.
func notFound(location string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", quote(location), err)
}

// external reads the data of a tensor of n elements from a file. If the model gives no length, the dims determine it.
func (t *Tensor) external(files Files, n int64) ([]byte, error) {
	info := dataTypes[t.DataType]
	if n > (math.MaxInt64-7)/int64(info.bits) {
		return nil, fail("dims", "product of %v overflows", t.Dims)
	}
	want := (n*int64(info.bits) + 7) / 8
	location, offset, length := "", int64(0), want
	for _, p := range t.External {
		var err error
		switch p.Key {
		case "location":
			location = p.Value
		case "offset":
			offset, err = strconv.ParseInt(p.Value, 10, 64)
		case "length":
			length, err = strconv.ParseInt(p.Value, 10, 64)
		}
		if err != nil || offset < 0 || length < 0 {
			return nil, fail("external_data", "%s %s, want a number of bytes", p.Key, quote(p.Value))
		}
	}
	if location == "" {
		return nil, fail("external_data", "no location")
	}
	if length != want {
		return nil, fail("external_data", "dims %v of %v want %d bytes, length is %d", t.Dims, t.DataType, want, length)
	}
	if files == nil {
		return nil, fail("external_data", "data is in file %s, but there is no directory to read it from", quote(location))
	}
	b, err := files.Range(location, offset, want)
	if err != nil {
		return nil, inside("external_data", err)
	}
	if int64(len(b)) != want {
		return nil, fail("external_data", "%s: want %d bytes, got %d", quote(location), want, len(b))
	}
	return b, nil
}

// quote quotes a name from the file for an error message and shortens it.
func quote(s string) string {
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "..."
	}
	return strconv.Quote(s)
}
