package contain

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// otherABI is the first number of the system calls of a second interface of the architecture, 0 for none.
const otherABI = 0

// refusedHere are system calls of this architecture alone.
var refusedHere []uint32
