// Package peer is what the commands share that measure burn beside another library: the process that runs the library,
// what is said of the machine, and the part of a document that the figures go to.
package peer
