package client

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/goburn/burn/sdk/client/contain"
)

// spawner starts processes on a dedicated thread that never ends. The kernel kills a plugin when its parent ends, and the parent is the
// thread that started the plugin. If Go ended that thread, the kernel would kill the plugin.
var spawner struct {
	once sync.Once
	jobs chan func()
}

// spawn starts a process in a new process group. The process ends when this process ends. Without rules, spawn starts the process in the
// control group, if c has one. With rules, spawn starts it on a dedicated thread, which lives until gone is closed; the process inherits
// the rules of the thread. The rules do not allow starting a process in a control group, so spawn moves it there afterwards.
func spawn(cmd *exec.Cmd, c *confinement) (report contain.Report, err error) {
	rules := c.rules
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if rules == nil {
		return nil, spawnInGroup(cmd, c)
	}
	cmd.SysProcAttr.Pgid = int(uint64(rules.GroupKey) << 32)  // group 0, which means a new one, and the key
	if self, err := os.FindProcess(os.Getpid()); err == nil { // let package os detect the kernel's features before there are rules
		_ = self.Release()
	}
	contain.OnThread(func() {
		report = contain.Apply(*rules)
		if err = c.check(report); err == nil {
			err = cmd.Start()
		}
	}, c.gone)
	if err == nil && c.group != nil && c.group.Add(cmd.Process.Pid) != nil {
		c.remove()
	}
	return report, err
}

// spawnInGroup starts a process without rules in the control group, and without a control group if that is not possible.
func spawnInGroup(cmd *exec.Cmd, c *confinement) error {
	if c.group != nil {
		if dir, err := c.group.Open(); err == nil {
			defer dir.Close()
			cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
			err := spawnFree(cmd)
			if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EBUSY) {
				return err
			}
			cmd.SysProcAttr.UseCgroupFD = false // a sandbox around this process does not allow control groups
		}
		c.remove()
	}
	return spawnFree(cmd)
}

// spawnFree starts a process without rules.
func spawnFree(cmd *exec.Cmd) error {
	spawner.once.Do(func() {
		spawner.jobs = make(chan func())
		go func() {
			runtime.LockOSThread()
			for job := range spawner.jobs {
				job()
			}
		}()
	})
	done := make(chan error)
	spawner.jobs <- func() { done <- cmd.Start() }
	return <-done
}

// hasLimits reports whether limit has an effect.
const hasLimits = true

// limit limits a process that has just been started: its memory, its open files, and its core dumps.
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

// await waits for the end of a process without reaping it: once it is reaped, the number of its group can be reused.
func await(cmd *exec.Cmd) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}
