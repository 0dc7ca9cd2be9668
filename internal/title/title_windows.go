package title

import (
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// hide changes the text in the process environment block, which other processes read. The runtime has copied it to os.Args.
func hide(name string) bool {
	peb := windows.RtlGetCurrentPeb()
	if peb == nil || peb.ProcessParameters == nil {
		return false
	}
	line, text := &peb.ProcessParameters.CommandLine, utf16.Encode([]rune(name))
	if line.Buffer == nil || int(line.MaximumLength) < 2*(len(text)+1) {
		return false
	}
	memory := unsafe.Slice(line.Buffer, line.MaximumLength/2)
	clear(memory)
	line.Length = uint16(2 * copy(memory, text))
	return true
}
