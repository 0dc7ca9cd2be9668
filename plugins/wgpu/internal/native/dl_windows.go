package native

import "syscall"

func dlopen(name string) (uintptr, error) {
	h, err := syscall.LoadLibrary(name)
	return uintptr(h), err
}

func dlsym(library uintptr, name string) uintptr {
	address, err := syscall.GetProcAddress(syscall.Handle(library), name)
	if err != nil {
		return 0
	}
	return address
}
