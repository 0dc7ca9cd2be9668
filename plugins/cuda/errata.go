package cuda

import (
	"github.com/goburn/burn/sdk/gpu"
	"github.com/goburn/burn/sdk/gpu/library"
)

// erratum describes attention that some versions of cuDNN compute wrongly. These versions are not used for such attention.
type erratum struct {
	from, to   int // first and last version of cuDNN with the fault
	capability int // compute capability of the device; 0 means every device
	attention  func(a *gpu.Attention) bool
	issue      string
}

// errata lists known faults of library versions. A row is removed when no version with the fault is in use.
var errata = []erratum{
	{from: 91000, to: 91001, attention: func(*gpu.Attention) bool { return true }, issue: "the support surface of 9.10.0 and 9.10.1 is wrong"},
	{from: 92000, to: 92099, capability: 90, attention: func(a *gpu.Attention) bool { return a.Mask != 0 && (a.Queries%128 == 64 || a.Keys%128 == 64) }, issue: "pytorch#196678"},
	{from: 92500, to: 92699, attention: func(a *gpu.Attention) bool { return a.Queries == 1 }, issue: "cudnn-frontend#1072"},
}

func (e *erratum) holds(version, capability int) bool {
	return version >= e.from && version <= e.to && (e.capability == 0 || e.capability == capability)
}

// attentionFault refuses attention that this version of cuDNN computes wrongly.
func attentionFault(version, capability int, a *gpu.Attention) error {
	for i := range errata {
		if e := &errata[i]; e.holds(version, capability) && e.attention != nil && e.attention(a) {
			return library.Refuse("attention by cuDNN %d: %s", version, e.issue)
		}
	}
	return nil
}
