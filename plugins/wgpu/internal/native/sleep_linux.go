package native

import (
	"syscall"
	"time"
)

// Sleep implements webgpu.Sleeper; only Linux needs it. By default the kernel may wake a thread up to 50 µs late (timer slack); this
// thread sets a slack of 1 µs.
func (d *device) Sleep(t time.Duration) {
	const setTimerSlack, nanoseconds = 29, 1000 // of prctl
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, nanoseconds, 0)
	s := syscall.NsecToTimespec(int64(t))
	_ = syscall.Nanosleep(&s, nil) // a signal ends the sleep early
}
