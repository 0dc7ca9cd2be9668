//go:build amd64 || arm64

package contain

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// call is the input of a filter: a system call.
type call struct {
	arch, number uint32
	args         [6]uint64
}

// word returns four bytes of the input, which the kernel lays out as struct seccomp_data.
func (c call) word(t *testing.T, at uint32) uint32 {
	switch {
	case at == 0:
		return c.number
	case at == 4:
		return c.arch
	case at >= 16 && at < 64 && at%4 == 0:
		arg := c.args[(at-16)/8]
		if (at-16)%8 == 4 {
			return uint32(arg >> 32)
		}
		return uint32(arg)
	}
	t.Fatalf("a load from %d", at)
	return 0
}

// execute runs a filter as the kernel's documentation of classic BPF defines it.
func execute(t *testing.T, code []unix.SockFilter, c call) uint32 {
	t.Helper()
	accumulator := uint32(0)
	for i := 0; i < len(code); i++ {
		x := code[i]
		jump := func(yes bool) {
			if yes {
				i += int(x.Jt)
			} else {
				i += int(x.Jf)
			}
		}
		switch x.Code {
		case 0x20: // load an absolute word
			accumulator = c.word(t, x.K)
		case 0x15:
			jump(accumulator == x.K)
		case 0x35:
			jump(accumulator >= x.K)
		case 0x45:
			jump(accumulator&x.K != 0)
		case 0x54:
			accumulator &= x.K
		case 0x06:
			return x.K
		default:
			t.Fatalf("instruction %d has code 0x%x", i, x.Code)
		}
	}
	t.Fatal("a filter that does not return")
	return 0
}

// Return values of a filter, as the kernel defines them.
const (
	allowed  = 0x7fff0000
	killed   = 0x80000000
	failed   = 0x00050000 // combined with the number of an error
	eperm    = failed | 1
	eacces   = failed | 13
	enosys   = failed | 38
	econnref = failed | 111
)

// TestFilter checks the outcome of calls with arguments that matter to the filter, and with changes of arguments that must not matter.
func TestFilter(t *testing.T) {
	const key = 0x12345678 | 1
	upper := func(hi uint32) uint64 { return uint64(hi) << 32 }
	args := func(a ...uint64) (l [6]uint64) {
		copy(l[:], a)
		return l
	}
	for _, c := range []struct {
		what    string
		rules   Rules
		number  uint32
		args    [6]uint64
		outcome uint32
	}{
		{"read", Rules{}, unix.SYS_READ, args(3, 1, 2), allowed},
		{"a call of a later kernel", Rules{}, 1000, args(), allowed},
		{"ptrace", Rules{Network: true}, unix.SYS_PTRACE, args(), eperm},
		{"the last of the list", Rules{}, unix.SYS_SETDOMAINNAME, args(), eperm},
		{"setsid", Rules{}, unix.SYS_SETSID, args(), eperm},
		{"clone3", Rules{}, unix.SYS_CLONE3, args(), enosys},
		{"io_uring", Rules{Network: true}, unix.SYS_IO_URING_SETUP, args(), enosys},

		{"ioctl", Rules{}, unix.SYS_IOCTL, args(0, 0x5401), allowed},
		{"TIOCSTI", Rules{}, unix.SYS_IOCTL, args(0, 0x5412), eperm},
		{"TIOCLINUX", Rules{}, unix.SYS_IOCTL, args(7, 0x541c), eperm},
		{"TIOCSTI with bits that the kernel ignores", Rules{}, unix.SYS_IOCTL, args(0, upper(9)|0x5412), eperm},
		{"TIOCSTI in another argument", Rules{}, unix.SYS_IOCTL, args(0x5412, 1, 0x5412), allowed},

		{"a thread", Rules{}, unix.SYS_CLONE, args(unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD), allowed},
		{"a process", Rules{}, unix.SYS_CLONE, args(uint64(unix.SIGCHLD)), allowed},
		{"a namespace of users", Rules{}, unix.SYS_CLONE, args(unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)), eperm},
		{"a namespace of mounts", Rules{}, unix.SYS_CLONE, args(unix.CLONE_NEWNS), eperm},
		{"a namespace of networks", Rules{Network: true}, unix.SYS_CLONE, args(unix.CLONE_NEWNET), eperm},

		{"limits of its own", Rules{}, unix.SYS_PRLIMIT64, args(0, 7), allowed},
		{"limits of another", Rules{}, unix.SYS_PRLIMIT64, args(77, 7), eperm},

		{"setpgid", Rules{}, unix.SYS_SETPGID, args(0, 0), eperm},
		{"setpgid to a negative group", Rules{}, unix.SYS_SETPGID, args(0, upper(^uint32(0))|5), eperm},
		{"setpgid with a guess", Rules{GroupKey: key}, unix.SYS_SETPGID, args(0, upper(key-1)|5), killed},
		{"setpgid with the key", Rules{GroupKey: key}, unix.SYS_SETPGID, args(0, upper(key)|5), allowed},
		{"setpgid with the key elsewhere", Rules{GroupKey: key}, unix.SYS_SETPGID, args(upper(key), key), eperm},
		{"setpgid with a key where there is none", Rules{}, unix.SYS_SETPGID, args(0, upper(key)), killed},

		{"a local stream", Rules{}, unix.SYS_SOCKET, args(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK), allowed},
		{"a local sequence", Rules{}, unix.SYS_SOCKETPAIR, args(unix.AF_UNIX, unix.SOCK_SEQPACKET), allowed},
		{"local datagrams, which are sent to anybody", Rules{}, unix.SYS_SOCKET, args(unix.AF_UNIX, unix.SOCK_DGRAM), eacces},
		{"a pair of them", Rules{}, unix.SYS_SOCKETPAIR, args(unix.AF_UNIX, unix.SOCK_DGRAM), eacces},
		{"TCP", Rules{}, unix.SYS_SOCKET, args(unix.AF_INET, unix.SOCK_STREAM), eacces},
		{"TCP 6", Rules{}, unix.SYS_SOCKET, args(unix.AF_INET6, unix.SOCK_STREAM), eacces},
		{"netlink", Rules{}, unix.SYS_SOCKET, args(unix.AF_NETLINK, unix.SOCK_RAW), eacces},
		{"TCP, as asked for", Rules{Network: true}, unix.SYS_SOCKET, args(unix.AF_INET, unix.SOCK_STREAM), allowed},
		{"connect", Rules{}, unix.SYS_CONNECT, args(3), econnref},
		{"connect, as asked for", Rules{Network: true}, unix.SYS_CONNECT, args(3), allowed},
		{"accept", Rules{}, unix.SYS_ACCEPT4, args(3), allowed},
	} {
		code := program(&c.rules)
		require.Equal(t, uint32(c.outcome), execute(t, code, call{auditArch, c.number, c.args}), c.what)
		require.EqualValues(t, eperm, execute(t, code, call{auditArch ^ 1, c.number, c.args}), "%s, of another architecture", c.what)
		if otherABI != 0 {
			require.EqualValues(t, enosys, execute(t, code, call{auditArch, c.number | otherABI, c.args}), "%s, of another interface", c.what)
		}
	}
}

// TestFilterLists checks that each call of the lists, and no other, is refused with any arguments, with the network and without.
func TestFilterLists(t *testing.T) {
	for _, r := range []Rules{{}, {Network: true}, {GroupKey: 3}, {Network: true, GroupKey: 3}} {
		code := program(&r)
		require.Less(t, len(code), 4096, "the kernel takes no more")
		for _, arg := range []uint64{0, 1, ^uint64(0)} {
			all := [6]uint64{arg, arg, arg, arg, arg, arg}
			for _, nr := range append(refused, refusedHere...) {
				require.EqualValues(t, eperm, execute(t, code, call{auditArch, nr, all}), "call %d", nr)
			}
			for _, nr := range unknown {
				require.EqualValues(t, enosys, execute(t, code, call{auditArch, nr, all}), "call %d", nr)
			}
		}
		counts := map[uint32]int{}
		for nr := range uint32(600) {
			counts[execute(t, code, call{arch: auditArch, number: nr, args: [6]uint64{0, 0, 0, 0, 0, 0}})]++
		}
		extra := 1 // setpgid
		if !r.Network {
			extra += 2 // socket, socketpair
			require.Equal(t, 2, counts[eacces])
			require.Equal(t, 1, counts[econnref])
			extra -= 2
		}
		require.Equal(t, len(refused)+len(refusedHere)+extra, counts[eperm], "nothing else is refused by its number")
		require.Equal(t, len(unknown), counts[enosys])
	}
}

// TestLandlockRights checks that only rights that the version of Landlock knows are requested, because the kernel refuses others.
func TestLandlockRights(t *testing.T) {
	const first = 1<<13 - 1 // thirteen rights of the first version
	for abi, want := range map[int]uint64{1: first, 2: first | 1<<13, 3: first | 1<<13 | 1<<14, 4: first | 1<<13 | 1<<14, 5: first | 1<<13 | 1<<14 | 1<<15,
		9: first | 1<<13 | 1<<14 | 1<<15} {
		require.Equal(t, want, handled(abi), "version %d", abi)
	}
	const write, makeDevices = 1 << 1, 1<<6 | 1<<11
	require.Zero(t, uint64(readDir)&^(1<<0|1<<2|1<<3), "reading is executing, reading files, reading folders")
	require.Zero(t, uint64(useDir|deviceDir)&makeDevices, "no device can be made")
	require.Zero(t, uint64(device)&1, "no device is executed")
	require.NotZero(t, uint64(useFile)&write)
}
