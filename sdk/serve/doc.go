// Package serve makes a plugin process of a core.Backend: the handshake, the gRPC server, the checks of all that comes from
// the host, and the end of the process when its host ends. The main function of a plugin is one call of Main.
//
// Commands are checked before the backend sees them: a node that op.Check or the capabilities refuse, an unknown or stale
// tensor, an op of another version poison the outputs with an error, as a failing kernel does. A panic of the backend is an
// ErrKernel of the node, not the end of the process.
package serve
