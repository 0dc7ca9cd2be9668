// Package op is the table of ops: one row per op, and the nodes, attributes, inference and decompositions that go with it. Hosts,
// decorators, backends and the conformance suite read it. The row is the only source of facts about an op: no other package may state them
// again, and this package must not compute elements.
//
// The table is complete after initialisation, apart from Register, which may be called at any time.
//
// # Sizes that depend on data
//
// Inference determines the shape of every output before anything runs. This includes ops whose number of results depends on data: nonzero,
// compress, unique, nms. Such an op returns tensors of the greatest possible size and, as its last output, a count (i64, rank 0). Elements
// from index count on are zero. A caller that needs the exact size reads the count and narrows the other outputs; a caller that can compute
// with the padding (as a mask, or in a sum) reads nothing.
//
// So streams need no special support: Submit does not wait, and the host only waits for the read of eight bytes, also with asynchronous and
// remote backends. Programs have static shapes, so that they can be stored, planned and captured.
//
//go:generate go test -run ^TestTableGolden$ . -update
package op
