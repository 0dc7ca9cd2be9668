package wire

import "syscall"

// closeOnExec has received descriptors closed in programs that this process starts.
const closeOnExec = syscall.MSG_CMSG_CLOEXEC
