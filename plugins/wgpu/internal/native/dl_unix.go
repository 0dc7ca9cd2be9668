//go:build !windows

package native

import "github.com/ebitengine/purego"

// dlopen loads the library at a path, or the library that the loader finds by its name. Its symbols are not visible to other libraries.
func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func dlsym(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		return 0
	}
	return address
}
