package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/goburn/burn/data/internal/fields"
)

// column describes how one field is stored.
type column struct {
	name  string
	index []int
	kind  string                           // type in SQLite
	scan  func(reflect.Value) any          // destination for Scan, which sets the field
	value func(reflect.Value) (any, error) // value to store
}

func columns(t reflect.Type) ([]column, error) {
	list, err := fields.Of(t, "db")
	if err != nil {
		return nil, err
	}
	out := make([]column, len(list))
	for i, f := range list {
		out[i] = describe(f.Type)
		out[i].name, out[i].index = f.Name, f.Index
	}
	return out, nil
}

func describe(t reflect.Type) column {
	switch t.Kind() {
	case reflect.Bool:
		return direct("INTEGER", func(v reflect.Value) (any, error) { return v.Bool(), nil })
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return direct("INTEGER", func(v reflect.Value) (any, error) { return v.Int(), nil })
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return direct("INTEGER", func(v reflect.Value) (any, error) {
			if v.Uint() > math.MaxInt64 {
				return nil, fmt.Errorf("%d, want at most %d", v.Uint(), int64(math.MaxInt64))
			}
			return int64(v.Uint()), nil
		})
	case reflect.Float32, reflect.Float64:
		c := direct("REAL", func(v reflect.Value) (any, error) { return v.Float(), nil })
		c.scan = func(v reflect.Value) any { return float{v} }
		return c
	case reflect.String:
		return direct("TEXT", func(v reflect.Value) (any, error) { return v.String(), nil })
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return direct("BLOB", func(v reflect.Value) (any, error) { return v.Bytes(), nil })
		}
	case reflect.Pointer:
		if inner := describe(t.Elem()); t.Elem().Kind() != reflect.Pointer && inner.kind != "TEXT" || t.Elem().Kind() == reflect.String {
			return optional(inner)
		}
	}
	return column{
		kind: "TEXT",
		scan: func(v reflect.Value) any { return object{v} },
		value: func(v reflect.Value) (any, error) {
			b, err := json.Marshal(v.Interface())
			return string(b), err
		},
	}
}

// direct returns a column that database/sql converts.
func direct(kind string, value func(reflect.Value) (any, error)) column {
	return column{kind: kind, scan: func(v reflect.Value) any { return v.Addr().Interface() }, value: value}
}

// optional returns a column that may be NULL.
func optional(inner column) column {
	value := inner.value
	inner.value = func(v reflect.Value) (any, error) {
		if v.IsNil() {
			return nil, nil
		}
		return value(v.Elem())
	}
	inner.scan = func(v reflect.Value) any { return v.Addr().Interface() }
	return inner
}

// float is a field of a float type, which is read as NaN from NULL.
type float struct{ v reflect.Value }

// Scan sets the field.
func (f float) Scan(src any) error {
	var x sql.NullFloat64
	if err := x.Scan(src); err != nil {
		return err
	}
	if !x.Valid {
		x.Float64 = math.NaN()
	}
	f.v.SetFloat(x.Float64)
	return nil
}

// object is a field that is stored as JSON.
type object struct{ v reflect.Value }

// Scan sets the field.
func (o object) Scan(src any) error {
	var text sql.NullString
	if err := text.Scan(src); err != nil {
		return err
	}
	if !text.Valid {
		o.v.SetZero()
		return nil
	}
	return json.Unmarshal([]byte(text.String), o.v.Addr().Interface())
}
