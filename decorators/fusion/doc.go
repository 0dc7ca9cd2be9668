// Package fusion is a decorator that turns repeated sequences of nodes of a stream into programs, so that code that is written op
// by op runs as if it had been compiled. It wraps a backend directly; autodiff and the tensor library come above it. It must not
// compute anything itself or know ops beyond the table, and must not change results beyond the tolerance of their ops.
//
// A window is the sequence of nodes submitted to a stream since the last boundary. Boundaries are calls that wait or order (Read,
// Signal, Wait, a run of a program of the host, a copy between devices, a collective, the upload of more than a few KiB, Close),
// and limits: 4096 nodes, 4 MiB of attributes, results of more than Memory bytes. The limits are such that the forward and
// backward pass of a training step are one window: the program then plans the memory of tensors saved between them.
//
// When a window occurs for the first time, its nodes are submitted unchanged, and only its structure is recorded. At the end of the second
// occurrence, while the device executes it, it becomes a program: core/program compiles it, and the device defines it. From then on nodes
// that match the beginning of a program are held back, as long as they match; at the boundary they become one Run. If they turn out to
// differ, they are submitted unchanged, in order. So code that never repeats is never delayed. Held nodes are submitted at the latest when
// the stream was idle for a moment (Idle). In the middle of a program, the stream may be idle for several moments, because a host that is
// interrupted there usually continues, and single nodes would take more time and memory than the program. Other streams may use tensors
// only after an event, and Signal is a boundary.
//
// The key of a program is the whole structure of its window: ops, versions, all attributes, types and shapes, which operands are the same
// tensor, which results outlive the window, and which operands are freed. Ids become numbers in the order in which the nodes first name
// tensors. A hash finds candidates; a complete comparison decides. Operands that the window frees, by a drop bit or by a later free, are
// donated to the run. Tensors that the window both creates and frees exist only within the program. So peak memory is not higher than
// without fusion.
//
// A number that changes each time, such as a learning rate in a fill, would be a new key each time. After it has changed a few times, the
// fill runs separately before the program, and its result becomes an operand. If such a source is large, windows are split at it instead.
// Windows that differ in other attributes become at most eight programs; further ones are submitted unchanged.
//
// Random numbers depend on a seed and a counter that increases with each draw. A window stores the counter of each draw relative to the
// first draw, whose seed and counter are an operand of the program. So a step with dropout is one program, and draws the same numbers as
// its nodes.
//
// In a loop without waits, only limits end windows, at positions that would move from iteration to iteration. So a limit stores a mark, a
// hash of the last nodes, and a window also ends wherever a mark occurs again: after one or two iterations, all iterations are divided
// equally.
//
// Errors name the node that was written. A program that cannot be made (an error of Define, a panic in a rewrite) is not tried again, and
// its window is submitted unchanged; no node is lost. A Run is not repeated: if a node of it fails, all results of the window fail with it,
// as in any program. The window is submitted unchanged from then on, so that a later failure only affects results that depend on it.
//
// Each device keeps the most recently used programs, within the limits of Cache; the others are undefined. A Report shows which windows ran
// as programs and why others did not (Stats, Explain), and keeps the programs, as text, from one process to the next (Save, Load). If the
// device has no core.Programs, all nodes are submitted unchanged.
//
// The garbage collector frees tensors at unpredictable points, so that windows with such frees differ each time: free tensors
// explicitly, as tensor.Scope does.
//
// # Files, in the order of the data
//
//	fusion.go, device.go, extension.go  Wrap, options, and the wrapped device with its extensions
//	stream.go                           nodes collected into windows, held back and passed on
//	cache.go                            windows seen before, and the plans of a device
//	plan.go                             a plan: the program of a window, and its runs
//	failure.go                          errors named after the original nodes
//	stats.go, text.go                   reports, and programs saved as text
//
// Package core/program/window defines windows, their comparison, and where the windows of a loop end.
package fusion
