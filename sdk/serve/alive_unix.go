//go:build unix

package serve

import (
	"errors"
	"syscall"
)

// alive reports whether process pid exists.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
