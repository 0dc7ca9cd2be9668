// Package title hides the command line of this process from the plugins that it starts: a plugin that reads that of its parent must
// not learn whether it is tested or used. It is for package main alone, as it changes os.Args in place. Only Linux has the means.
package title

import (
	"os"
	"strings"
	"unsafe"
)

// memory is where the system keeps the command line, nil where that is not known.
var memory []byte

// The strings of os.Args lie in that memory. From here on they lie elsewhere, so that Hide changes none of them.
func init() {
	if !known || len(os.Args) == 0 || os.Args[0] == "" {
		return
	}
	start, n := unsafe.StringData(os.Args[0]), 0
	for _, a := range os.Args {
		if a != "" && uintptr(unsafe.Pointer(unsafe.StringData(a))) != uintptr(unsafe.Pointer(start))+uintptr(n) {
			return // somebody has replaced os.Args
		}
		n += len(a) + 1
	}
	for i, a := range os.Args {
		os.Args[i] = strings.Clone(a)
	}
	memory = unsafe.Slice(start, n)
}

// Hide makes name all that others see of the command line, and reports whether it could. It may be called again.
func Hide(name string) bool {
	if len(memory) < len(name)+2 {
		return false
	}
	copy(memory, name)
	clear(memory[len(name):])
	// Without a zero at the end, Linux takes the memory for one text that ends with the first zero.
	memory[len(memory)-1] = ' '
	return true
}
