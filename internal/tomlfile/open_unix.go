//go:build unix

package tomlfile

import "syscall"

// nonblock keeps a named pipe that took the place of a file from being waited for.
const nonblock = syscall.O_NONBLOCK
