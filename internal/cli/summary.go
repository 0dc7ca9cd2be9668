package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/internal/plain"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/goburn/burn/tensor"
)

// An output of up to small elements is printed in full; of a longer one, shown elements are printed.
const (
	small = 32
	shown = 6
)

// outputInfo is one output, or one tensor of a sequence output, in JSON output.
type outputInfo struct {
	Name   string       `json:"name"`
	Kind   string       `json:"kind"` // tensor, sequence, optional
	DType  string       `json:"dtype,omitempty"`
	Shape  []int        `json:"shape,omitempty"`
	Stats  *stats       `json:"stats,omitempty"`
	Values any          `json:"values,omitempty"` // all of a small tensor, in row-major order, else the first ones
	Elems  []outputInfo `json:"elements,omitempty"`
	File   string       `json:"file,omitempty"`
	Top    []topRow     `json:"top,omitempty"`
}

// stats covers the elements that are not NaN; NaN counts the others.
type stats struct {
	Min  number `json:"min"`
	Max  number `json:"max"`
	Mean number `json:"mean"`
	NaN  int    `json:"nan,omitempty"`
}

func statsOf(a onnxtest.Array) *stats {
	v := tensor.Float64s(a.DType, a.Data)
	s := stats{Min: number(math.Inf(1)), Max: number(math.Inf(-1))}
	sum, n := 0.0, 0
	for _, f := range v {
		if math.IsNaN(f) {
			s.NaN++
			continue
		}
		s.Min, s.Max = min(s.Min, number(f)), max(s.Max, number(f))
		sum += f
		n++
	}
	if n == 0 {
		return nil
	}
	s.Mean = number(sum / float64(n))
	return &s
}

// infoOf returns an output with a summary of its elements.
func infoOf(name string, v onnxtest.Value) outputInfo {
	return describe(name, v, func(o *outputInfo, a onnxtest.Array) {
		o.Stats = statsOf(a)
		n := a.Shape.Size()
		if n > small {
			n = shown
		}
		o.Values = firstValues(a, n)
	})
}

// describe returns an output. elements adds the requested data to each of its tensors.
func describe(name string, v onnxtest.Value, elements func(o *outputInfo, a onnxtest.Array)) outputInfo {
	o := outputInfo{Name: name}
	switch v.Kind {
	case onnxtest.Tensor:
		o.Kind, o.DType, o.Shape = "tensor", v.Tensor.DType.String(), append([]int{}, v.Tensor.Shape...)
		elements(&o, v.Tensor)
		return o
	case onnxtest.Sequence:
		o.Kind = "sequence"
	default:
		o.Kind = "optional"
	}
	for i, e := range v.Elems {
		o.Elems = append(o.Elems, describe(elemName(name, v, i), e, elements))
	}
	return o
}

// elemName names a tensor inside an output: "y[2]" in a sequence, "y" in an optional.
func elemName(name string, v onnxtest.Value, i int) string {
	if v.Kind == onnxtest.Sequence {
		return fmt.Sprintf("%s[%d]", name, i)
	}
	return name
}

func firstValues(a onnxtest.Array, n int) any {
	data := a.Data[:n*a.DType.Size()]
	switch {
	case a.DType == dtype.Bool:
		return append([]bool{}, dtype.Slice[bool](data)...)
	case a.DType == dtype.U64:
		return append([]uint64{}, dtype.Slice[uint64](data)...)
	case a.DType.IsInt():
		return append([]int64{}, tensor.Int64s(a.DType, data)...)
	}
	out := make([]number, 0, n)
	for _, f := range tensor.Float64s(a.DType, data) {
		out = append(out, number(f))
	}
	return out
}

// summarize prints an output: type and range on one line, elements below.
func summarize(w io.Writer, name string, v onnxtest.Value) {
	if v.Kind != onnxtest.Tensor {
		plain.Fprintf(w, "%s  %v\n", name, v)
		for i, e := range v.Elems {
			summarize(w, elemName(name, v, i), e)
		}
		return
	}
	a := v.Tensor
	plain.Fprintf(w, "%s  %v", name, a)
	n := a.Shape.Size()
	if s := statsOf(a); s != nil && a.DType != dtype.Bool && n > 1 {
		plain.Fprintf(w, "  min %s  max %s  mean %s", short(s.Min), short(s.Max), short(s.Mean))
		if s.NaN > 0 {
			plain.Fprintf(w, "  nan %d", s.NaN)
		}
	} else if n > 1 && s == nil {
		fmt.Fprint(w, "  all nan")
	}
	if n <= small {
		text := tensor.Elements(a.DType, a.Shape, a.Data, tensor.PrintOptions{})
		// Elements aligns continuation lines with the text "tensor(".
		text = strings.ReplaceAll(text, "\n"+strings.Repeat(" ", len("tensor(")), "\n")
		fmt.Fprintf(w, "\n  %s\n", strings.ReplaceAll(text, "\n", "\n  "))
		return
	}
	first := onnxtest.Array{DType: a.DType, Shape: []int{shown}, Data: a.Data[:shown*a.DType.Size()]}
	text := tensor.Elements(first.DType, first.Shape, first.Data, tensor.PrintOptions{})
	plain.Fprintf(w, "\n  %s, %d more\n", strings.TrimSuffix(text, "]")+", ...]", n-shown)
}

// short formats a number with five digits.
func short(n number) string { return strconv.FormatFloat(float64(n), 'g', 5, 64) }
