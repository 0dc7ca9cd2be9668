// Package checkpoint keeps snapshots of training in a folder: written beside the training, replaced atomically, verified when they
// are read. A snapshot is a folder of its own:
//
//	step-000000120/
//		model.safetensors, state.json, ...    what training needs
//		manifest.json                         sizes and SHA-256 sums of the files above
//
// A snapshot that is not whole, in any way, is skipped in favour of the one before.
package checkpoint

// Snapshot is a moment of training.
type Snapshot struct {
	Step  int               // steps done: its name
	Files map[string][]byte // by name
}
