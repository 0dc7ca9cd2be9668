package onnx

import "slices"

// rebatch replaces the first dimension of the inputs by Options.Batch if the model fixes it. Outputs whose first dimension is the same
// batch size then have an unknown first dimension.
func (m *Model) rebatch() {
	to := m.options.Batch
	if to < 1 {
		return
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		if in.Default || len(in.Shape) == 0 || in.Shape[0].Size < 1 || m.fixed > 0 && in.Shape[0].Size != m.fixed {
			continue
		}
		m.fixed = in.Shape[0].Size
		in.Shape = slices.Clone(in.Shape)
		in.Shape[0] = Dim{Size: to}
	}
	for i := range m.outputs {
		if out := &m.outputs[i]; len(out.Shape) > 0 && m.fixed > 0 && out.Shape[0].Size == m.fixed {
			out.Shape = slices.Clone(out.Shape)
			out.Shape[0] = Dim{Size: -1}
		}
	}
}

// rebatched returns the target shape of a reshape with its leading batch dimension replaced by Options.Batch, or nil when want
// does not begin with the batch that the model fixes.
func (m *Model) rebatched(want []int) []int {
	if m.fixed == 0 || len(want) == 0 || want[0] != m.fixed {
		return nil
	}
	other := slices.Clone(want)
	other[0] = m.options.Batch
	return other
}
