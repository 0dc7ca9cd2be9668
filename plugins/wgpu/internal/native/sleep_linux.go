package native

import (
	"syscall"
	"time"
)

// Sleep implements webgpu.Sleeper; only Linux needs it. The kernel delays threads by 50 µs more than they ask for, unless they set a
// smaller tolerance.
func (d *device) Sleep(t time.Duration) {
	const setTimerSlack, nanoseconds = 29, 1000 // of prctl
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, nanoseconds, 0)
	s := syscall.NsecToTimespec(int64(t))
	_ = syscall.Nanosleep(&s, nil) // a signal ends the sleep early
}
