package verify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
)

// perturbedRuns is the number of times that a program is computed with inputs and constants that are changed by a rounding error.
const perturbedRuns = 2

// lowered returns the program as the second device runs it.
func (p *defined) lowered(t program.Target) (*program.Program, error) {
	p.lower.Do(func() { p.low, p.lowErr = program.Lower(t, p.p) })
	return p.low, p.lowErr
}

// compareRun computes a run again and compares its outputs. The error says why it could not. differences has an entry for each
// output, nil if it is right.
func (a *audit) compareRun(p *defined, inputs, got [][]byte) (differences []error, err error) {
	want, err := a.run(p, inputs, p.constants)
	if err != nil {
		return nil, err
	}
	differences = make([]error, len(got))
	same := true
	for i := range got {
		same = same && bytes.Equal(want[i], got[i])
	}
	if same {
		return differences, nil
	}
	e := unitOf(p.p)
	var near [][][]byte
	for range perturbedRuns {
		perturbed, err := a.run(p, perturb(p.p.Inputs, inputs, e), perturb(p.p.Consts, p.constants, e))
		if err != nil {
			return nil, err
		}
		near = append(near, perturbed)
	}
	for i, d := range p.outs {
		other := make([][]byte, perturbedRuns)
		for k := range near {
			other[k] = near[k][i]
		}
		differences[i] = compareOutput(d, e, want[i], got[i], other)
	}
	return differences, nil
}

// unitOf returns the machine epsilon of the coarsest float type of a program, at least the epsilon of f32.
func unitOf(p *program.Program) float64 {
	e := 0x1p-23
	for _, d := range p.Descs() {
		switch d.DType {
		case dtype.F16:
			e = max(e, 0x1p-10)
		case dtype.BF16:
			e = max(e, 0x1p-7)
		}
	}
	return e
}

// perturb returns data with each float changed by a relative amount of at most e/2.
func perturb(descs []op.Desc, data [][]byte, e float64) [][]byte {
	out := make([][]byte, len(data))
	for i, d := range descs {
		out[i] = data[i]
		if !dtype.Floats.Has(d.DType) {
			continue
		}
		out[i] = bytes.Clone(data[i])
		size := d.DType.Size()
		for k := range len(data[i]) / size {
			v := dtype.FloatAt(d.DType, data[i], k) * (1 + e*(rand.Float64()-0.5))
			b := out[i][k*size:]
			switch d.DType {
			case dtype.F64:
				binary.LittleEndian.PutUint64(b, math.Float64bits(v))
			case dtype.F32:
				binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v)))
			case dtype.F16:
				binary.LittleEndian.PutUint16(b, uint16(dtype.Float16From64(v)))
			case dtype.BF16:
				binary.LittleEndian.PutUint16(b, uint16(dtype.BFloat16From64(v)))
			}
		}
	}
	return out
}

// compareOutput returns an error for the first element of an output of a program that is too far from want, the second device's output.
// near holds that device's outputs for changed inputs. An element counts as decided by rounding if near is far from want.
func compareOutput(d op.Desc, e float64, want, got []byte, near [][]byte) error {
	size := d.DType.Size()
	if !dtype.AnyFloats.Has(d.DType) {
		for i := range len(want) / max(1, size) {
			w, g, decided := want[i*size:][:size], got[i*size:][:size], true
			for _, n := range near {
				decided = decided && bytes.Equal(n[i*size:][:size], w)
			}
			if decided && !bytes.Equal(w, g) {
				return fmt.Errorf("got %x at element %d, the second backend %x (bytes of %v)", g, i, w, d.DType)
			}
		}
		return nil
	}
	n := len(want) / size
	scale := 0.0
	for i := range n {
		if v := math.Abs(dtype.FloatAt(d.DType, want, i)); !math.IsInf(v, 0) && v > scale {
			scale = v
		}
	}
	// The slack in f32 is 1e-5 of the greatest element or, if that is more, 64 times the difference that rounding errors of inputs cause.
	// The factors are smaller for coarser types.
	least, times, jump := 84*e*scale, 64.0, 1e-2*scale
	if e > 0x1p-20 {
		least, times, jump = 16*e*scale, 8, 16*e*scale
	}
	for i := range n {
		w, g := dtype.FloatAt(d.DType, want, i), dtype.FloatAt(d.DType, got, i)
		if w == g || w != w && g != g {
			continue
		}
		slack := least
		for _, perturbed := range near {
			v := dtype.FloatAt(d.DType, perturbed, i)
			switch diff := math.Abs(v - w); {
			case (v != v) != (w != w), diff > jump, math.IsInf(v, 0) != math.IsInf(w, 0):
				slack = math.Inf(1)
			case diff == diff:
				slack = max(slack, times*diff)
			}
		}
		if !math.IsInf(slack, 1) && !(math.Abs(w-g) <= slack) {
			return fmt.Errorf("got %v at element %d, the second backend %v, want them within %.3g", g, i, w, slack)
		}
	}
	return nil
}
