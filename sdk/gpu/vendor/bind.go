package vendor

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"
)

// Bind fills the struct of Procs that procs points to from a loaded library. The tag of a field, c, names the C function; names that are
// separated by "|" are tried in order, and a trailing "?" makes the function optional.
func Bind(handle uintptr, procs any) error { return BindAs(handle, "", procs) }

// BindAs is like Bind, with a prefix that replaces each * in a name.
func BindAs(handle uintptr, prefix string, procs any) error {
	v := reflect.ValueOf(procs).Elem()
	var lacks []string
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("c")
		names, optional := strings.CutSuffix(strings.ReplaceAll(tag, "*", prefix), "?")
		p := (*Proc)(unsafe.Pointer(v.Field(i).UnsafeAddr()))
		for _, name := range strings.Split(names, "|") {
			if p.Name, p.Addr = name, Symbol(handle, name); p.Addr != 0 {
				break
			}
		}
		if p.Addr == 0 && !optional {
			lacks = append(lacks, names)
		}
	}
	if lacks != nil {
		return fmt.Errorf("it does not export %s", strings.Join(lacks, ", "))
	}
	return nil
}
