// Package gradient contains the gradient rules of the ops in the op table. A rule expresses the gradient as nodes of such ops.
// decorators/autodiff uses the package to differentiate a graph: it looks up the rule of an op (Of), keeps the tensors that the rule reads
// (Reads), and later records the gradient (Record). An op without a rule is differentiated through its decomposition. How says which of the
// two applies, or why an op has no gradient. The package must not keep tensors, know streams or devices, or compute anything: a rule is a
// function from descriptions to nodes.
//
// A rule is worth writing where the gradient of the decomposition is slower or worse conditioned. Rules of narrow floats compute in f32 and
// round once, as the ops themselves do. At points without a derivative, gradients follow PyTorch. Rules are grouped like ops:
//
//	rule.go               what a rule is, and the helpers that rules are written with
//	cover.go              which ops have no gradient, and why
//	rules_elementwise.go  and the other rules_*.go: the rules
package gradient
