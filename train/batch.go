package train

import (
	"reflect"

	"github.com/goburn/burn/tensor"
)

// Releaser is implemented by batches that free their own tensors.
type Releaser interface{ Release() }

// Viewer is implemented by batches that can return a view of themselves in a scope of their device: In replaces every tensor t by
// t.In(d).
type Viewer[B any] interface{ In(d *tensor.Device) B }

var tensorType = reflect.TypeFor[*tensor.Tensor]()

// view returns b with its tensors viewed in d. If b is a Viewer it calls In; otherwise it returns a copy in which the tensors in
// exported fields, slices, arrays and maps are views.
func view[B any](b B, d *tensor.Device) B {
	if v, ok := any(b).(Viewer[B]); ok {
		return v.In(d)
	}
	v := reflect.ValueOf(&b).Elem()
	v.Set(mapped(v, func(t *tensor.Tensor) *tensor.Tensor { return t.In(d) }))
	return b
}

// release frees b. If b is a Releaser it calls Release; otherwise it releases the tensors that view would replace.
func release[B any](b B) {
	if r, ok := any(b).(Releaser); ok {
		r.Release()
		return
	}
	mapped(reflect.ValueOf(&b).Elem(), func(t *tensor.Tensor) *tensor.Tensor {
		t.Release()
		return t
	})
}

// mapped returns a copy of v with its tensors replaced by the results of f.
func mapped(v reflect.Value, f func(*tensor.Tensor) *tensor.Tensor) reflect.Value {
	t := v.Type()
	if t == tensorType {
		if v.IsNil() {
			return v
		}
		return reflect.ValueOf(f(v.Interface().(*tensor.Tensor)))
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() || t.Elem().Kind() != reflect.Struct {
			return v
		}
		c := reflect.New(t.Elem())
		c.Elem().Set(mapped(v.Elem(), f))
		return c
	case reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		for i := range t.NumField() {
			if t.Field(i).IsExported() && holds(t.Field(i).Type) {
				c.Field(i).Set(mapped(v.Field(i), f))
			}
		}
		return c
	case reflect.Slice:
		if v.IsNil() || !holds(t.Elem()) {
			return v
		}
		c := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(mapped(v.Index(i), f))
		}
		return c
	case reflect.Array:
		if !holds(t.Elem()) {
			return v
		}
		c := reflect.New(t).Elem()
		for i := range v.Len() {
			c.Index(i).Set(mapped(v.Index(i), f))
		}
		return c
	case reflect.Map:
		if v.IsNil() || !holds(t.Elem()) {
			return v
		}
		c := reflect.MakeMapWithSize(t, v.Len())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), mapped(it.Value(), f))
		}
		return c
	}
	return v
}

// nesting is the depth to which types are searched for tensors. The limit ends the search in recursive types.
const nesting = 8

// holds reports whether a type can contain a tensor. Values of other types are copied as they are.
func holds(t reflect.Type) bool { return within(t, nesting) }

func within(t reflect.Type, depth int) bool {
	if depth == 0 {
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return within(t.Elem(), depth-1)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && within(f.Type, depth-1) {
				return true
			}
		}
	case reflect.Pointer:
		return t == tensorType || t.Elem().Kind() == reflect.Struct && within(t.Elem(), depth-1)
	}
	return false
}
