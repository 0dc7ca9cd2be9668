package nv

import "github.com/ebitengine/purego"

// dlopen loads the library at a path, or the one that the loader finds by its name. Its symbols stay its own.
func dlopen(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func dlsym(handle uintptr, name string) uintptr {
	address, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return address
}

func dlclose(handle uintptr) { _ = purego.Dlclose(handle) } // what cannot be unloaded stays loaded
