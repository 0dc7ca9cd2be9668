// Package gradient has the gradients of the ops of the table, as nodes of the contract. It stands between the table and whoever
// differentiates a graph: decorators/autodiff asks for the rule of an op (Of), keeps what that reads (Reads), and later records the
// gradient (Record). What has no rule is differentiated through its decomposition; How says which of these an op has, or why it has
// none. It must not keep tensors, know streams or devices, or compute anything: a rule is a function from descriptions to nodes.
//
// A rule is worth writing where the gradient of the decomposition is slower or worse conditioned. Rules of narrow floats compute in
// f32 and round once, as the ops themselves do. What the gradient is where there is no derivative follows PyTorch.
//
// Rules are grouped as the ops are:
//
//	rule.go               what a rule is, and the helpers that rules are written with
//	cover.go              which ops have no gradient, and why
//	rules_elementwise.go  and the other rules_*.go: the rules
package gradient
