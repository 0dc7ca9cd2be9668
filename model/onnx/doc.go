// Package onnx loads ONNX models and runs them on any device.
//
// A Model is parsed and checked once. A Session runs it on one device. For inputs of new shapes, the graph is traced into programs
// of the op contract, which are compiled on the device and remembered. For inputs of known shapes, the programs are executed. Where
// control flow depends on data (the condition of a loop, a shape computed from an input), the trace reads the value, and later runs
// branch by the value that they read.
//
// Opsets 1 to 28 of the default domain are supported, including external data, control flow, functions, and symbolic and unknown
// dimensions. Strings, complex numbers, 6-bit floats, maps and sparse inputs are not.
//
// The package knows ONNX and the op contract. It must not know backends: it asks the device which ops it supports. Files are
// decoded by package pb, models are written by package export, and package onnxtest runs the ONNX backend tests.
//
// # Files
//
// In the order of the data, from the file to the results:
//
//   - Loading: model.go (Options, Load, Parse), external.go (external data files), graph.go (checking, ordering and pruning),
//     function.go (model-local functions), info.go (declarations and metadata), batch.go (Options.Batch), errors.go.
//   - Running: session.go (Open, Run, Close), input.go (Value, and the check of inputs against declarations), explain.go (Explain).
//   - Plans: step.go (the tree of steps, and their execution), plan.go (creating, following and forgetting steps), tracing.go
//     (runs that share a trace), budget.go (limits on host memory).
//   - Tracing: trace.go (walks the graph), tracer.go (emits ops), value.go (values under tracing), node.go (an ONNX node with its
//     inputs), constant.go (constant folding), sparse.go, segment.go (programs under construction), compile.go (programs on the
//     device), origin.go (rewriting quantized patterns), precision.go (Options.Precision).
//   - Operators: registry.go (one converter per operator and opset), ops_*.go (the converters, by theme), control.go and
//     control_scan.go (If, Loop, Scan).
//   - Shared by converters: calc.go and shorthands.go (ops as methods), bytes.go (elements on the host), activation.go,
//     ops_window.go, resample.go, sampler.go, spectrum.go and twister.go.
package onnx
