package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/nn"
	"github.com/goburn/burn/tensor"
)

func TestDropout(t *testing.T) {
	dev := open(t)
	dev.Seed(11)
	const n, p = 20000, 0.3
	x := dev.Ones(dtype.F32, n).RequireGrad()
	l := nn.NewDropout(p)
	y := l.Forward(x)
	v := floats(t, y)
	zeros := 0
	for _, e := range v {
		if e == 0 {
			zeros++
		} else {
			require.InDelta(t, 1/(1-p), e, 1e-6)
		}
	}
	require.InDelta(t, p, float64(zeros)/n, 4*math.Sqrt(p*(1-p)/n))
	g, err := y.Backward()
	require.NoError(t, err)
	require.Equal(t, v, floats(t, g.Of(x)), "the gradient has the same mask")
	require.NotEqual(t, v, floats(t, l.Forward(x)), "each call draws anew")
	dev.Seed(11)
	require.Equal(t, v, floats(t, l.Forward(x)))
	nn.Eval(l)
	require.Same(t, x, l.Forward(x))
	require.Error(t, tensor.Try(func() { nn.NewDropout(1) }))
}

func TestNoise(t *testing.T) {
	dev := open(t)
	dev.Seed(5)
	x := dev.Full(dtype.F32, 2, 10000)
	l := nn.NewGaussianNoise(0.5)
	mean, std, _, _ := moments(floats(t, l.Forward(x)))
	require.InDelta(t, 2, mean, 0.03)
	require.InDelta(t, 0.5, std, 0.02)
	nn.Eval(l)
	require.Same(t, x, l.Forward(x))
	r := nn.NewRRelu()
	v := floats(t, r.Forward(x.Neg()))
	mean, _, lo, hi := moments(v)
	require.InDelta(t, -2*(1.0/8+1.0/3)/2, mean, 0.01)
	require.True(t, lo >= -2.0/3-1e-6 && hi <= -0.25+1e-6)
	require.Equal(t, floats(t, x), floats(t, r.Forward(x)))
}

// On average, attention with dropout returns the same as attention without.
func TestAttentionDropout(t *testing.T) {
	dev := open(t)
	dev.Seed(2)
	l := nn.NewMultiHeadAttention(dev, 4, 2, nn.AttentionConfig{Dropout: 0.4})
	one := dev.Normal(dtype.F32, 0, 1, 1, 3, 4)
	x := one.Expand(4000, 3, 4)
	require.NotEqual(t, floats(t, l.Forward(x)), floats(t, l.Forward(x)))
	noisy := floats(t, l.Forward(x).Mean(0))
	nn.Eval(l)
	require.InDeltaSlice(t, floats(t, l.Forward(one)), noisy, 0.03)
}

// For a query that sees no key, the result is only the bias of the projection, also in training, and its gradient is finite. Such
// queries are common with left padding and causal attention.
func TestBlindQueries(t *testing.T) {
	dev := open(t)
	dev.Seed(8)
	l := nn.NewMultiHeadAttention(dev, 4, 2, nn.AttentionConfig{})
	l.OutProj.Bias.Set(tensor.From(dev, []float32{1, 2, 3, 4}, 4))
	x := dev.Normal(dtype.F32, 0, 1, 1, 3, 4).RequireGrad()
	o := nn.AttendOptions{KeyMask: tensor.From(dev, []bool{false, true, true}, 1, 3), Causal: true}
	train := l.Attend(x, x, x, o)
	v := floats(t, train)
	require.Equal(t, []float32{1, 2, 3, 4}, v[:4])
	g, err := train.Backward()
	require.NoError(t, err)
	for _, e := range floats(t, g.Of(x)) {
		require.False(t, math.IsNaN(float64(e)))
	}
	nn.Eval(l)
	require.InDeltaSlice(t, v, floats(t, l.Attend(x, x, x, o)), 1e-6)
}

// A query whose mask of floats is -Inf for every key results in 0 (docs/OPS.md, attention), in training with dropout as in inference, also
// where a key mask or causal masking hides the keys that the floats leave.
func TestMaskOfFloatsHidesAllKeys(t *testing.T) {
	dev := open(t)
	hide := float32(math.Inf(-1))
	mask := tensor.From(dev, []float32{hide, hide, hide, 0, hide, hide, 0, hide, 0.5, hide, hide, 0}, 4, 3) // of queries 0 to 3
	keys := tensor.From(dev, []bool{false, true, true}, 1, 3)
	for _, c := range []struct {
		say  string
		o    nn.AttendOptions
		zero []bool // by query
	}{
		{"mask", nn.AttendOptions{Mask: mask}, []bool{true, false, false, false}},
		{"mask and key mask", nn.AttendOptions{Mask: mask, KeyMask: keys}, []bool{true, true, false, false}},
		{"mask and causal", nn.AttendOptions{Mask: mask.Narrow(0, 0, 3), Causal: true}, []bool{true, false, false}},
		{"later keys and causal", nn.AttendOptions{Mask: tensor.From(dev, []float32{hide, 0, hide, hide, hide, 0, 0, hide, hide}, 3, 3), Causal: true}, []bool{true, true, false}},
	} {
		l := nn.NewMultiHeadAttention(dev, 2, 1, nn.AttentionConfig{Dropout: 1e-9, Init: nn.Ones()})
		q := dev.Ones(dtype.F32, 1, len(c.zero), 2).RequireGrad()
		k := tensor.From(dev, []float32{1, 2, 3, 4, 5, 6}, 1, 3, 2)
		y := l.Attend(q, k, k, c.o)
		v := floats(t, y)
		for i, zero := range c.zero {
			require.Equal(t, zero, v[2*i] == 0 && v[2*i+1] == 0, "%s: query %d gives %v", c.say, i, v)
		}
		g, err := y.Sum().Backward()
		require.NoError(t, err)
		for _, e := range floats(t, g.Of(q)) {
			require.False(t, math.IsNaN(float64(e)), c.say)
		}
		nn.Eval(l)
		require.InDeltaSlice(t, v, floats(t, l.Attend(q, k, k, c.o)), 1e-5, c.say)
	}
}

// The weights of quiet softmax sum to less than one: exp(s)/(1+Σexp(s)).
func TestQuietAttention(t *testing.T) {
	dev := open(t)
	l := nn.NewMultiHeadAttention(dev, 2, 1, nn.AttentionConfig{Quiet: true, Init: nn.Zeros()})
	w := floats(t, l.Weights(dev.Ones(dtype.F32, 1, 1, 2), dev.Ones(dtype.F32, 1, 3, 2), nn.AttendOptions{}))
	require.InDeltaSlice(t, []float32{0.25, 0.25, 0.25}, w, 1e-6, "all scores are 0")
}

// Decoding step by step with a cache computes the same as one causal pass.
func TestCaches(t *testing.T) {
	t.Run("training", func(t *testing.T) { testCaches(t, nn.Train) })
	t.Run("inference", func(t *testing.T) { testCaches(t, nn.Eval) })
}

func testCaches(t *testing.T, mode func(m any)) {
	dev := open(t)
	dev.Seed(3)
	c := nn.TransformerConfig{FeedForward: 8, NormFirst: true, FinalNorm: true}
	enc, dec := nn.NewTransformerEncoder(dev, 2, 6, 2, c), nn.NewTransformerDecoder(dev, 2, 6, 3, c)
	x, memory := dev.Normal(dtype.F32, 0, 1, 2, 5, 6), dev.Normal(dtype.F32, 0, 1, 2, 4, 6)
	cross := nn.NewCrossAttention(dev, 6, 6, 2, nn.AttentionConfig{KVHeads: 1})
	causal := nn.AttendOptions{Causal: true}
	mode([]any{enc, dec, cross})
	want := [][]float32{floats(t, enc.Encode(x, causal, nil)), floats(t, dec.Forward(x, memory, nn.DecodeOptions{Target: causal})),
		floats(t, cross.Attend(x, memory, nn.AttendOptions{}))}
	var ec nn.EncoderCache
	var dc nn.DecoderCache
	var kc nn.KVCache
	for range 2 { // a cache can be used again after Reset
		var parts [3][]tt
		at := 0
		for _, n := range []int{2, 1, 2} {
			step := x.Narrow(1, at, n)
			tensor.Scope(dev, func(d *tensor.Device) []tt { // caches outlive the scopes of steps
				s := step.In(d)
				y := []tt{enc.Encode(s, nn.AttendOptions{}, &ec), dec.Forward(s, memory, nn.DecodeOptions{Cache: &dc}),
					cross.Attend(s, memory, nn.AttendOptions{Cache: &kc})}
				for i := range y {
					parts[i] = append(parts[i], y[i])
				}
				return y
			})
			at += n
			require.Equal(t, []int{at, at, 4}, []int{ec.Len(), dc.Len(), kc.Len()})
		}
		for i, p := range parts {
			require.InDeltaSlice(t, want[i], floats(t, tensor.Concat(1, p...)), 1e-5)
		}
		ec.Reset()
		dc.Reset()
		kc.Reset()
		require.Zero(t, ec.Len()+dc.Len()+kc.Len())
	}
}

// A cache returns the concatenation of all keys and values, however often it grows, and decoding with it computes the same as one
// pass.
func TestCacheGrows(t *testing.T) {
	dev := open(t)
	dev.Seed(5)
	l := nn.NewMultiHeadAttention(dev, 8, 2, nn.AttentionConfig{})
	nn.Eval(l)
	x := dev.Normal(dtype.F32, 0, 1, 2, 23, 8)
	whole := floats(t, l.Attend(x, x, x, nn.AttendOptions{Causal: true}))
	var c nn.KVCache
	var parts []tt
	at := 0
	for _, n := range []int{1, 1, 1, 1, 3, 1, 8, 1, 1, 5} {
		seen, step := x.Narrow(1, 0, at+n), x.Narrow(1, at, n)
		y := l.Attend(step, step, step, nn.AttendOptions{Causal: true, Cache: &c})
		at += n
		require.Equal(t, at, c.Len())
		joined := l.Attend(step, seen, seen, nn.AttendOptions{Mask: dev.TrilMask(at-n, n, at)})
		require.InDeltaSlice(t, floats(t, joined), floats(t, y), 1e-6, "%d of %d", n, at)
		parts = append(parts, y)
	}
	require.Equal(t, 23, at)
	require.InDeltaSlice(t, whole, floats(t, tensor.Concat(1, parts...)), 1e-5)
}

// Positions are encoded as in the paper, and rotation equals a product of complex numbers.
func TestPositions(t *testing.T) {
	dev := open(t)
	const size = 6
	p := nn.NewPositionalEncoding(dev, size, nn.PositionConfig{MaxLength: 20})
	for i, v := range floats(t, p.From(dev.Zeros(dtype.F32, 1, 4, size), 10)) {
		pos, k := float64(10+i/size), i%size
		angle := pos / math.Pow(10000, float64(k/2*2)/size)
		want := math.Sin(angle)
		if k%2 == 1 {
			want = math.Cos(angle)
		}
		require.InDelta(t, want, v, 1e-6)
	}
	require.Error(t, tensor.Try(func() { p.From(dev.Zeros(dtype.F32, 1, 4, size), 17) }))
	x := floats(t, dev.Normal(dtype.F32, 0, 1, 3*size))
	for _, c := range []struct {
		near   bool
		stride int
	}{{true, 1}, {false, size / 2}} {
		r := nn.NewRotaryEncoding(dev, size, nn.PositionConfig{MaxLength: 8, Base: 100, Interleaved: c.near, Scale: func(f float64) float64 { return f / 2 }})
		y := floats(t, r.From(tensor.From(dev, x, 1, 3, size), 2))
		for s := range 3 {
			for i := range size / 2 {
				a, b := s*size+i, s*size+i+c.stride
				if c.near {
					a, b = s*size+2*i, s*size+2*i+1
				}
				sin, cos := math.Sincos(float64(s+2) * math.Pow(100, -2*float64(i)/size) / 2)
				require.InDelta(t, float64(x[a])*cos-float64(x[b])*sin, y[a], 1e-5)
				require.InDelta(t, float64(x[a])*sin+float64(x[b])*cos, y[b], 1e-5)
			}
		}
	}
}

func TestActivationNames(t *testing.T) {
	dev := open(t)
	x := dev.Normal(dtype.F32, 0, 1, 3, 4)
	for _, a := range nn.Activations() {
		require.NotNil(t, a.New().Forward(x), a)
	}
	require.ErrorContains(t, tensor.Try(func() { nn.Activation("swoosh").New() }), "one of [")
}

func TestFaults(t *testing.T) {
	dev := open(t)
	for name, f := range map[string]func(){
		"size":        func() { nn.NewLinear(dev, 0, 3, nn.LinearConfig{}) },
		"groups":      func() { nn.NewConv2d(dev, 3, 4, [2]int{1, 1}, nn.ConvConfig{Groups: 2}) },
		"stride":      func() { nn.NewConv2d(dev, 3, 4, [2]int{1, 1}, nn.ConvConfig{Stride: ints(1, 2, 3)}) },
		"heads":       func() { nn.NewMultiHeadAttention(dev, 4, 3, nn.AttentionConfig{}) },
		"batch":       func() { nn.NewBatchNorm(dev, 2, nn.BatchNormConfig{}).Forward(dev.Ones(dtype.F32, 1, 2)) },
		"padding":     func() { nn.NewEmbedding(dev, 3, 2, nn.EmbeddingConfig{Padding: ptr(3)}) },
		"odd":         func() { nn.NewRotaryEncoding(dev, 3, nn.PositionConfig{}) },
		"interpolate": func() { nn.NewInterpolate2d(nn.InterpolateConfig{}) },
		"recurrent":   func() { nn.NewGru(dev, 3, 4, nn.RecurrentConfig{}).Forward(dev.Ones(dtype.F32, 1, 2, 4), nil) },
		"rank":        func() { nn.NewMultiHeadAttention(dev, 4, 2, nn.AttentionConfig{}).Forward(dev.Ones(dtype.F32, 3, 4)) },
		"reduction":   func() { nn.LpLoss{P: 3, Reduction: "most"}.Forward(dev.Ones(dtype.F32, 2), dev.Ones(dtype.F32, 2)) },
		"truncated":   func() { nn.TruncatedNormal(0, 1, 1, 0) },
	} {
		var e *tensor.Error
		require.ErrorAs(t, tensor.Try(f), &e, name)
	}
}

func TestKeyMaskIsBool(t *testing.T) {
	dev := open(t)
	l := nn.NewMultiHeadAttention(dev, 4, 2, nn.AttentionConfig{})
	x := dev.Ones(dtype.F32, 1, 3, 4)
	err := tensor.Try(func() { l.Attend(x, x, x, nn.AttendOptions{KeyMask: dev.Ones(dtype.F32, 1, 3)}) })
	require.ErrorIs(t, err, core.ErrDType)
	require.ErrorContains(t, err, "true where a key is seen")
}
