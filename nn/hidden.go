package nn

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goburn/burn/tensor"
)

// Hidden returns the paths of the fields of m with trained parameters that Params does not list. Training would not change these
// parameters. Such fields are unexported fields, including embedded structs of an unexported type, maps with keys that are not strings, and
// pointers to types other than structs. Paths consist of the Go names of fields, "Encoder.proj". A parameter that Params lists under
// another path is not hidden, and a field with the tag `nn:"-"` is skipped.
func Hidden(m any) []string {
	h := &hidden{listed: map[uintptr]bool{}, seen: map[visit]bool{}, types: map[reflect.Type]reach{}}
	v := reflect.ValueOf(m)
	for _, p := range params(v) {
		h.listed[reflect.ValueOf(p.Param).Pointer()] = true
	}
	h.value(v, "", "", 0)
	return h.found
}

// hidden searches for parameters in fields that walk skips.
type hidden struct {
	listed map[uintptr]bool
	seen   map[visit]bool
	types  map[reflect.Type]reach
	found  []string
}

type visit struct {
	at uintptr
	t  reflect.Type
	in bool // in a hidden field
}

var (
	paramType  = reflect.TypeFor[*Param]()
	tensorType = reflect.TypeFor[*tensor.Tensor]()
	deviceType = reflect.TypeFor[*tensor.Device]()
)

// value searches v at path; root is the enclosing hidden field, empty for none.
func (h *hidden) value(v reflect.Value, path, root string, level int) {
	if level > depth || !v.IsValid() || h.reach(v.Type()) == nowhere {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if e := v.Elem(); root == "" || h.reach(e.Type()) == certain || !inside(e.Type()) {
			h.value(e, path, root, level+1)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		key := visit{v.Pointer(), v.Type(), root != ""}
		if h.seen[key] {
			return
		}
		h.seen[key] = true
		if v.Type() == paramType {
			if p := v.Elem(); root != "" && !h.listed[v.Pointer()] && !p.FieldByName("buffer").Bool() && !p.FieldByName("frozen").Bool() && !slices.Contains(h.found, root) {
				h.found = append(h.found, root)
			}
			return
		}
		if root == "" && v.Elem().Kind() != reflect.Struct {
			root = path
		}
		h.value(v.Elem(), path, root, level+1)
	case reflect.Struct:
		t := v.Type()
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get("nn") == "-" {
				continue
			}
			at, in := join(path, f.Name), root
			if in == "" && !f.IsExported() {
				in = at
			}
			h.value(v.Field(i), at, in, level+1)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			h.value(v.Index(i), path, root, level+1)
		}
	case reflect.Map:
		if root == "" && v.Type().Key().Kind() != reflect.String {
			root = path
		}
		for it := v.MapRange(); it.Next(); {
			h.value(it.Value(), path, root, level+1)
		}
	}
}

// inside reports whether a type belongs to burn. Values of such a type in an interface of a hidden field are searched only if their reach
// is certain.
func inside(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.HasPrefix(t.PkgPath(), "github.com/goburn/burn/")
}

// reach describes whether values of a type can contain a parameter.
type reach int

const (
	nowhere reach = iota
	perhaps       // in an interface
	certain       // by the types of its fields
)

func (h *hidden) reach(t reflect.Type) reach {
	r, ok := h.types[t]
	if !ok {
		r = reachOf(t, map[reflect.Type]bool{})
		h.types[t] = r
	}
	return r
}

// reachOf returns the reach of t, ignoring the types in seen.
func reachOf(t reflect.Type, seen map[reflect.Type]bool) reach {
	if seen[t] {
		return nowhere
	}
	seen[t] = true
	r := nowhere
	switch t.Kind() {
	case reflect.Interface:
		r = perhaps
	case reflect.Pointer:
		switch t {
		case paramType:
			r = certain
		case tensorType, deviceType:
		default:
			r = reachOf(t.Elem(), seen)
		}
	case reflect.Slice, reflect.Array, reflect.Map:
		r = reachOf(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			r = max(r, reachOf(t.Field(i).Type, seen))
		}
	}
	return r
}
