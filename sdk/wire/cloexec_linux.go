package wire

import "syscall"

// closeOnExec makes received descriptors close in programs that this process starts.
const closeOnExec = syscall.MSG_CMSG_CLOEXEC
