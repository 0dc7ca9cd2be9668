// Package lane implements a queue on the host in front of the stream of a device. Normally, commands are passed to the stream at once. If a
// command has to wait on the host, for instance for a tensor that another device still computes, it and later ones are queued, and a
// goroutine passes them to the stream in order. The caller waits only for memory for elements in transfer. A decorator that drives several
// devices has a lane for each (decorators/router). This package must not choose where nodes run, or know the ids of other devices.
//
// A Gate is a position in a lane. It opens when all earlier commands have been passed to the device; its event follows these commands.
// Await makes a lane wait for a gate of another lane.
//
// A tensor that could not be created is poisoned: the device does not know it. Commands of lanes that read it fail with the same error, and
// freeing it succeeds. An error that the failing call could not return is returned once, by the next wait for a gate. A device that answers
// core.ErrBackendLost is lost from then on.
//
//	device.go    the device: whether it is lost, and which of its tensors are missing
//	lane.go      the queue, and gates
//	commands.go  nodes, frees, and other commands that create tensors
//	transfer.go  tensors from host memory, and from other lanes
//	ticket.go    reads, and waiting for gates
package lane
