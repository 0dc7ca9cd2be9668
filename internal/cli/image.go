package cli

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/imagein"
	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/model/onnx"
	"github.com/goburn/burn/model/onnx/onnxtest"
	"github.com/spf13/cobra"
)

// imageFlags tell how to convert an image to an input.
type imageFlags struct {
	resize    string
	layout    string // "", "auto", "NCHW", "NHWC"
	size      string // WxH
	mean, std []float32
	scale     float32 // 0 means 1 for floats and 255 for u8
	invert    bool
}

func (i *imageFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&i.resize, "resize", "", "`FILTER` for resizing images: catmullrom, bilinear or nearest (default catmullrom)")
	f.StringVar(&i.size, "size", "", "resize images to `WxH` (default: the model's size, else unchanged)")
	f.StringVar(&i.layout, "layout", "auto", "`LAYOUT` of images, NCHW or NHWC; auto: by the model's input shape")
	f.Float32Var(&i.scale, "scale", 0, "`VALUE` of white; black is 0 (default 1, for integer inputs 255)")
	f.BoolVar(&i.invert, "invert", false, "exchange black and white")
	f.Float32SliceVar(&i.mean, "mean", nil, "subtracted after --scale: one `NUMBER`, or one each channel: 0.485,0.456,0.406")
	f.Float32SliceVar(&i.std, "std", nil, "divided by after --mean: one `NUMBER`, or one each channel")
	f.Lookup("mean").DefValue, f.Lookup("std").DefValue = "", ""
	must(cmd.RegisterFlagCompletionFunc("resize", cobra.FixedCompletions([]string{"catmullrom", "bilinear", "nearest"}, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions([]string{"auto", "NCHW", "NHWC"}, cobra.ShellCompDirectiveNoFileComp)))
}

// frame describes the layout of an image in an input: the positions and sizes of height, width and channels among its dimensions.
type frame struct {
	layout   string
	channels int
	h, w     int // 0 if the model leaves them open
	rank     int
}

// takesImages reports whether the declaration of an input suits images. A matrix of open size may be something else.
func takesImages(in onnx.ValueInfo) bool {
	f, err := imageFlags{}.frame(in)
	return err == nil && (f.rank > 2 || f.h > 1 && f.w > 1)
}

// frame derives the layout from the declared shape: [N,C,H,W], [N,H,W,C], [C,H,W], [H,W,C] or [H,W], with C 1 or 3.
func (i imageFlags) frame(in onnx.ValueInfo) (frame, error) {
	if in.Kind != onnx.TensorKind || !in.Ranked {
		return frame{}, fmt.Errorf("the input is %s, want a tensor of 2 to 4 known dimensions for an image; give an .npy file", in.Type())
	}
	if !in.DType.IsFloat() && in.DType != dtype.U8 {
		return frame{}, fmt.Errorf("the input is %s, want floats or u8 for an image; give an .npy file", in.Type())
	}
	dims := make([]int, len(in.Shape)) // -1: open
	for k, d := range in.Shape {
		dims[k] = d.Size
	}
	f := frame{rank: len(dims)}
	if f.rank == 4 {
		if dims[0] > 1 || dims[0] == 0 {
			return f, fmt.Errorf("the input is %s, a batch of %d images; give an .npy file", in.Type(), dims[0])
		}
		dims = dims[1:]
	}
	open := func(n int) int { return max(n, 0) }
	colour := func(n int) bool { return n == 1 || n == 3 }
	switch {
	case len(dims) == 2 && f.rank == 2:
		f.layout, f.channels, f.h, f.w = "NCHW", 1, open(dims[0]), open(dims[1])
		return f, nil
	case len(dims) != 3:
		return f, fmt.Errorf("the input is %s, want 2 to 4 dimensions for an image; give an .npy file", in.Type())
	}
	first, last := colour(dims[0]), colour(dims[2])
	switch i.layout {
	case "", "auto":
		switch {
		case first:
			f.layout = "NCHW"
		case last:
			f.layout = "NHWC"
		default:
			return f, fmt.Errorf("the input is %s, which shows no dimension of 1 or 3 channels; give --layout, or an .npy file", in.Type())
		}
	case "NCHW", "NHWC":
		f.layout = i.layout
	default:
		return f, fmt.Errorf("--layout: want auto, NCHW or NHWC, got %q%s", i.layout, nearest.Hint(i.layout, []string{"auto", "NCHW", "NHWC"}))
	}
	c, h, w := dims[0], dims[1], dims[2]
	if f.layout == "NHWC" {
		h, w, c = dims[0], dims[1], dims[2]
	}
	if c == -1 {
		c = 3
	}
	if !colour(c) {
		return f, fmt.Errorf("the input is %s, want 1 or 3 channels for an image in %s; give an .npy file", in.Type(), f.layout)
	}
	f.channels, f.h, f.w = c, open(h), open(w)
	return f, nil
}

func (i imageFlags) read(in onnx.ValueInfo, file string) (onnxtest.Value, error) {
	f, err := i.frame(in)
	if err != nil {
		return onnxtest.Value{}, err
	}
	o := imagein.Options{Width: f.w, Height: f.h, Channels: f.channels, Layout: f.layout, Scale: i.scale, Mean: i.mean, Std: i.std,
		Invert: i.invert, Filter: i.resize}
	if i.size != "" {
		var w, h int
		if n, err := fmt.Sscanf(i.size, "%dx%d", &w, &h); err != nil || n != 2 || w < 1 || h < 1 {
			return onnxtest.Value{}, fmt.Errorf("--size: want WxH such as 224x224, got %q", i.size)
		}
		o.Width, o.Height = w, h
	}
	d := in.DType
	if i.scale == 0 && d.IsInt() {
		o.Scale = 255
	}
	r, err := os.Open(file)
	if err != nil {
		return onnxtest.Value{}, err
	}
	defer r.Close()
	pixels, dims, err := imagein.Load(r, o)
	if err != nil {
		return onnxtest.Value{}, err
	}
	switch f.rank {
	case 3:
		dims = dims[1:]
	case 2:
		dims = dims[2:]
	}
	data, err := convert(pixels, d)
	return onnxtest.Value{Tensor: onnxtest.Array{DType: d, Shape: shape.Shape(dims), Data: data}}, err
}

// convert converts pixels to the element type of the input.
func convert(pixels []float32, d dtype.DType) ([]byte, error) {
	switch d {
	case dtype.F32:
		return dtype.Bytes(pixels), nil
	case dtype.F64:
		return dtype.Bytes(each(pixels, func(f float32) float64 { return float64(f) })), nil
	case dtype.F16:
		return dtype.Bytes(each(pixels, dtype.ToFloat16)), nil
	case dtype.BF16:
		return dtype.Bytes(each(pixels, dtype.ToBFloat16)), nil
	case dtype.U8:
		for _, f := range pixels {
			if r := math.RoundToEven(float64(f)); r < 0 || r > 255 {
				return nil, fmt.Errorf("a pixel becomes %v, which u8 does not hold; see --scale, --mean and --std", f)
			}
		}
		return each(pixels, func(f float32) byte { return byte(math.RoundToEven(float64(f))) }), nil
	}
	return nil, errors.New("want an input of floats or u8 for an image")
}

func each[T any](in []float32, f func(float32) T) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}
