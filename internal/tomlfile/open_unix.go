//go:build unix

package tomlfile

import "syscall"

// nonblock keeps the open call from blocking on a named pipe that has replaced a file.
const nonblock = syscall.O_NONBLOCK
