// Package checkpoint keeps snapshots of training in a folder: written beside the training, replaced atomically, verified when they
// are read. A snapshot is a folder of its own:
//
//	step-000000120/
//		model.safetensors
//		optimizer.safetensors
//		state.json       whatever else training needs
//		manifest.json    sizes and SHA-256 sums of the files above
//
// A snapshot that is not whole, in any way, is skipped in favour of the one before.
package checkpoint

import (
	"encoding/json"

	"github.com/goburn/burn/core/dtype"
)

// Tensor is a tensor on the host.
type Tensor struct {
	Name  string
	DType dtype.DType
	Shape []int
	Data  []byte // elements in row-major order, little-endian
}

// Snapshot is a moment of training.
type Snapshot struct {
	Step   int                 // steps done: its name
	Groups map[string][]Tensor // by file: "model", "optimizer"
	State  json.RawMessage
}

// Group is the tensors of a file by name.
func (s *Snapshot) Group(name string) map[string]Tensor {
	m := make(map[string]Tensor, len(s.Groups[name]))
	for _, t := range s.Groups[name] {
		m[t.Name] = t
	}
	return m
}
