// Package shared runs backends that are shared objects: the C ABI of sdk/c/burn_backend.h, loaded without cgo. A program that imports it
// can use the transport "shared" in host.Open and host.Devices:
//
//	import _ "github.com/goburn/burn/host/shared"
//
// It is a separate import because calling C links the program with the system's C library, even if CGO_ENABLED is 0: programs that want a
// static executable leave it out, and run shared objects as processes (host.Options.Carrier).
//
// A crash of a shared object ends the process that loaded it. Serve runs a shared object in a separate process instead. This package must
// not search for files or decide which files are trusted: package host does.
package shared
