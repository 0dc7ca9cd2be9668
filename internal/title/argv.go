//go:build linux || darwin

package title

import (
	"os"
	"strings"
	"unsafe"
)

// memory is the memory in which the system keeps the command line, or nil if its address is unknown.
var memory []byte

// The strings of os.Args point into that memory. They are copied here, so that hide does not change them.
func init() {
	if len(os.Args) == 0 || os.Args[0] == "" {
		return
	}
	start, n := unsafe.StringData(os.Args[0]), 0
	for _, a := range os.Args {
		if a != "" && uintptr(unsafe.Pointer(unsafe.StringData(a))) != uintptr(unsafe.Pointer(start))+uintptr(n) {
			return // os.Args has been replaced
		}
		n += len(a) + 1
	}
	for i, a := range os.Args {
		os.Args[i] = strings.Clone(a)
	}
	memory = unsafe.Slice(start, n)
}

func hide(name string) bool {
	if len(memory) < len(name)+2 {
		return false
	}
	copy(memory, name)
	clear(memory[len(name):])
	memory[len(memory)-1] = last
	return true
}
