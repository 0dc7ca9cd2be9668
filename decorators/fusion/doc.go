// Package fusion is a decorator that turns repeated sequences of nodes of a stream into programs, so that code that is written op
// by op runs as if it had been compiled. It wraps a backend directly; autodiff and the tensor library come above it. It must not
// compute anything itself or know ops beyond the table, and must not change results beyond the tolerance of their ops.
//
// A window is the sequence of nodes submitted to a stream since the last boundary. Boundaries are calls that wait or order (Read,
// Signal, Wait, a run of a program of the host, a copy between devices, a collective, the upload of more than a few KiB, Close),
// and limits: 4096 nodes, 4 MiB of attributes, results of more than Memory bytes. The limits are such that the forward and
// backward pass of a training step are one window: the program then plans the memory of tensors saved between them.
//
// The first time that a window is seen, its nodes are submitted as they come, and only its structure is recorded. At the end of
// the second time, while the device works on it, it becomes a program: core/program compiles it, and the device defines it. From
// then on nodes that match the beginning of a program are held back, as long as they match; at the boundary they become one Run.
// If they turn out to differ, they are submitted unchanged, in order. So code that never repeats is never delayed, and held nodes
// are submitted at the latest when a stream was idle for a moment (Idle), or for some moments in the middle of a program: a host
// that is interrupted there goes on, and its nodes one by one would take more time and memory than the program. Other streams may use tensors only after an event, and
// Signal is a boundary.
//
// The key of a program is the whole structure of its window: ops, versions, all attributes, types and shapes, which operands
// are the same tensor, which results live on, and which operands are freed. Ids become numbers in the order in which the
// nodes first name tensors. A hash finds the program; a comparison in full decides. Operands that the window frees are
// donated to the run, by their drop bit or by a later free, and tensors that it makes and frees exist within the program
// alone, so that the peak of memory is not above that of the nodes by themselves.
//
// A number that changes each time, such as a learning rate that is written as a fill, would be a new key each time. After it
// has changed a few times, the fill runs by itself before the program, whose operand its result is. Where such a source is
// large, windows are split at it instead. Other attributes that take many values make at most eight programs; the rest passes.
//
// Random numbers are drawn by a seed and a counter that moves on with each draw. A window knows its draws by how far they are
// from the first one, whose seed and counter are an operand of the program: a step with dropout is one program, and draws the
// numbers that its nodes would draw.
//
// A loop in which nothing waits is cut by limits alone, at places that would drift. So a limit leaves a mark, a hash of the
// last nodes, and wherever that occurs again, a window ends too: after a round or two all rounds are cut alike.
//
// Errors name the node that was written. A program that cannot be made (an error of Define, a panic in a rewrite) is not tried
// again, and its window passes; no node is lost. A Run is not repeated: if a node of it fails, all results of the window fail
// with it, as in any program, and the window passes from then on, so that the next failure only affects results that depend on
// it.
//
// Programs are kept for each device, those that were used last, within Cache; the others are undefined. A Report shows which
// windows ran as programs and why others did not (Stats, Explain), and keeps the programs, as text, from one process to the next
// (Save, Load). Over a device without core.Programs all nodes pass.
//
// Tensors that the garbage collector frees are freed at no certain place, and windows with them differ each time: free them, as
// tensor.Scope does.
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
// What a window is, how two are compared, and where the windows of a loop end, is in core/program/window.
package fusion
