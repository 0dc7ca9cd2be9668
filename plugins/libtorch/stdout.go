package libtorch

import (
	"os"
	"syscall"
)

// KeepStdout reserves standard output for os.Stdout: afterwards, output that libraries write to file descriptor 1 goes to standard error.
// A plugin calls it before it loads torch, because the handshake uses standard output.
func KeepStdout() error {
	out, err := syscall.Dup(1)
	if err != nil {
		return err
	}
	syscall.CloseOnExec(out)
	if err := dup2(2, 1); err != nil {
		return err
	}
	os.Stdout = os.NewFile(uintptr(out), "stdout")
	return nil
}
