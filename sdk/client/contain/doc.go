// Package contain confines a plugin process: what it may read and write, which devices and networks it reaches, which system
// calls it may make. It stands between package client, which starts processes, and the kernel. The rules are enforced by the
// kernel and hold for everything that the process starts; on a kernel that lacks a mechanism the Report says so, and the rest is
// in force. It must not decide what a plugin needs: that is said by manifests and settings.
package contain
