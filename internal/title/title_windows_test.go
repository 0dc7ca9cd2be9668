package title_test

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

const shown = "burn"

// commandLine returns the command line of this process as other processes see it.
func commandLine() (string, error) {
	buffer := make([]uint64, 1<<14) // a UNICODE_STRING and its text
	err := windows.NtQueryInformationProcess(windows.CurrentProcess(), windows.ProcessCommandLineInformation, unsafe.Pointer(&buffer[0]), uint32(8*len(buffer)), nil)
	if err != nil {
		return "", err
	}
	return (*windows.NTUnicodeString)(unsafe.Pointer(&buffer[0])).String(), nil
}
