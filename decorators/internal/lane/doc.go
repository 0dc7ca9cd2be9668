// Package lane puts a queue on the host in front of the stream of a device. Commands go straight to the stream. If one has to wait
// for something on the host, such as a tensor that another device still computes, it and later ones queue up, and a goroutine gives
// them to the stream in order; the caller waits for nothing but room for elements in transfer. A decorator that drives several
// devices has a lane on each (decorators/router). It must not choose where anything runs, or know the ids of other devices.
//
// A Gate is a place in a lane. It opens when everything before it was given to the device, and its event is behind that. Await orders
// a lane behind a gate of another one.
//
// A tensor that could not be made is poisoned: the device knows nothing of it, and the lanes of the device answer for it. What reads
// it fails with the same error, what frees it succeeds. Failures that the caller did not learn at once are reported by the next gate
// that is waited for, once. A device that answers core.ErrBackendLost is lost from then on.
//
//	device.go    the device: whether it is lost, and which of its tensors are missing
//	lane.go      the queue, and gates
//	commands.go  nodes, frees, and other commands that make tensors
//	transfer.go  tensors from host memory, and from other lanes
//	ticket.go    reads, and waiting for gates
package lane
