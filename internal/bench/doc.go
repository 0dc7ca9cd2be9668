// Package bench measures the speed of ops and models on a device: the shapes that are measured, the taking of turns, the
// statistics, and the limits of the machine that results are held against. burn bench and tools/benchpeers share it.
//
// Times are of the whole call as its user sees it: of an op, from its submission to its completion, a few of them in flight;
// of a model, from the call to its outputs on the host.
package bench
