package bench

import "github.com/goburn/burn/core/op"

// plane is the geometry of a case on images [N, C, H, W].
type plane struct {
	name             string
	n, c, h, w       int // input
	out              int // output channels of a convolution
	kernel           int
	stride, pad      int
	groups, dilation int
}

func (p plane) pair(v int) []int { return []int{v, v} }

func convolutions() []Case {
	var cases []Case
	for _, p := range []plane{
		{"1x1", 1, 256, 56, 56, 64, 1, 1, 0, 1, 1}, {"1x1/s2", 1, 256, 56, 56, 512, 1, 2, 0, 1, 1},
		{"3x3", 1, 64, 56, 56, 64, 3, 1, 1, 1, 1}, {"3x3/deep", 1, 256, 14, 14, 256, 3, 1, 1, 1, 1}, {"3x3/batch8", 8, 32, 28, 28, 64, 3, 1, 1, 1, 1},
		{"3x3/s2", 1, 128, 56, 56, 128, 3, 2, 1, 1, 1}, {"3x3/dilated", 1, 64, 56, 56, 64, 3, 1, 2, 1, 2},
		{"5x5", 1, 32, 28, 28, 64, 5, 1, 2, 1, 1}, {"7x7/s2", 1, 3, 224, 224, 64, 7, 2, 3, 1, 1},
		{"depthwise3x3", 1, 144, 56, 56, 144, 3, 1, 1, 144, 1}, {"depthwise3x3/s2", 1, 96, 112, 112, 96, 3, 2, 1, 96, 1}, {"depthwise5x5", 1, 240, 28, 28, 240, 5, 1, 2, 240, 1},
		{"grouped3x3", 1, 128, 28, 28, 128, 3, 1, 1, 32, 1},
	} {
		c := of("conv", "conv/"+p.name, op.Conv, in(f32(p.n, p.c, p.h, p.w), f32(p.out, p.c/p.groups, p.kernel, p.kernel)),
			op.Ints("strides", p.pair(p.stride)...), op.Ints("pad_lo", p.pair(p.pad)...), op.Ints("pad_hi", p.pair(p.pad)...),
			op.Ints("kernel_dilation", p.pair(p.dilation)...), op.Ints("input_dilation", 1, 1), op.Int("groups", p.groups))
		c.Terms = products(c)
		cases = append(cases, c)
	}
	for _, p := range []plane{{"2x2/s2", 1, 128, 28, 28, 64, 2, 2, 0, 1, 1}, {"4x4/s2", 1, 64, 28, 28, 32, 4, 2, 1, 1, 1}} {
		c := of("conv", "conv_transpose/"+p.name, op.ConvTranspose, in(f32(p.n, p.c, p.h, p.w), f32(p.c, p.out, p.kernel, p.kernel)),
			op.Ints("strides", p.pair(p.stride)...), op.Ints("pad_lo", p.pair(p.pad)...), op.Ints("pad_hi", p.pair(p.pad)...),
			op.Ints("output_padding", 0, 0), op.Ints("dilation", 1, 1))
		c.Terms = int64(p.n*p.c*p.h*p.w) * int64(p.out*p.kernel*p.kernel)
		cases = append(cases, c)
	}
	line := of("conv", "conv1d/k9", op.Conv, in(f32(1, 64, 4096), f32(64, 64, 9)), op.Ints("strides", 1), op.Ints("pad_lo", 4), op.Ints("pad_hi", 4),
		op.Ints("kernel_dilation", 1), op.Ints("input_dilation", 1))
	line.Terms = products(line)
	return append(cases, line)
}

// products returns the number of multiplications of a convolution, including those with padding.
func products(c Case) int64 {
	n, err := c.Node(c.Descs())
	if err != nil {
		return 0 // the case returns the error when it runs
	}
	w := c.In[1].Shape
	return int64(n.Outputs[0].Shape.Size()) * int64(w.Size()/w[0])
}

func pooling() []Case {
	var cases []Case
	for _, p := range []plane{
		{"2x2/s2", 1, 64, 112, 112, 0, 2, 2, 0, 1, 1}, {"3x3/s2", 1, 64, 112, 112, 0, 3, 2, 1, 1, 1}, {"3x3/s1", 8, 64, 28, 28, 0, 3, 1, 1, 1, 1},
		{"3x3/s2/64MiB", 21, 64, 112, 112, 0, 3, 2, 1, 1, 1},
	} {
		window := []op.Attr{op.Ints("window", p.pair(p.kernel)...), op.Ints("strides", p.pair(p.stride)...), op.Ints("pad_lo", p.pair(p.pad)...),
			op.Ints("pad_hi", p.pair(p.pad)...), op.Ints("overhang", 0, 0), op.Ints("dilation", 1, 1)}
		x := in(f32(p.n, p.c, p.h, p.w))
		cases = append(cases, of("pool", "max_pool/"+p.name, op.MaxPool, x, window...), of("pool", "avg_pool/"+p.name, op.AvgPool, x, window...))
	}
	global := []op.Attr{op.Ints("window", 7, 7), op.Ints("strides", 7, 7), op.Ints("pad_lo", 0, 0), op.Ints("pad_hi", 0, 0), op.Ints("overhang", 0, 0), op.Ints("dilation", 1, 1)}
	return append(cases, of("pool", "avg_pool/global7x7", op.AvgPool, in(f32(1, 2048, 7, 7)), global...))
}
