// Package csv reads files of comma-separated values as datasets of structs, which a data.Loader turns into batches. It must not create
// tensors.
package csv

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/goburn/burn/data"
)

// Options describes the format of a file. The zero value is RFC 4180 with a header.
type Options struct {
	Comma   rune     // field separator; 0 means ','
	Comment rune     // begins a line to skip; 0 means none
	Columns []string // the names of the columns of a file without a header
	Lazy    bool     // allows quotes in unquoted fields
	Trim    bool     // removes spaces at the beginning of fields
}

// Open reads the file at path. See Read.
func Open[T any](path string, o Options) (data.Memory[T], error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("csv: %w", err)
	}
	defer f.Close()
	items, err := Read[T](f, o)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, path)
	}
	return items, nil
}

// Read reads all rows into structs of type T, in order. A field receives the column named by its tag `csv:"name"` or, without a tag, by the
// name of the field. Columns without a field are skipped, and a field without a column is an error. The type of a field is a string, bool,
// integer or float type, a pointer to one of these (nil where the column is empty), or implements encoding.TextUnmarshaler. Errors contain
// the line and the column.
func Read[T any](r io.Reader, o Options) (data.Memory[T], error) {
	c := csv.NewReader(r)
	c.Comment, c.LazyQuotes, c.TrimLeadingSpace, c.ReuseRecord = o.Comment, o.Lazy, o.Trim, true
	if o.Comma != 0 {
		c.Comma = o.Comma
	}
	header := o.Columns
	if len(header) == 0 {
		row, err := c.Read()
		if err != nil {
			return nil, fmt.Errorf("csv: header: %w", err)
		}
		header = append(header, row...)
	}
	c.FieldsPerRecord = len(header)
	p, err := plan(reflect.TypeFor[T](), header)
	if err != nil {
		return nil, fmt.Errorf("csv: %w", err)
	}
	var out data.Memory[T]
	for {
		row, err := c.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("csv: %w", err)
		}
		out = append(out, *new(T))
		v := reflect.ValueOf(&out[len(out)-1]).Elem()
		for _, col := range p {
			if err := col.set(v.FieldByIndex(col.index), row[col.at]); err != nil {
				line, _ := c.FieldPos(col.at)
				return nil, fmt.Errorf("csv: line %d, column %q: %w", line, col.name, err)
			}
		}
	}
}
