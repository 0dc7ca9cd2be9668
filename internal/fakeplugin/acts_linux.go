package fakeplugin

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/goburn/burn/sdk/wire"
)

// The variables that name what a malicious plugin attacks: a file that it may not read, the unix socket of another process, the TCP
// address (HOST:PORT) of another process, and a device file.
const (
	EnvSecret = "BURN_FAKE_SECRET"
	EnvSocket = "BURN_FAKE_SOCKET"
	EnvPort   = "BURN_FAKE_PORT"
	EnvDevice = "BURN_FAKE_DEVICE"
)

// acts tries actions that are forbidden to plugins, and actions that every plugin needs. It logs the result of each: "" for success.
func acts() {
	secret := os.Getenv(EnvSecret)
	host, _ := strconv.Atoi(os.Getenv(wire.EnvHostPID))
	file := func(path string, flag int) error {
		f, err := os.OpenFile(path, flag, 0o600)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	call := func(nr uintptr, args ...uintptr) error {
		var a [4]uintptr
		copy(a[:], args)
		if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], 0, 0); errno != 0 {
			return errno
		}
		return nil
	}
	dial := func(network, addr string) error {
		c, err := net.Dial(network, addr)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	dir, _ := os.Getwd()
	results := map[string]string{}
	for name, act := range map[string]func() error{
		// allowed to every plugin
		"read a library":      func() error { return file("/bin/true", os.O_RDONLY) },
		"read the topology":   func() error { _, err := os.ReadDir("/sys/devices/system/cpu"); return err },
		"read its status":     func() error { return file("/proc/self/status", os.O_RDONLY) },
		"write in its folder": func() error { return os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600) },
		"write to null":       func() error { return file("/dev/null", os.O_WRONLY|os.O_TRUNC) },
		"temporary file": func() error {
			f, err := os.CreateTemp("", "x")
			if err == nil {
				err = f.Close()
			}
			return err
		},
		"listen on a socket": func() error {
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err == nil {
				err = l.Close()
			}
			return err
		},
		"start a program": func() error { return exec.Command("/bin/true").Run() },
		"a thread's priority": func() error {
			_, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
			return err
		},
		// forbidden to every plugin
		"read a secret":       func() error { return file(secret, os.O_RDONLY) },
		"change a file":       func() error { return file(secret, os.O_WRONLY) },
		"cut a file off":      func() error { return unix.Truncate(secret, 3) },
		"make a file":         func() error { return os.WriteFile(secret+".new", nil, 0o600) },
		"give a file a name":  func() error { return os.Link(secret, secret+".old") },
		"list a folder":       func() error { _, err := os.ReadDir(filepath.Dir(secret)); return err },
		"use a device":        func() error { return file(os.Getenv(EnvDevice), os.O_RDWR) },
		"connect to a socket": func() error { return dial("unix", os.Getenv(EnvSocket)) },
		"connect to a port":   func() error { return dial("tcp", os.Getenv(EnvPort)) },
		"send a packet":       func() error { return dial("udp", os.Getenv(EnvPort)) },
		"listen on a port": func() error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err == nil {
				err = l.Close()
			}
			return err
		},
		"signal the host":            func() error { return unix.Kill(host, 0) },
		"read the host's memory":     func() error { return file(fmt.Sprintf("/proc/%d/mem", host), os.O_RDONLY) },
		"read the host's variables":  func() error { return file(fmt.Sprintf("/proc/%d/environ", host), os.O_RDONLY) },
		"trace the host":             func() error { return trace(host) },
		"limit the host":             func() error { var l unix.Rlimit; return unix.Prlimit(host, unix.RLIMIT_NOFILE, nil, &l) },
		"a session of its own":       func() error { return exec1(&syscall.SysProcAttr{Setsid: true}) },
		"a group of its own":         func() error { return exec1(&syscall.SysProcAttr{Setpgid: true}) },
		"a user namespace":           func() error { return exec1(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}) },
		"a mount namespace":          func() error { return exec1(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}) },
		"clone3":                     func() error { return refusedAs(call(unix.SYS_CLONE3, 0, 0), unix.ENOSYS) },
		"a ring of system calls":     func() error { return refusedAs(call(unix.SYS_IO_URING_SETUP, 0, 0), unix.ENOSYS) },
		"a packet of a unix socket":  func() error { return closed(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)) },
		"a socket of another family": func() error { return closed(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) },
		"a key":                      func() error { return call(unix.SYS_KEYCTL, 0, ^uintptr(2), 1) },
		"a page fault handler":       func() error { return refusedAs(call(unix.SYS_USERFAULTFD, 1<<20), unix.EPERM) },
		"a filter of the kernel":     func() error { return refusedAs(call(unix.SYS_BPF, ^uintptr(0), 0, 0), unix.EPERM) },
		"capabilities":               capabilities,
	} {
		results[name] = ""
		if err := act(); err != nil {
			results[name] = err.Error()
		}
	}
	text, _ := json.Marshal(results)
	line, _ := json.Marshal(map[string]any{"@level": "warn", "@module": "fake", "@message": "acts", "results": string(text)})
	fmt.Fprintf(os.Stderr, "%s\n", line)
}

// trace attaches to a process and detaches at once: a thread that exits detaches from its tracees. A host that stayed traced
// would stop forever at the next signal. The runtime never ends the main thread, which therefore must not attach.
func trace(pid int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- trace(pid) // on another thread, as this goroutine holds the main one
			return
		}
		done <- unix.PtraceSeize(pid)
	}()
	return <-done
}

// exec1 starts a program with attributes.
func exec1(a *syscall.SysProcAttr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = a
	return cmd.Run()
}

// refusedAs returns err if it is the refusal of a filter, and nil for any other error, which comes from the kernel itself.
func refusedAs(err, refusal error) error {
	if err == refusal {
		return err
	}
	return nil
}

func closed(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// capabilities returns EPERM if the process has no capabilities.
func capabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if _, _, errno := unix.Syscall(unix.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		return errno
	}
	if data[0].Effective|data[0].Permitted|data[1].Effective|data[1].Permitted == 0 {
		return unix.EPERM
	}
	return nil
}

// leave starts a process in its own session, which a signal to the group does not reach. cleared removes its environment.
func leave(cleared bool) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cleared {
		cmd.Env = []string{}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "no child: %v\n", err)
		return
	}
	fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
}
