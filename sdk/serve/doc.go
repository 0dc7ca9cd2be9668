// Package serve turns a core.Backend into a plugin process: the handshake, the gRPC server, the checks of everything that the host sends,
// and the end of the process when its host ends. The main function of a plugin is one call of Main. The package must not execute ops: the
// backend does.
//
// Commands are checked before the backend sees them: a node that op.Check or the capabilities reject, an unknown or stale tensor, or an op
// of another version poisons the outputs with an error, like a kernel that fails. A panic of the backend is an ErrKernel of the node, not
// the end of the process.
package serve
