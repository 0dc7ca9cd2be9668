// Package window recognises repeated sequences of nodes. A decorator records the nodes of a stream in a Window; the package replaces tensor
// ids by numbers, hashes every prefix of the sequence, compares two sequences completely, and returns one as a program. It must not know
// streams, devices or plans: decorators/fusion decides what to do about a repetition, and when a window ends.
//
// A Structure is the computation of a window, without ids: ops, versions, attributes, types and shapes, which operands are the same tensor,
// which results outlive the window, and which operands are freed. Hash and Key find candidates for an equal structure, and Same compares.
// Two kinds of attributes may differ between windows of one structure:
//
//   - the attributes of sources. A source is a node without operands, such as a fill with a learning rate. Changed finds the sources
//     that differ, and Program leaves them out, so that their results are inputs;
//   - the seed and counter of random draws. They are compared relative to those of the first draw, and MoveDraws makes the state of the
//     first draw an input.
//
// If nothing in a loop waits for results, Marks finds positions at which windows can end: the same positions in each iteration.
//
// # Files, in the order of the data
//
//	hash.go                  hashes of nodes, and the table from ids to numbers
//	window.go, structure.go  nodes recorded, compared and copied
//	draws.go                 random draws relative to the first one
//	program.go               a structure as a program, and the nodes that its tensors are from
//	marks.go                 where windows end
package window
