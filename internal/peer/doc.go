// Package peer contains the code that tools/benchpeers and tools/benchtrain share. Both compare burn with other libraries. It contains the
// process that runs another library, the description of the machine, and the section of a document that contains the results. It must not
// know particular ops or models.
package peer
