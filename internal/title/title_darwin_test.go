package title_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const shown = "burn"

// commandLine returns the command line of this process as other processes see it. The system returns the number of arguments, the path
// of the program, and then the arguments as texts that end with a zero byte.
func commandLine() (string, error) {
	b, err := unix.SysctlRaw("kern.procargs2", os.Getpid())
	if err != nil || len(b) < 4 {
		return "", err
	}
	n := int(binary.NativeEndian.Uint32(b))
	_, rest, _ := bytes.Cut(b[4:], []byte{0})
	texts := strings.SplitN(strings.TrimLeft(string(rest), "\x00"), "\x00", n+1)
	return strings.Join(texts[:min(n, len(texts))], ""), nil
}
