// Package bench measures the speed of ops and models on a device: the shapes to measure, taking turns, the statistics, and the machine
// limits that results are compared with. burn bench and tools/benchpeers use it. It must not print reports.
//
// Times cover the whole call as seen by the caller: for an op, from submission to completion, with a few in flight; for a model, from the
// call to its outputs on the host.
package bench
