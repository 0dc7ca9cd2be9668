// Package op is the table of ops: one row per op, and the nodes, attributes, inference and decompositions that go with
// it. Everything that is known of an op as data is read from its row and from nothing else.
//
// The table is complete after initialisation, apart from Register, which may be called at any time.
//
// # Sizes that depend on data
//
// Every output has a shape that inference knows before anything runs, also that of an op which finds as many results as
// its data holds: nonzero, compress, unique, nms. Such an op gives tensors of the greatest possible size and, as its last
// output, a count (i64, rank 0). Elements from the count on are zero. Whoever needs the exact size reads the count and
// narrows the other outputs; whoever can work with padding (a mask, a sum) reads nothing.
//
// The protocol needs nothing from a stream: Submit stays one-way, and the read of eight bytes is the only point at which
// the host waits, on an asynchronous or remote backend as on any other. A program keeps its static shapes and may be
// stored, planned and captured; the shape after narrowing belongs to the node that the host submits next.
//
//go:generate go test -run ^TestTableGolden$ . -update
package op
