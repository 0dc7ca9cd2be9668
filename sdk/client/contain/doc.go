// Package contain confines a plugin process: it limits the files that the process may read and write, the devices and networks that it may
// use, and its system calls. Package client, which starts processes, calls it. The kernel also enforces the rules for all children of the
// process. On a kernel that lacks a mechanism the Report says so, and the other rules are in force. The package must not decide what a
// plugin needs: manifests and settings do.
package contain
