// Package lower says how nodes and groups of nodes become kernels: it is the table from ops to templates. It stands between
// core/program/group, which decides what is computed together, and sdk/gpu/template, which knows schedules and no ops.
//
// Ops that work on each element by itself have a rule for one element (scalarRules) or are computed by their decomposition,
// element by element; reductions have a state and how it is joined (reducers); all others have a Rule that makes the work of
// a single node. What the kernels can do is said to core/program/group by Policy, and to the host by Capabilities.
//
// It must not know any particular hardware beyond template.Target, nor memory, queues or compilation.
package lower
