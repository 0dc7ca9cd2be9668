package machine

import "golang.org/x/sys/unix"

// memory returns the bytes of the machine's memory, or 0 if unknown.
func memory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
