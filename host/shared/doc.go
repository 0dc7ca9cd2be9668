// Package shared runs backends that are shared objects: the C ABI of sdk/c/burn_backend.h, loaded without cgo. A program
// that imports it, if only for its effect, has the transport "shared" in host.Open and host.Devices:
//
//	import _ "github.com/goburn/burn/host/shared"
//
// It is a separate import because calling C links the program with the system's C library, even if CGO_ENABLED is 0: programs that want a
// static executable leave it out, and run shared objects as processes (host.Options.Carrier).
//
// A shared object is code of the process that loads it, and so is its crash. Serve gives one a process of its own instead.
package shared
