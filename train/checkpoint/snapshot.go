// Package checkpoint stores snapshots of training for package train. It writes them concurrently with training, replaces them atomically,
// and verifies them when it reads them. It must not interpret the files of the state. Each snapshot is a folder:
//
//	step-000000120/
//		model.safetensors, state.json, ...    the state of training
//		manifest.json                         sizes and SHA-256 sums of the files above
//
// A snapshot that is incomplete or damaged is skipped in favour of the previous one.
package checkpoint

// Snapshot is the state of training after a step.
type Snapshot struct {
	Step  int               // number of steps done, from which the snapshot is named
	Files map[string][]byte // contents of the files, by name
}
