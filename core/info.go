package core

import (
	"fmt"
	"runtime"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Info describes a backend.
type Info struct {
	Name    string // "cpu", "cuda"; decorators print what they wrap: "fusion<cuda>"
	Version string // of the backend, semantic
	Vendor  string
	Devices []DeviceInfo
}

// DeviceInfo describes one device of a backend.
type DeviceInfo struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`   // as the hardware calls itself
	Kind   string `json:"kind"`   // "cpu", "gpu", "npu", ...
	Memory int64  `json:"memory"` // bytes, 0 when unknown
	// Detail is anything worth a word: threads, instruction sets, driver version.
	Detail string `json:"detail,omitempty"`
}

// Capabilities is what a backend claims. The conformance suite tests all of it and nothing else.
type Capabilities struct {
	// Types is every element type that tensors may have on this backend.
	Types dtype.Set
	// Ops is the claims by op name.
	Ops map[string]OpCapability
	// Limits on every tensor.
	MaxRank  int
	MaxBytes int64 // of one tensor; 0: bounded by memory alone
	// Deterministic: the same nodes on the same inputs give the same bits, run after run.
	Deterministic bool
	// Features names what else is there: "programs", "memory_stats".
	Features []string
}

// OpCapability is the claim for one op.
type OpCapability struct {
	Version uint16
	// Types is the element types of the op's first operand (of its result for creation ops) that are computed natively.
	Types dtype.Set
}

// Check answers Supports from the document alone: op, version, types and rank. Backends with more conditions ask it
// first.
func (c *Capabilities) Check(n *op.Node, in []op.Desc) error {
	row := op.Lookup(n.Op)
	claim, ok := c.Ops[row.Name]
	if !ok || claim.Version != n.Version {
		return fmt.Errorf("%s version %d: %w", row.Name, n.Version, ErrUnsupported)
	}
	for i, ds := range [][]op.Desc{in, n.Outputs} {
		for k, d := range ds {
			first := k == 0 && (i == 0 || len(in) == 0)
			if !c.Types.Has(d.DType) || first && !claim.Types.Has(d.DType) {
				return fmt.Errorf("%s on %v: %w", row.Name, d, ErrUnsupported)
			}
			if len(d.Shape) > c.MaxRank {
				return fmt.Errorf("%s on rank %d, at most %d: %w", row.Name, len(d.Shape), c.MaxRank, ErrUnsupported)
			}
			if c.MaxBytes > 0 && int64(d.Bytes()) > c.MaxBytes {
				return fmt.Errorf("%s on %v, at most %d bytes a tensor: %w", row.Name, d, c.MaxBytes, ErrUnsupported)
			}
		}
	}
	return nil
}

// Platform is the os/arch pair that plugins are built for: "linux/amd64".
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
