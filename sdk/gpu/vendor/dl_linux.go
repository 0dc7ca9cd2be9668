package vendor

import "github.com/ebitengine/purego"

// Load loads the library at a path, or the library that the loader finds by its name. Its symbols are not visible to other libraries.
func Load(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// Symbol returns the address of a symbol of a library, or 0.
func Symbol(handle uintptr, name string) uintptr {
	address, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return address
}

// Unload unloads a library.
func Unload(handle uintptr) { _ = purego.Dlclose(handle) } // a library that cannot be unloaded stays loaded

func syscallN(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
