// Package fields finds the fields of a struct by tag, for packages data/csv and data/sqlite. It must not convert values.
package fields

import (
	"fmt"
	"reflect"
	"strings"
)

// Field is a struct field for one column.
type Field struct {
	Name  string // name of the column
	Index []int  // for reflect.Value.FieldByIndex
	Type  reflect.Type
}

// Of returns the exported fields of the struct type t, named by the tag with the given key or else by the field's name. The tag
// "-" excludes a field. The fields of embedded structs without a tag count as fields of t; embedded pointers are refused.
func Of(t reflect.Type, key string) ([]Field, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("items of type %v, want a struct", t)
	}
	var out []Field
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get(key)
		switch {
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct, tag == "-":
			continue
		case f.Anonymous && f.Type.Kind() == reflect.Pointer:
			return nil, fmt.Errorf("%v embeds the pointer %v, want a struct", t, f.Type)
		case !f.IsExported():
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		if name == "" {
			name = f.Name
		}
		if seen[name] {
			return nil, fmt.Errorf("%v has two fields for column %q", t, name)
		}
		seen[name] = true
		out = append(out, Field{name, f.Index, f.Type})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%v has no exported fields", t)
	}
	return out, nil
}
