// Package lower converts nodes and groups of nodes to kernels: it maps ops to templates. Package core/program/group decides which nodes are
// computed together; sdk/gpu/template contains schedules and does not depend on ops.
//
// Elementwise ops have a rule for one element (scalarRules) or are computed by their decomposition, element by element. Reductions have a
// state and an operation that joins two states (reducers). All others have a Rule that returns the work of a single node. Policy describes
// the kernels to core/program/group, and Capabilities to the host.
//
// The package must not depend on hardware except through template.Target, nor on memory, queues or compilation.
package lower
