//go:build !linux

package nv

import "errors"

func dlopen(string) (uintptr, error) {
	return 0, errors.New("NVIDIA's libraries are looked for on Linux alone")
}

func dlsym(uintptr, string) uintptr { return 0 }

func dlclose(uintptr) {}
