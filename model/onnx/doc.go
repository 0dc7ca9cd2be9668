// Package onnx loads ONNX models and runs them on any device.
//
// A Model is parsed and checked once. A Session runs it on one device: for inputs of shapes that it has not seen, the graph
// is traced into programs of the op contract, which are compiled on the device and remembered; for shapes that it has seen,
// the programs are executed. Where the graph's course depends on data (the condition of a loop, a shape that is computed
// from an input), the trace reads the value, and what it read selects the way of later runs.
//
// Opsets 1 to 28 of the default domain are understood, external data, control flow, functions, symbolic and unknown
// dimensions too. Strings, maps, sparse inputs and element types below 8 bits are not.
package onnx
