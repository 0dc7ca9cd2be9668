package machine

import "golang.org/x/sys/unix"

// memory returns the bytes of the machine's memory; 0: unknown.
func memory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
