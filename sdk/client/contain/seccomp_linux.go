//go:build linux && (amd64 || arm64)

package contain

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that no backend needs and that change the machine, inspect other processes or have a large attack surface.
// setsid is among them, and another rule of the filter restricts setpgid: processes that a plugin starts therefore stay in the process
// group of the plugin, and end with the plugin.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
	unix.SYS_SETSID,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
}

// unknown are system calls that fail as if the kernel lacked them. Libraries then use older system calls, whose arguments the filter can
// inspect.
var unknown = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	tiocsti       = 0x5412 // injects characters into a terminal
	tioclinux     = 0x541c
)

// The layout of a filter's input: number, architecture, instruction pointer, six arguments of eight bytes.
const (
	atNumber = 0
	atArch   = 4
)

// atArg and atUpper return the offsets of the lower and upper half of argument i, on little-endian machines.
func atArg(i uint32) uint32   { return 16 + 8*i }
func atUpper(i uint32) uint32 { return atArg(i) + 4 }

// assembler builds a filter. Each rule either returns a result, or continues to the next rule with the number of the call in the
// accumulator.
type assembler []unix.SockFilter

func (a *assembler) emit(code uint16, k uint32, jt, jf uint8) {
	*a = append(*a, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (a *assembler) load(at uint32) { a.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }
func (a *assembler) ret(v uint32)   { a.emit(unix.BPF_RET|unix.BPF_K, v, 0, 0) }

// onCall adds the rule for one system call. body adds the instructions.
func (a *assembler) onCall(nr uint32, body func(*assembler)) {
	var b assembler
	body(&b)
	b.load(atNumber)
	a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, uint8(len(b)))
	*a = append(*a, b...)
}

// unlessEqual adds a test: the filter returns v unless the accumulator equals one of ks.
func (a *assembler) unlessEqual(v uint32, ks ...uint32) {
	for i, k := range ks {
		a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, uint8(len(ks)-i), 0)
	}
	a.ret(v)
}

// ifEqual adds a test: the filter returns v if the accumulator equals k.
func (a *assembler) ifEqual(v, k uint32) {
	a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	a.ret(v)
}

func (a *assembler) ifAny(v, bits uint32) {
	a.emit(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 0, 1)
	a.ret(v)
}

func (a *assembler) and(bits uint32) { a.emit(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, bits, 0, 0) }

// program returns the filter for the rules.
func program(r *Rules) []unix.SockFilter {
	const eperm, enosys, eacces = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS), unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
	const refusedConnection = unix.SECCOMP_RET_ERRNO | uint32(unix.ECONNREFUSED)
	var a assembler
	a.load(atArch)
	a.unlessEqual(eperm, auditArch) // a program of another architecture, whose system calls have other numbers
	a.load(atNumber)
	if otherABI != 0 {
		a.emit(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, otherABI, 0, 1)
		a.ret(enosys)
	}
	a.onCall(unix.SYS_IOCTL, func(b *assembler) {
		b.load(atArg(1))
		b.ifEqual(eperm, tiocsti)
		b.ifEqual(eperm, tioclinux)
	})
	a.onCall(unix.SYS_CLONE, func(b *assembler) {
		b.load(atArg(0))
		b.ifAny(eperm, newNamespaces)
	})
	a.onCall(unix.SYS_PRLIMIT64, func(b *assembler) { // limits of other processes
		b.load(atArg(0))
		b.unlessEqual(eperm, 0)
	})
	a.onCall(unix.SYS_SETPGID, func(b *assembler) {
		b.load(atUpper(1))
		if r.GroupKey != 0 {
			b.ifEqual(unix.SECCOMP_RET_ALLOW, r.GroupKey)
		}
		b.ifEqual(eperm, 0)
		b.ifEqual(eperm, ^uint32(0))
		b.ret(unix.SECCOMP_RET_KILL_PROCESS) // a guess of the key
	})
	if !r.Network {
		for _, nr := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			a.onCall(nr, func(b *assembler) { // socket types that can only send to a connected peer
				b.load(atArg(0))
				b.unlessEqual(eacces, unix.AF_UNIX)
				b.load(atArg(1))
				b.and(0xf)
				b.unlessEqual(eacces, unix.SOCK_STREAM, unix.SOCK_SEQPACKET)
			})
		}
		// A program that finds no server of the system continues, whereas libcuda fails if permission is denied.
		a.onCall(unix.SYS_CONNECT, func(b *assembler) { b.ret(refusedConnection) })
	}
	for _, nr := range append(append([]uint32{}, refused...), refusedHere...) {
		a.ifEqual(eperm, nr)
	}
	for _, nr := range unknown {
		a.ifEqual(enosys, nr)
	}
	a.ret(unix.SECCOMP_RET_ALLOW)
	return a
}

// filter enforces the list of system calls. It must be the last measure.
func filter(r *Rules, l *landlock) Report {
	code := program(r)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		why := fmt.Sprintf("the kernel takes no filter of system calls: %v", errno)
		network := Measure{Network, r.Network, "as it asks for"}
		if !r.Network {
			network.Detail = why
			if l.network {
				network.Detail = "no TCP, and all else: " + why
			}
		}
		return Report{network, {SystemCalls, false, why}}
	}
	network := Measure{Network, true, "none: it can connect to nothing, and only its host connects to it"}
	if r.Network {
		network.Detail = "all, as it asks for"
	}
	return Report{network, {SystemCalls, true, fmt.Sprintf("%d are refused", len(refused)+len(refusedHere)+len(unknown)+1)}}
}
