package libtorch

import (
	"os"
	"syscall"
)

// KeepStdout gives standard output to os.Stdout alone: what libraries write to file 1 goes to standard error afterwards. A plugin calls
// it before anything of torch is loaded, as its standard output carries the handshake.
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
