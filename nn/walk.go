package nn

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Named is a parameter and its path in a module.
type Named struct {
	Name string
	*Param
}

// Params lists the parameters and buffers of a module in the order of its fields, and in maps in the order of the keys. A parameter with
// several paths, such as a tied weight, is listed once. m is a module or a pointer to one. Params panics for a nil module and for modules
// that contain themselves.
func Params(m any) []Named { return params(reflect.ValueOf(m)) }

func params(v reflect.Value) []Named {
	var list []Named
	seen := map[*Param]bool{}
	every(v, func(name string, p *Param) {
		if !seen[p] {
			seen[p] = true
			list = append(list, Named{name, p})
		}
	})
	return list
}

// every calls f for each path to a parameter.
func every(v reflect.Value, f func(name string, p *Param)) {
	walk(v, "", func(name string, v reflect.Value) bool {
		p, ok := v.Interface().(*Param)
		if ok {
			f(name, p)
		}
		return !ok
	})
}

// Visit calls f for every parameter and buffer of m, in the order of Params.
func Visit(m any, f func(name string, p *Param)) {
	for _, p := range Params(m) {
		f(p.Name, p.Param)
	}
}

// Trained lists the parameters that are neither frozen nor buffers.
func Trained(m any) []Named {
	return slices.DeleteFunc(Params(m), func(p Named) bool { return !p.Trainable() })
}

// Count returns the number of elements of the trained parameters, and of all parameters and buffers.
func Count(m any) (trained, all int) { return count(reflect.ValueOf(m)) }

func count(v reflect.Value) (trained, all int) {
	for _, p := range params(v) {
		all += p.Size()
		if p.Trainable() {
			trained += p.Size()
		}
	}
	return trained, all
}

// Moded is implemented by layers that compute differently in training.
type Moded interface {
	// SetTraining selects training or inference; layers start in training mode.
	SetTraining(on bool)
}

// Train puts every layer of m in training mode: dropout drops, batch norm uses and updates the statistics of the batch.
func Train(m any) { setMode(m, true) }

// Eval puts every layer of m in inference mode.
func Eval(m any) { setMode(m, false) }

func setMode(m any, on bool) {
	walk(reflect.ValueOf(m), "", func(_ string, v reflect.Value) bool {
		if l, ok := v.Interface().(Moded); ok {
			l.SetTraining(on)
		}
		return true
	})
}

// depth limits nesting; only modules that contain themselves reach it.
const depth = 64

// walk calls f for every pointer to a struct that is reachable from v, parents first, with its path; f reports whether to descend into the
// struct.
func walk(v reflect.Value, path string, f func(path string, v reflect.Value) bool) {
	step(v, path, 0, f)
}

func step(v reflect.Value, path string, level int, f func(string, reflect.Value) bool) {
	if level > depth {
		panic(fmt.Sprintf("nn: %s: a module contains itself", path))
	}
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			step(v.Elem(), path, level+1, f)
		}
	case reflect.Pointer:
		if v.IsNil() {
			if level == 0 {
				panic(fmt.Sprintf("nn: a nil %v", v.Type()))
			}
			return
		}
		if v.Elem().Kind() != reflect.Struct || !f(path, v) {
			return
		}
		fields(v.Elem(), path, level, f)
	case reflect.Struct:
		if v.CanAddr() {
			step(v.Addr(), path, level+1, f)
			return
		}
		fields(v, path, level, f)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			step(v.Index(i), join(path, strconv.Itoa(i)), level+1, f)
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		for _, k := range sortedKeys(v) {
			step(v.MapIndex(k), join(path, k.String()), level+1, f)
		}
	}
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

func fields(v reflect.Value, path string, level int, f func(string, reflect.Value) bool) {
	t := v.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || field.Tag.Get("nn") == "-" || !holds(field.Type) {
			continue
		}
		at := path
		if !field.Anonymous {
			at = join(path, fieldName(field))
		}
		step(v.Field(i), at, level+1, f)
	}
}

// fieldName returns the part of parameter names for a field.
func fieldName(f reflect.StructField) string {
	if name := f.Tag.Get("nn"); name != "" {
		return name
	}
	return snake(f.Name)
}

// holds reports whether a type can contain a parameter.
func holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return holds(t.Elem())
	case reflect.Interface:
		return true
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.Struct
	case reflect.Struct:
		return true
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// snake converts the name of a field to a parameter name: InProj to in_proj, Conv1 to conv1, QKV to qkv.
func snake(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
