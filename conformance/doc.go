// Package conformance tests whether a backend computes the results that the op table defines. It generates cases from the rows of the
// table: ops, element types that the backend claims, shapes, layouts of operands, values, and attributes. Expected results come from
// conformance/ref, and tolerances from the rows. Further cases test the semantics of streams.
//
// Check runs the cases and returns a report; Run runs them as Go subtests. A case has a stable id, op/types/variant/kind, such as
// add/f32/rank0/special. A regular expression selects the cases to run by their ids. Values depend only on the seed and the id, so that a
// single case can be repeated.
//
// # Tolerance
//
// A result must agree with the reference within the op.Tolerance that the row contains for the type of the result. For rows that accumulate
// (PerTerm) the tolerance grows with the number of terms, which op.Terms counts. Terms are the products or summands of one element of the
// result; for norms there are a few more, for scaling and shifting. The absolute part of such a tolerance applies to operands of magnitude
// 1, so operands are drawn from [-1, 1]. NaN and infinities must agree, and for exact rows the sign of zero too.
//
// # Files, in the order of the data
//
//	variants*.go, values.go, operands.go, matrices.go   shapes, attributes and values to test each op with
//	cases.go, run_values.go, layouts.go, indices.go,    cases of ops: a spec (one node) and a body that runs it
//	programs.go, gradients.go, decomposed.go,
//	hygiene.go, words.go, document.go, large.go, flushed.go
//	claims.go, level.go, streams.go, stream_programs.go, cases of the contract: capability documents, streams, events,
//	poison.go, blame.go, events.go, tickets.go,         programs, memory, failures, extensions
//	ownership.go, donation.go, collective.go, peer.go,
//	hostmemory.go, profiling.go, extensions.go,
//	refused.go, lifecycle*.go, protocolcase.go
//	fresh.go, metamorphic.go, graphs/                   cases that are drawn anew from every seed
//	suite.go, profile.go, check.go, challenge.go,       the suite and its hash, profiles, the selection of cases, seeds,
//	plugin.go                                           the tested plugin
//	crew.go, session.go, attempt.go, defined.go,        the sessions of a run, each with an open backend, and a run of one
//	further.go                                          case on it
//	compare.go, accuracy.go, modes.go, machine.go       comparison with ref, and measurements beside the verdicts
//	shrink.go, minimal.go                               the smallest node on which a failed case still fails
//	perf*.go                                            times of ops
//	report.go, matrix.go, disclosure.go, junit.go,      the report and its forms
//	jsonlines.go, page.go
//	package.go, signature.go, verify.go, rerun.go,      report packages: how they are written, signed, verified, run again,
//	release.go, waiver.go, submission.go                judged by the rules of a release, and listed
//
// A case must not depend on a particular backend, on another case, or on time. Package ref must not share code with a backend. Whoever
// changes what a case checks without changing its id must increase SuiteVersion.
package conformance
