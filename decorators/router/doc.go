// Package router joins several opened devices into one. Its Backend has a single device, with the memory of all members: a tensor
// has one id, and may have copies on several members. It can be used like any backend: below tensor and the other decorators,
// above plugins. It must not compute anything itself or change results.
//
// # Where things run
//
// The first place passed to New is the main member, the other places are helpers. Every tensor has a place: the member that the host wrote
// it to, which is the main one or the one that On names. A node prefers the member that is the place of most bytes of its operands (if
// there are several, the first one); a node without operands prefers the main member. The preferred member is the place of its results.
//
// A node runs on the preferred member if that member claims it: in its capability document and, if the device is core.Selective, in its
// answer for this node. Otherwise it runs on the helper that claims it and has most bytes of the operands. So a chain of nodes that the
// main member does not support stays on one helper, and later nodes run on the main member again. This is never silent: Stats counts such
// nodes, OnFallback is called for the first one of each op and class of shapes, and with Strict such nodes fail with core.ErrUnsupported.
// The capabilities of the device are the union of all members' capabilities, so that the host decomposes a node only if no member claims
// it; with Strict they are the main member's.
//
// # How tensors move
//
// Operands are copied to the member where a node runs, once: a copy is kept until its tensor is freed. Devices of one backend copy by
// core.PeerCopy if they have it. Otherwise the elements are read from one member and written to the other, and the caller waits for
// neither: commands that need an operand in transfer are queued on the host, in order, and passed to the member once the operand has
// arrived (decorators/internal/lane). Other members continue meanwhile. Commands that wait for no operand are passed to the member at once.
//
// Each stream of the router is one stream on every member. An event of such a stream comprises an event on every member, so Signal and Wait
// order commands on all members. If one stream causes a copy and another uses it, the router orders the two.
//
// # What fails
//
// A failed node poisons its results on all members. When a member is lost, tensors with a copy on another member survive, and uses of all
// other tensors return core.ErrBackendLost; each stream reports the loss once, at its next event, and new work goes to the remaining
// members. If all members are lost, the device returns core.ErrBackendLost.
//
// # Programs
//
// A program is placed as a whole when it is defined, see Plan. Consecutive nodes of one member become one program there. Constants are
// copied at Define, and kept as long as the program is defined, so that it can be placed again when a member is lost. Random ops are
// counter-based, and return the same bits on every member.
//
// Without Split, a program runs on the main member, except units that the main member does not claim. A unit is a set of nodes that a
// device may compute as one kernel. With Split or SplitMeasured, units are placed such that the program takes the least time, transfers
// included: package core/program/place finds this placement, from times that decorators/internal/costs has measured and stored.
//
// Measured times are not exact, and their sums even less, so they only propose placements. A program begins on the best single member, or
// split if the predicted gain is greater than an error of ten percent in the measurements. Its first runs then try the other proposals, as
// whole runs with their transfers, until all but one are found slower: after some tens of runs, at most place.Bound. So a split that is
// slower than a single member is abandoned, and a good split that was not predicted is found. From then on the plan stays, unless the times
// of its parts change by half. A Plan lists the placements that were tried and their times.
//
// Nothing in this package may wait for a device within Submit, Run or Free, except for room on the host (HeldBytes), or while it holds a
// lock that these calls acquire.
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
