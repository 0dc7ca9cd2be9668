// Package lower says how nodes and groups of nodes become kernels: it is the table from ops to templates. Package
// core/program/group decides which nodes are computed together; sdk/gpu/template knows schedules and no ops.
//
// Ops that work on each element by itself have a rule for one element (scalarRules) or are computed by their decomposition,
// element by element; reductions have a state and how it is joined (reducers); all others have a Rule that makes the work of a
// single node. Policy describes the kernels to core/program/group, and Capabilities to the host.
//
// It must not know any particular hardware beyond template.Target, nor memory, queues or compilation.
package lower
