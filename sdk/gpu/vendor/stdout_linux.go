package vendor

import (
	"os"
	"syscall"
)

// KeepStdout reserves standard output for os.Stdout: text that libraries write to file descriptor 1 goes to standard error afterwards. A
// plugin, whose standard output carries the handshake, calls it before it loads anything.
func KeepStdout() error {
	out, err := syscall.Dup(1)
	if err != nil {
		return err
	}
	syscall.CloseOnExec(out)
	if err := syscall.Dup3(2, 1, 0); err != nil {
		return err
	}
	os.Stdout = os.NewFile(uintptr(out), "stdout")
	return nil
}
