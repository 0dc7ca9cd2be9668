// Package router joins several opened devices into one. Its Backend has a single device, with the memory of all members: a tensor
// has one id, and may have copies on several members. It can be used like any backend: below tensor and the other decorators,
// above plugins. It must not compute anything itself or change results.
//
// # Where things run
//
// The first place that New is given is the main member, the others are helpers. Every tensor has a place: the member that
// the host put it on, which is the main one, or the one that On names. A node prefers the member that is the place of most
// bytes of its operands, and of two with as many bytes the one that was given first; a node without operands prefers the
// main member. Its results have the preferred member as their place.
//
// A node runs on the member that it prefers where that claims it, by its capability document and, where the device is
// core.Selective, by its answer for this node. Else it runs on a helper that claims it, on the one that has most bytes of the
// operands. So a chain of nodes that the main member lacks stays on the helper, and what follows returns. This is never silent:
// Stats counts such nodes, OnFallback is called for the first one of each op and class of shapes, and with Strict such nodes are
// core.ErrUnsupported. The capabilities of the device are the union of all members' capabilities, so that the host decomposes a
// node only if no member claims it; with Strict they are the main member's.
//
// # How tensors move
//
// Operands are copied to the member where a node runs, once: a copy is kept until its tensor is freed. Between devices of one
// backend with core.PeerCopy the copy is theirs. Else the elements are read on the one side and written on the other, and the
// caller waits for neither: commands for a member that needs an operand which is still on its way queue up on the host, in order,
// and are given to the member once the operand is there (decorators/internal/lane). Other members go on meanwhile. Commands that
// wait for no operand go straight to the member.
//
// Each stream of the router is one stream on every member. An event of it is an event on each, so whatever is ordered by
// Signal and Wait is ordered on all members. A copy that one stream has caused and another uses is ordered by the router.
//
// # What fails
//
// A failed node poisons its results, on whatever member they are needed. When a member is lost, tensors that have a copy
// elsewhere live on, and the others are core.ErrBackendLost; each stream reports the loss once, at its next event, and new work
// goes to the remaining members. A device of which every member is lost answers core.ErrBackendLost.
//
// # Programs
//
// A program is placed as a whole when it is defined, see Plan. Consecutive nodes of one member become one program there.
// Constants are copied at Define, and kept for as long as the program is defined, so that it can be placed anew when a
// member is lost. Random ops need no care: they count, and so give the same bits anywhere.
//
// Without Split, a program is on the main member, except units that this does not claim. With Split or SplitMeasured, its units, nodes
// that a device may compute as one kernel, go where the whole takes the least time, transfers included: package core/program/place
// finds that, by times that decorators/internal/costs has measured and kept.
//
// Measured times are not exact, and do not add up exactly, so they only propose. A program begins on the best single member, or split
// where the gain is greater than measurements that are off by a tenth could make up. Its first runs then try the other proposals
// as well, whole runs with their transfers, until all but one are found slower: after some tens of runs, and after place.Bound at
// most. So a split that is slower than one member does not last, and a good one that was not predicted is found. From then on the plan
// stays, unless the times of its parts change by half. A Plan says which ways were tried and what they took.
//
// Nothing in this package may wait for a device within Submit, Run or Free, except for room on the host (HeldBytes), or while it
// holds a lock that these take.
//
// # Files, in the order of the data
//
//	router.go, device.go, member.go     the router, its device and members
//	capabilities.go, choose.go          the union of claims, and the member for a node
//	stream.go, table.go                 commands divided among members; tensors and their copies
//	transfer.go, event.go               copies between members; reads and events
//	hostmemory.go, profiling.go         lent and pinned memory; profiles of all members
//	programs.go, plan.go                programs placed, divided into parts, and run
//	costs.go, split.go                  what programs are split by, and the decision
//	layouts.go, observe.go              ways that are tried, and runs that are timed
//	stats.go                            counters
package router
