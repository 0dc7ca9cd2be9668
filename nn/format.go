package nn

import (
	"fmt"
	"reflect"
	"strings"
)

// Format formats a module as a tree: its fields, the shapes of its parameters, its settings, and the number of trained elements.
// A module without submodules takes one line.
func Format(m any) string {
	var b strings.Builder
	show(&b, reflect.ValueOf(m), 0)
	return b.String()
}

// show prints a module or a list of modules.
func show(b *strings.Builder, v reflect.Value, level int) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			b.WriteString("none")
			return
		}
		v = v.Elem()
	}
	name := v.Type().Name()
	if v.Kind() == reflect.Struct || name != "" {
		b.WriteString(name + " {")
	} else {
		b.WriteString("{")
	}
	parts, nested := describe(v)
	if trained, all := count(v); all > 0 {
		text := fmt.Sprint(trained)
		if trained != all {
			text = fmt.Sprintf("%d of %d", trained, all)
		}
		parts = append(parts, part{name: "params", text: text})
	}
	for i, p := range parts {
		switch {
		case nested:
			b.WriteString("\n" + strings.Repeat("  ", level+1))
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(p.name + ": ")
		if p.text != "" {
			b.WriteString(p.text)
		} else {
			show(b, p.module, level+1)
		}
	}
	if nested {
		b.WriteString("\n" + strings.Repeat("  ", level))
	}
	b.WriteString("}")
}

// part is a field in printed form: as text, or as a module.
type part struct {
	name, text string
	module     reflect.Value
}

// describe lists the fields of a module; nested reports whether there are submodules.
func describe(v reflect.Value) (parts []part, nested bool) {
	add := func(name string, f reflect.Value) {
		for f.Kind() == reflect.Interface && !f.IsNil() {
			f = f.Elem()
		}
		if p, ok := f.Interface().(*Param); ok {
			if p != nil {
				text := fmt.Sprintf("%v%v", p.DType(), p.Shape())
				if p.frozen {
					text += " frozen"
				}
				parts = append(parts, part{name: name, text: text})
			}
			return
		}
		if isModule(f) {
			nested = true
			parts = append(parts, part{name: name, module: f})
		} else if text := setting(f); text != "" {
			parts = append(parts, part{name: name, text: text})
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch {
			case field.Tag.Get("nn") == "-":
			case field.Anonymous && (field.Type.Kind() == reflect.Struct || field.Type.Kind() == reflect.Map):
				inner, deep := describe(v.Field(i))
				parts, nested = append(parts, inner...), nested || deep
			case field.IsExported():
				add(fieldName(field), v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			add(fmt.Sprint(i), v.Index(i))
		}
	case reflect.Map:
		for _, k := range sortedKeys(v) {
			add(k.String(), v.MapIndex(k))
		}
	}
	return parts, nested
}

// isModule reports whether v is a struct that is a module, or a list of them.
func isModule(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return false
		}
		_, layer := v.Interface().(Module)
		_, moded := v.Interface().(Moded)
		_, all := count(v)
		return layer || moded || all > 0
	case reflect.Struct:
		_, all := count(v)
		return all > 0
	case reflect.Slice, reflect.Array, reflect.Map:
		return v.Len() > 0 && holds(v.Type())
	}
	return false
}

// setting returns a field that is not a module as text, or "" for fields that are not printed: zero values and functions.
func setting(v reflect.Value) string {
	if v.IsZero() {
		return ""
	}
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.String:
		return fmt.Sprint(v.Interface())
	case reflect.Pointer:
		return setting(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Len() > 0 && setting(v.Index(v.Len()-1)) != "" || v.Type().Elem().Kind() == reflect.Int {
			return strings.ReplaceAll(fmt.Sprint(v.Interface()), " ", ",")
		}
	}
	return ""
}
