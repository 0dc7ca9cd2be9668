// Package title hides the command line of this process from the plugins that it starts: a plugin must not learn from its parent's
// command line whether it is tested or used. Only package main may use it, as it overwrites os.Args in place. It works only on
// Linux.
package title

import (
	"os"
	"strings"
	"unsafe"
)

// memory is the memory in which the system keeps the command line, or nil if its address is unknown.
var memory []byte

// The strings of os.Args point into that memory. They are copied here, so that Hide does not change them.
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

// Hide replaces the command line that other processes see by name, and reports whether it succeeded. It may be called again.
func Hide(name string) bool {
	if len(memory) < len(name)+2 {
		return false
	}
	copy(memory, name)
	clear(memory[len(name):])
	// Without a zero at the end, Linux takes the memory for one text that ends at the first zero.
	memory[len(memory)-1] = ' '
	return true
}
