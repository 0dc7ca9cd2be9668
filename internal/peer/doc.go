// Package peer contains the code that tools/benchpeers and tools/benchtrain share, which measure burn against other libraries: the process
// that runs the library, the description of the machine, and the section of a document that contains the results. It must not know
// particular ops or models.
package peer
