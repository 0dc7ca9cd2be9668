// Package bench measures the speed of ops and models on a device: the shapes to measure, taking turns, the statistics, and the
// machine limits that results are compared with. burn bench and tools/benchpeers share it.
//
// Times include the whole call as its user sees it: for an op, from submission to completion, with a few in flight; for a model,
// from the call to its outputs on the host.
package bench
