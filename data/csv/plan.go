package csv

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goburn/burn/data/internal/fields"
)

// column maps one column to a field.
type column struct {
	name  string
	at    int
	index []int
	set   func(reflect.Value, string) error
}

func plan(t reflect.Type, header []string) ([]column, error) {
	list, err := fields.Of(t, "csv")
	if err != nil {
		return nil, err
	}
	names := slices.Clone(header)
	names[0] = strings.TrimPrefix(names[0], "\ufeff") // spreadsheets write a byte order mark
	var out []column
	for _, f := range list {
		at := slices.Index(names, f.Name)
		if at < 0 {
			return nil, fmt.Errorf("no column %q for %v, the file has %.2000s", f.Name, t, strings.Join(names, ", "))
		}
		if again := slices.Index(names[at+1:], f.Name); again >= 0 {
			return nil, fmt.Errorf("columns %d and %d are both called %q, want one", at+1, at+again+2, f.Name)
		}
		set, err := setter(f.Type)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		out = append(out, column{f.Name, at, f.Index, set})
	}
	return out, nil
}

var unmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

// setter returns a function that converts text to a value of type t.
func setter(t reflect.Type) (func(reflect.Value, string) error, error) {
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return func(v reflect.Value, s string) error {
			return v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
		}, nil
	}
	bad := func(err error, s string) error {
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%.100q is outside the range of %v", s, t)
		}
		return fmt.Errorf("%.100q, want %v", s, t)
	}
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value, s string) error { v.SetString(s); return nil }, nil
	case reflect.Bool:
		return func(v reflect.Value, s string) error {
			b, err := strconv.ParseBool(s)
			if err != nil {
				return bad(err, s)
			}
			v.SetBool(b)
			return nil
		}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(v reflect.Value, s string) error {
			n, err := strconv.ParseInt(s, 10, t.Bits())
			if err != nil {
				return bad(err, s)
			}
			v.SetInt(n)
			return nil
		}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(v reflect.Value, s string) error {
			n, err := strconv.ParseUint(s, 10, t.Bits())
			if err != nil {
				return bad(err, s)
			}
			v.SetUint(n)
			return nil
		}, nil
	case reflect.Float32, reflect.Float64:
		return func(v reflect.Value, s string) error {
			x, err := strconv.ParseFloat(s, t.Bits())
			if err != nil {
				return bad(err, s)
			}
			v.SetFloat(x)
			return nil
		}, nil
	case reflect.Pointer:
		inner, err := setter(t.Elem())
		if err != nil {
			return nil, err
		}
		return func(v reflect.Value, s string) error {
			if s == "" {
				v.SetZero()
				return nil
			}
			v.Set(reflect.New(t.Elem()))
			return inner(v.Elem(), s)
		}, nil
	}
	return nil, fmt.Errorf("a field of type %v, want a string, bool, integer, float, pointer to one, or an encoding.TextUnmarshaler", t)
}
