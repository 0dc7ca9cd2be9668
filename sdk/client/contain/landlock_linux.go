package contain

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights of Landlock for each kind of need.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	useFile  = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	useDir   = useFile | readDir | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	device    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	deviceDir = device | unix.LANDLOCK_ACCESS_FS_READ_DIR

	firstRights = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // the rights of the first ABI
)

// errataSignals is the bit of the kernel fix after which threads of one process may signal each other. Without this fix, Go's scheduler
// cannot preempt a confined thread.
const errataSignals = 1 << 1

// landlock is a prepared set of rules.
type landlock struct {
	fd      int
	abi     int
	network bool // connections over TCP are among the rules
	signals bool
	err     error
}

// LandlockABI returns the kernel's version of Landlock, or 0 and an error with the reason.
func LandlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		return int(abi), nil
	case unix.ENOSYS:
		return 0, errors.New("the kernel is built without Landlock")
	case unix.EOPNOTSUPP:
		return 0, errors.New("Landlock is switched off: the kernel's parameter lsm= does not name it")
	}
	return 0, fmt.Errorf("Landlock is not to be had: %w", errno)
}

// handled returns the rights that a version of Landlock supports.
func handled(abi int) (fs uint64) {
	fs = firstRights
	for _, r := range []struct {
		abi   int
		right uint64
	}{{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE}, {5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}} {
		if abi >= r.abi {
			fs |= r.right
		}
	}
	return fs
}

// prepareLandlock opens every path of the rules.
func prepareLandlock(r *Rules) *landlock {
	l := &landlock{fd: -1}
	if l.abi, l.err = LandlockABI(); l.err != nil {
		return l
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(l.abi)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if l.abi >= 4 {
		size += unsafe.Sizeof(attr.Handled_access_net)
		if l.network = !r.Network; l.network {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if l.abi >= 6 {
		size += unsafe.Sizeof(attr.Scoped)
		if !r.Network {
			attr.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
		errata, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
		if l.signals = errno == 0 && errata&errataSignals != 0; l.signals {
			attr.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
		}
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		l.err = fmt.Errorf("landlock_create_ruleset: %w", errno)
		return l
	}
	l.fd = int(fd)
	for _, part := range []struct {
		paths     []string
		file, dir uint64
	}{{r.Read, readFile, readDir}, {r.Write, useFile, useDir}, {r.Devices, device, deviceDir}} {
		for _, path := range part.paths {
			if err := l.allow(path, part.file, part.dir); err != nil {
				l.err = err
				l.close()
				return l
			}
		}
	}
	return l
}

// allow adds a rule for a file or folder. A path that does not exist, or cannot be reached, needs none.
func (l *landlock) allow(path string, file, dir uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil
	}
	rights := file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		rights = dir
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & handled(l.abi), Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(l.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 && errno != unix.EBADFD { // EBADFD: a pipe or socket, to which rules do not apply
		return fmt.Errorf("landlock_add_rule %s: %w", path, errno)
	}
	return nil
}

func (l *landlock) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// restrict enforces the rules.
func (l *landlock) restrict(r *Rules) Report {
	defer l.close()
	if l.err == nil {
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(l.fd), 0, 0); errno != 0 {
			l.err = fmt.Errorf("landlock_restrict_self: %w", errno)
		}
	}
	if l.err != nil {
		l.network, l.signals = false, false
		why := l.err.Error()
		return Report{{Files, false, why}, {Devices, false, why}, {Signals, false, why}}
	}
	files := fmt.Sprintf("Landlock %d: reads %s, writes %s", l.abi,
		strings.Join(append([]string{"the system's programs and libraries", "its own folder"}, r.AskedRead...), ", "), strings.Join(r.Write, ", "))
	if l.abi < 3 {
		files += "; Linux before 6.2 cannot keep it from cutting files off that it may not write"
	}
	devices := "none but null, zero, full and random"
	if len(r.AskedDevices) > 0 {
		devices = strings.Join(r.AskedDevices, " ")
	}
	if l.abi < 5 {
		devices += "; of those that were open before, all commands (Linux before 6.10)"
	}
	signals := Measure{Signals, l.signals, "to itself and what it starts alone"}
	if !l.signals {
		signals.Detail = fmt.Sprintf("Landlock %d cannot scope signals between threads (Linux before 6.12, or without its correction)", l.abi)
	}
	return Report{{Files, true, files}, {Devices, true, devices}, signals}
}
