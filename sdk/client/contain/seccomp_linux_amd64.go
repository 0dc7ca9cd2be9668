package contain

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// otherABI is the first number of the system calls of a second interface of the architecture, 0 for none.
const otherABI = 0x40000000

// refusedHere are system calls of this architecture alone.
var refusedHere = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS,
	unix.SYS__SYSCTL, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE}
