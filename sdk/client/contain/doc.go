// Package contain confines a plugin process: what it may read and write, which devices and networks it reaches, which system
// calls it may make. Package client, which starts processes, calls it. The kernel enforces the rules for everything that the
// process starts. On a kernel that lacks a mechanism the Report says so, and the other rules are in force. The package must not
// decide what a plugin needs: manifests and settings do.
package contain
