package optim

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/core/program"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/tensor"
)

// programs caches compiled steps. They are few: each set of parameters has one program. All are for one device, and are dropped
// when another device is used, for example after a backend was lost.
type programs struct {
	on   core.Device
	made map[string]*tensor.Executable
}

// maxPrograms is the greatest number of cached programs; beyond it, all are dropped.
const maxPrograms = 16

// get returns the program for key on d. If there is none, get compiles it from the nodes that build records and the outputs that build
// returns.
func (ps *programs) get(d *tensor.Device, name string, key []byte, inputs []op.Desc, build func(b *body, in []op.Desc) ([]op.Desc, error)) (*tensor.Executable, error) {
	if ps.on != d.Core() {
		for _, e := range ps.made {
			_ = e.Close() // the device may be gone
		}
		ps.on, ps.made = d.Core(), nil
	}
	if e := ps.made[string(key)]; e != nil {
		return e, nil
	}
	if len(ps.made) >= maxPrograms {
		for _, e := range ps.made {
			if err := e.Close(); err != nil {
				return nil, fmt.Errorf("optim: %w", err)
			}
		}
		ps.made = nil
	}
	p := &program.Program{Name: name}
	last := op.TensorID(0)
	next := func() op.TensorID { last++; return last }
	for _, in := range inputs {
		in.ID = next()
		p.Inputs = append(p.Inputs, in)
	}
	b := &body{op.NewBuilder(next), map[constant]op.Desc{}}
	outs, err := build(b, p.Inputs)
	if err == nil {
		err = b.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("optim: %s: %w", name, err)
	}
	p.Nodes = b.Nodes
	for _, o := range outs {
		p.Outputs = append(p.Outputs, o.ID)
	}
	e, err := d.Compile(context.Background(), p, nil)
	if err != nil {
		return nil, fmt.Errorf("optim: %s: %w", name, err)
	}
	if ps.made == nil {
		ps.made = map[string]*tensor.Executable{}
	}
	ps.made[string(key)] = e
	return e, nil
}

// apply runs e on the queue of d without recording it for gradients. Unless it returns an error, the inputs that give selects become
// invalid: they are donated or, if they occur more than once, released.
func apply(d *tensor.Device, e *tensor.Executable, inputs []*tensor.Tensor, give []bool) (outs []*tensor.Tensor, err error) {
	count := make(map[op.TensorID]int, len(inputs))
	for _, t := range inputs {
		count[t.Desc().ID]++
	}
	donated := make([]bool, len(inputs))
	for i, t := range inputs {
		donated[i] = give[i] && count[t.Desc().ID] == 1
	}
	tensor.NoGrad(d, func(d *tensor.Device) []*tensor.Tensor {
		outs, err = e.RunOn(d, inputs, donated)
		return outs
	})
	if err != nil {
		return nil, err
	}
	for i, t := range inputs {
		if give[i] {
			t.Release()
		}
	}
	return outs, nil
}

// appendKey appends the properties of a tensor that a program depends on.
func appendKey(key []byte, d dtype.DType, s shape.Shape, more int) []byte {
	key = append(key, byte(d), byte(len(s)))
	for _, n := range s {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return binary.AppendUvarint(key, uint64(more))
}

// numbers uploads v as a vector of type dt, which is f32 or f64.
func numbers(d *tensor.Device, dt dtype.DType, v []float64) *tensor.Tensor {
	if dt == dtype.F64 {
		return tensor.From(d, v)
	}
	w := make([]float32, len(v))
	for i, x := range v {
		w[i] = float32(x)
	}
	return tensor.From(d, w)
}

// release releases all of ts except those in kept.
func release(ts []*tensor.Tensor, kept ...*tensor.Tensor) {
	for _, t := range ts {
		if t != nil && !slices.Contains(kept, t) {
			t.Release()
		}
	}
}
