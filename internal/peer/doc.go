// Package peer holds the code shared by the commands that measure burn against another library: the process that runs the
// library, the description of the machine, and the section of a document that receives the figures.
package peer
