//go:build js && wasm

package main

import (
	"fmt"
	"syscall/js"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/model/onnx"
)

// options are the options of burn.run.
type options struct {
	invert, softmax bool
	mean, std       []float32
	labels          []string
	top             int
}

func optionsOf(v js.Value) options {
	o := options{top: 10}
	if v.Type() != js.TypeObject {
		return o
	}
	o.invert, o.softmax = v.Get("invert").Truthy(), v.Get("softmax").Truthy()
	o.mean, o.std = numbers(v.Get("mean")), numbers(v.Get("std"))
	if n := v.Get("top"); n.Type() == js.TypeNumber && n.Int() > 0 {
		o.top = n.Int()
	}
	if l := v.Get("labels"); l.Type() == js.TypeObject {
		for i := range l.Length() {
			o.labels = append(o.labels, l.Index(i).String())
		}
	}
	return o
}

func numbers(v js.Value) []float32 {
	if v.Type() != js.TypeObject {
		return nil
	}
	out := make([]float32, v.Length())
	for i := range out {
		out[i] = float32(v.Index(i).Float())
	}
	return out
}

// frame describes the layout and size of an image in an input.
type frame struct {
	layout         string
	channels, h, w int // sizes are 0 if the model leaves them open
}

// frameOf derives the layout from the declared shape: [1,C,H,W] or [1,H,W,C] of f32, with C 1 or 3.
func frameOf(in onnx.ValueInfo) (frame, error) {
	fault := fmt.Errorf("the input is %s: the page takes models of images, f32 [1,C,H,W] or [1,H,W,C] with 1 or 3 channels", in)
	if in.Kind != onnx.TensorKind || in.DType != dtype.F32 || !in.Ranked || len(in.Shape) != 4 || in.Shape[0].Size > 1 {
		return frame{}, fault
	}
	at := func(i int) int { return max(in.Shape[i].Size, 0) } // -1: open
	switch {
	case at(1) == 1 || at(1) == 3:
		return frame{"NCHW", at(1), at(2), at(3)}, nil
	case at(3) == 1 || at(3) == 3:
		return frame{"NHWC", at(3), at(1), at(2)}, nil
	}
	return frame{}, fault
}
