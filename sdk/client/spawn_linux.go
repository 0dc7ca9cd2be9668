package client

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts processes on a thread of its own that never ends. The kernel is asked to kill a plugin when its parent
// dies, and by parent it means the thread that started it: on a thread that Go gives back, the plugin would die with it.
var spawner struct {
	once sync.Once
	jobs chan func()
}

func spawn(cmd *exec.Cmd) error {
	spawner.once.Do(func() {
		spawner.jobs = make(chan func())
		go func() {
			runtime.LockOSThread()
			for job := range spawner.jobs {
				job()
			}
		}()
	})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	done := make(chan error)
	spawner.jobs <- func() { done <- cmd.Start() }
	return <-done
}

// limit bounds a process that has just been started: its memory and open files, and the images that it leaves when it crashes.
func limit(pid int, l Limits) error {
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil); err != nil {
		return err
	}
	if l.Files > 0 {
		n := uint64(l.Files)
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: n}, nil); err != nil {
			return err
		}
	}
	if l.Memory <= 0 {
		return nil
	}
	n := uint64(l.Memory)
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: n, Max: n}, nil)
}

// reap waits for the end of a process and ends what it has started. The process is reaped last: until then its group is
// nobody else's.
func reap(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	killGroup(pid)
	_ = cmd.Wait()
}
