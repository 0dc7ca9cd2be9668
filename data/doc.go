// Package data reads the examples that a model learns from: datasets with random access, lazy transforms of them, and a Loader that turns
// them into batches on a device with several workers, in an order that depends only on the seed. Training (package train, or a loop) reads
// its batches.
//
// Files and databases are read by the packages below: csv, jsonl, parquet, sqlite, image, text; source finds or downloads well-known data
// sets. Packages parquet and sqlite are separate modules, because of their dependencies. This package must only depend on the standard
// library, package tensor and the contract in core.
package data
