// Package window recognises sequences of nodes that come again. A decorator records the nodes of a stream in a Window; the package
// numbers the tensors, so that the ids of one time have no meaning, hashes every beginning of the sequence, compares two sequences
// completely, and returns one as a program. It must not know streams, devices or plans: what is done about a repetition, and when a
// window ends, is decided above it (decorators/fusion).
//
// A Structure is all that two windows have in common: ops, versions, attributes, types and shapes, which operands are the same
// tensor, which results live on, and which operands are freed. Hash and Key find a structure, and Same decides. Two kinds of
// attributes may differ between windows of one structure:
//
//   - those of sources, nodes without operands, such as a learning rate that is written as a fill. Changed finds them, and Program
//     leaves such sources out, so that their results are inputs;
//   - the seed and counter of random draws. A window knows its draws by how far they are from the first one, and MoveDraws makes the
//     state of the first draw an input.
//
// Marks finds places at which the windows of a loop may end, the same in each round, where nothing in the loop waits.
//
// # Files, in the order of the data
//
//	hash.go                  hashes of nodes, and the table from ids to numbers
//	window.go, structure.go  nodes recorded, compared and copied
//	draws.go                 random draws relative to the first one
//	program.go               a structure as a program, and the nodes that its tensors are from
//	marks.go                 where windows end
package window
