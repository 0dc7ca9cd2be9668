package nv

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/goburn/burn/sdk/gpu/vendor"
)

// savedPlan is the first line of a saved plan: the version of cuDNN, the engine, and whether it writes itself into a CUDA graph.
const savedPlan = "cuDNN plan 1: %d %d %t\n"

// planText is the attribute of a plan that contains the plan as text, followed by a zero byte.
const planText = 405

// Save returns the plan with the code of its kernels, for LoadPlan. The error is ErrUnsupported for engines that cannot be saved.
func (p *Plan) Save() ([]byte, error) {
	h := p.h
	n, err := h.get(p.plan, planText, typeChar, 0, nil)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, &Error{Library: dnnName, Call: "save", Kind: ErrUnsupported, Text: "the plan has no text"}
	}
	text := make([]byte, n)
	if n, err = h.get(p.plan, planText, typeChar, n, unsafe.Pointer(&text[0])); err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, savedPlan, h.dnn.Version, p.Engine, p.NativeGraph), vendor.UpToZero(text[:min(n, len(text))])...), nil
}

// LoadPlan creates a plan from the result of Save, in a few milliseconds; compiling an engine takes most of a second. Tensors have the
// numbers that they had in the graph of the saved plan. The error is ErrUnsupported for a plan of another version of cuDNN or of another kind
// of device, and for bytes that Save did not return. The plan has no Notes.
func (h *DNNHandle) LoadPlan(saved []byte) (*Plan, error) {
	p := &Plan{h: h}
	head, text, _ := bytes.Cut(saved, []byte("\n"))
	var version int
	if _, err := fmt.Sscanf(string(head)+"\n", savedPlan, &version, &p.Engine, &p.NativeGraph); err != nil || version != h.dnn.Version || len(text) == 0 {
		return nil, &Error{Library: dnnName, Call: "load", Kind: ErrUnsupported, Text: "no plan of this version"}
	}
	p.NativeGraph = p.NativeGraph && h.dnn.c.populate.There()
	text = append(text[:len(text):len(text)], 0)
	err := p.finalize(func(d descriptor) error {
		return h.set(d, planText, typeChar, len(text), unsafe.Pointer(&text[0]))
	})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}
