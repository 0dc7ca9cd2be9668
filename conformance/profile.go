package conformance

import (
	"slices"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
)

// Profile is a part of the suite that a backend passes as a whole.
type Profile string

// The profiles.
const (
	// All is every case.
	All Profile = "all"
	// InferenceF32 is for hardware that runs networks on f32: the contract of streams, and the primitives on f32, i32 and bool up to
	// rank 5, without i64 and u8. A backend that passes it runs models that are lowered to these types.
	InferenceF32 Profile = "inference-f32"
	// Core is required of every backend: the claims, the contract of streams, and the primitives on the required types.
	Core Profile = "core"
	// Storage is i64 and u8 as types of storage and indices. It is required of devices that have no arithmetic for them and emulate it
	// (core.Capabilities.Emulated). It is a part of Core and NN.
	Storage Profile = "storage"
	// NN is the composites on the required types, claimed or decomposed.
	NN Profile = "nn"
	// Training is the gradients of every op that has them, against finite differences.
	Training Profile = "training"
	// Half is all cases that involve f16 or bf16, except gradients.
	Half Profile = "half"
	// Quant is the ops on quantized elements.
	Quant Profile = "quant"
	// Timed is the profile of a report of Perf, which has no cases.
	Timed Profile = "timed"
)

// Profiles lists them.
func Profiles() []Profile {
	return []Profile{InferenceF32, Core, Storage, NN, Training, Half, Quant, All}
}

func (p Profile) valid() bool { return p == "" || slices.Contains(Profiles(), p) }

var halves = dtype.SetOf(dtype.F16, dtype.BF16)

// profiles returns the profiles that a case belongs to, without All. The caller must not change them.
func (c testCase) profiles() []Profile {
	if c.member != nil {
		return c.member
	}
	return c.memberships()
}

// memberships computes the profiles of a case from its op and types.
func (c testCase) memberships() []Profile {
	l := []Profile{}
	required := c.types&^dtype.Required == 0
	if c.training {
		return []Profile{Training}
	}
	if c.level != "" {
		return []Profile{c.level}
	}
	if c.inInference() {
		l = append(l, InferenceF32)
	}
	if c.op == op.NoOp {
		if required {
			l = append(l, Core)
		}
	} else {
		row := op.Lookup(c.op)
		switch {
		case row.Traits.Has(op.Quantized):
			l = append(l, Quant)
		case required && row.Class == op.Primitive:
			l = append(l, Core)
		case required:
			l = append(l, NN)
		}
	}
	if c.storage || required && c.stores() {
		l = append(l, Storage)
	}
	if c.types&halves != 0 {
		l = append(l, Half)
	}
	return l
}

// stores reports whether the case uses i64 or u8 without arithmetic on them.
func (c testCase) stores() bool {
	if c.op == op.NoOp || c.types&dtype.SetOf(dtype.I64, dtype.U8) == 0 {
		return false
	}
	return op.Lookup(c.op).Traits.Has(op.Stores)
}

func (c testCase) in(p Profile) bool {
	return p == "" || p == All || slices.Contains(c.profiles(), p)
}

// firstType returns the type that selects a claim, for the matrix of a report.
func (c testCase) firstType() dtype.DType {
	if len(c.spec.in) > 0 {
		return c.spec.in[0].DType
	}
	if l := c.types.List(); len(l) > 0 {
		return l[0]
	}
	return dtype.Invalid
}

// Verdict is the outcome of a run for a profile.
type Verdict string

// The verdicts.
const (
	Pass        Verdict = "pass"         // no case failed; every case ran or was skipped for a reason
	Fail        Verdict = "fail"         // a case failed, expected or not
	NotExecuted Verdict = "not executed" // nothing ran
	Incomplete  Verdict = "incomplete"   // only some of the cases were selected
)

// ProfileResult is the verdict of a profile, with its counts.
type ProfileResult struct {
	Profile  Profile `json:"profile"`
	Verdict  Verdict `json:"verdict"`
	Total    int     `json:"total"`
	Passed   int     `json:"passed"`
	Failed   int     `json:"failed"`
	Skipped  int     `json:"skipped"`
	Expected int     `json:"expected"`
}

// count adds one result.
func (p *ProfileResult) count(s Status) {
	switch s {
	case Passed:
		p.Passed++
	case Failed:
		p.Failed++
	case Skipped:
		p.Skipped++
	case Expected:
		p.Expected++
	}
}

// judge fills the verdict.
func (p *ProfileResult) judge() {
	switch ran := p.Passed + p.Failed + p.Expected; {
	case p.Failed+p.Expected > 0:
		p.Verdict = Fail
	case ran == 0:
		p.Verdict = NotExecuted
	case ran+p.Skipped < p.Total:
		p.Verdict = Incomplete
	default:
		p.Verdict = Pass
	}
}
