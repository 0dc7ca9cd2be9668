package imagein

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func encode(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func load(t *testing.T, file []byte, o Options) ([]float32, []int) {
	t.Helper()
	data, shape, err := Load(bytes.NewReader(file), o)
	require.NoError(t, err)
	return data, shape
}

// pixels returns a row of pixels with straight alpha.
func pixels(cs ...color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, len(cs), 1))
	for x, c := range cs {
		img.SetNRGBA(x, 0, c)
	}
	return img
}

func grey(w int, vs ...uint8) *image.Gray {
	return &image.Gray{Pix: vs, Stride: w, Rect: image.Rect(0, 0, w, len(vs)/w)}
}

func TestLayoutAndColour(t *testing.T) {
	two := encode(t, pixels(color.NRGBA{10, 20, 30, 255}, color.NRGBA{40, 50, 60, 255}))
	for _, c := range []struct {
		o     Options
		want  []float32
		shape []int
	}{
		{Options{Scale: 255}, []float32{10, 40, 20, 50, 30, 60}, []int{1, 3, 1, 2}},
		{Options{Scale: 255, Channels: 3, Layout: "NCHW"}, []float32{10, 40, 20, 50, 30, 60}, []int{1, 3, 1, 2}},
		{Options{Scale: 255, Layout: "NHWC"}, []float32{10, 20, 30, 40, 50, 60}, []int{1, 1, 2, 3}},
		// 0.299*10 + 0.587*20 + 0.114*30 = 18.15; the other pixel is 30 more.
		{Options{Scale: 255, Channels: 1}, []float32{18, 48}, []int{1, 1, 1, 2}},
		{Options{Scale: 255, Channels: 1, Layout: "NHWC"}, []float32{18, 48}, []int{1, 1, 2, 1}},
		{Options{Scale: 255, Channels: 1, Invert: true}, []float32{237, 207}, []int{1, 1, 1, 2}},
		{Options{Scale: 255, Mean: []float32{10, 20, 30}, Std: []float32{1, 2, 4}, Layout: "NHWC"},
			[]float32{0, 0, 0, 30, 15, 7.5}, []int{1, 1, 2, 3}},
		{Options{Scale: 255, Mean: []float32{10}, Std: []float32{2}, Layout: "NHWC"},
			[]float32{0, 5, 10, 15, 20, 25}, []int{1, 1, 2, 3}},
		{Options{Scale: 255, Mean: []float32{5}, Channels: 1, Invert: true}, []float32{232, 202}, []int{1, 1, 1, 2}},
		{Options{Layout: "NHWC"}, []float32{10. / 255, 20. / 255, 30. / 255, 40. / 255, 50. / 255, 60. / 255}, []int{1, 1, 2, 3}},
	} {
		data, shape := load(t, two, c.o)
		require.Equal(t, c.want, data, "%+v", c.o)
		require.Equal(t, c.shape, shape)
	}
}

func TestGreyLevelsAreExact(t *testing.T) {
	all := make([]uint8, 256)
	for i := range all {
		all[i] = uint8(i)
	}
	file := encode(t, grey(16, all...))
	as255, shape := load(t, file, Options{Channels: 1, Scale: 255})
	require.Equal(t, []int{1, 1, 16, 16}, shape)
	as1, _ := load(t, file, Options{Channels: 1})
	for i := range all {
		require.Equal(t, float32(i), as255[i])
		require.Equal(t, float32(i)/255, as1[i])
	}
}

func TestAlphaOverWhite(t *testing.T) {
	file := encode(t, pixels(color.NRGBA{0, 0, 0, 0}, color.NRGBA{200, 100, 0, 255}, color.NRGBA{0, 0, 0, 128},
		color.NRGBA{255, 0, 0, 51}))
	data, _ := load(t, file, Options{Scale: 255, Layout: "NHWC"})
	// Half-transparent black: 255*(1-128/255) = 127. Red with an alpha of a fifth: red stays 255, the others are 255*0.8 = 204.
	require.InDeltaSlice(t, []float32{255, 255, 255, 200, 100, 0, 127, 127, 127, 255, 204, 204}, data, 1)
	require.Equal(t, []float32{255, 255, 255, 200, 100, 0}, data[:6])
}

func TestOtherPNGKinds(t *testing.T) {
	pal := image.NewPaletted(image.Rect(0, 0, 2, 1), color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{9, 9, 9, 0}})
	pal.SetColorIndex(1, 0, 1)
	data, _ := load(t, encode(t, pal), Options{Scale: 255, Layout: "NHWC"})
	require.Equal(t, []float32{1, 2, 3, 255, 255, 255}, data)

	g16 := image.NewGray16(image.Rect(5, 5, 6, 6)) // bounds that do not start at zero
	g16.SetGray16(5, 5, color.Gray16{0x8000})
	data, _ = load(t, encode(t, g16), Options{Scale: 255, Channels: 1})
	require.Equal(t, []float32{128}, data)
}

func TestNearest(t *testing.T) {
	file := encode(t, grey(2, 10, 20, 30, 40))
	data, shape := load(t, file, Options{Scale: 255, Channels: 1, Width: 4, Height: 2, Filter: "nearest"})
	require.Equal(t, []int{1, 1, 2, 4}, shape)
	require.Equal(t, []float32{10, 10, 20, 20, 30, 30, 40, 40}, data)
	data, shape = load(t, file, Options{Scale: 255, Channels: 1, Height: 1, Width: 2, Filter: "nearest"})
	require.Equal(t, []int{1, 1, 1, 2}, shape)
	require.Equal(t, []float32{30, 40}, data)
	data, shape = load(t, file, Options{Scale: 255, Channels: 1, Height: 4, Filter: "nearest"}) // width kept
	require.Equal(t, []int{1, 1, 4, 2}, shape)
	require.Equal(t, []float32{10, 20, 10, 20, 30, 40, 30, 40}, data)
}

// TestBilinear doubles a row: the sample points are a quarter of a pixel from the centres.
func TestBilinear(t *testing.T) {
	file := encode(t, grey(2, 100, 200, 100, 200))
	data, _ := load(t, file, Options{Scale: 255, Channels: 1, Width: 4, Height: 2, Filter: "bilinear"})
	require.InDeltaSlice(t, []float32{100, 125, 175, 200, 100, 125, 175, 200}, data, 1)
}

// TestCatmullRom compares with the textbook formula of the filter, whose kernel is widened when the image shrinks.
func TestCatmullRom(t *testing.T) {
	kernel := func(x float64) float64 {
		switch x = math.Abs(x); {
		case x < 1:
			return (3*x*x*x - 5*x*x + 2) / 2
		case x < 2:
			return (-x*x*x + 5*x*x - 8*x + 4) / 2
		}
		return 0
	}
	src := []uint8{90, 100, 140, 160, 120, 130, 150, 110, 100, 105, 170, 90}
	for _, n := range []int{3, 5, 6, 12, 17, 24} {
		step := float64(len(src)) / float64(n)
		wide := max(step, 1)
		want := make([]float32, n)
		for i := range want {
			var sum, weights float64
			for j, v := range src {
				k := kernel((float64(j) + 0.5 - (float64(i)+0.5)*step) / wide)
				sum, weights = sum+k*float64(v), weights+k
			}
			want[i] = float32(sum / weights)
		}
		for _, filter := range []string{"", "catmullrom"} {
			data, _ := load(t, encode(t, grey(12, src...)), Options{Scale: 255, Channels: 1, Width: n, Filter: filter})
			require.InDeltaSlice(t, want, data, 1.01, "%d", n)
		}
	}
}

func TestJPEG(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 32, 16))
	for i := 0; i < len(img.Pix); i += 4 {
		copy(img.Pix[i:], []uint8{200, 60, 30, 255})
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, &jpeg.Options{Quality: 95}))
	// A reader that returns one byte at a time, as a pipe may.
	data, shape, err := Load(iotest.OneByteReader(&b), Options{Width: 8, Height: 8, Scale: 255})
	require.NoError(t, err)
	require.Equal(t, []int{1, 3, 8, 8}, shape)
	for i, v := range data {
		require.InDelta(t, []float32{200, 60, 30}[i/64], v, 4)
	}
}

// claim returns a PNG that ends after a header with this size.
func claim(w, h uint32) []byte {
	head := binary.BigEndian.AppendUint32([]byte("IHDR"), w)
	head = binary.BigEndian.AppendUint32(head, h)
	head = append(head, 8, 2, 0, 0, 0)
	out := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	out = append(out, head...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(head))
}

func TestErrors(t *testing.T) {
	good := encode(t, grey(2, 1, 2, 3, 4))
	tall := encode(t, grey(1, make([]uint8, 4096)...))
	for _, c := range []struct {
		in   []byte
		o    Options
		want string
	}{
		{nil, Options{}, `imagein: want a PNG, JPEG or WebP file, got one that starts with ""`},
		{[]byte("GIF89a and so on"), Options{}, `imagein: want a PNG, JPEG or WebP file, got one that starts with "GIF89a a"`},
		{good[:20], Options{}, "imagein: png: unexpected EOF"},
		{good[:len(good)-20], Options{}, "imagein: png: "},
		{[]byte("\xff\xd8\xff"), Options{}, "imagein: jpeg: "},
		{claim(1<<20, 1<<20), Options{}, "imagein: png: 1048576x1048576 pixels, want 1 to 67108864 in all, 65535 a side"},
		{claim(1<<16, 1), Options{}, "imagein: png: 65536x1 pixels, want 1 to 67108864 in all, 65535 a side"},
		{claim(0, 5), Options{}, "imagein: png: "},
		{good, Options{Width: -1}, "imagein: size: want at most 67108864 pixels, got -1x0"},
		{good, Options{Width: 1 << 20, Height: 1 << 20}, "imagein: size: "},
		{good, Options{Width: 1 << 16}, "imagein: size: want at most 67108864 pixels, got 65536x0"},
		{tall, Options{Width: 1 << 15, Filter: "nearest"}, "imagein: size: want at most 67108864 pixels, got 32768x4096"},
		{tall, Options{Width: 1 << 13, Height: 1}, "imagein: catmullrom from 1x4096 to 8192x1 needs too much memory, want bilinear"},
		{good, Options{Channels: 2}, "imagein: channels: want 1 or 3, got 2"},
		{good, Options{Layout: "CHW"}, `imagein: layout: want NCHW or NHWC, got "CHW"`},
		{good, Options{Scale: -1}, "imagein: scale: want a positive number, got -1"},
		{good, Options{Scale: float32(math.NaN())}, "imagein: scale: want a positive number, got NaN"},
		{good, Options{Mean: []float32{1, 2}}, "imagein: mean: want 1 or 3 values, got 2"},
		{good, Options{Mean: []float32{float32(math.Inf(1))}}, "imagein: mean: value 0 is +Inf"},
		{good, Options{Std: []float32{1, 0, 1}}, "imagein: std: value 1 is 0"},
		{good, Options{Filter: "lanczos"}, `imagein: filter: want catmullrom, bilinear or nearest, got "lanczos"`},
	} {
		_, _, err := Load(bytes.NewReader(c.in), c.o)
		require.ErrorContains(t, err, c.want)
	}
	_, _, err := Load(iotest.ErrReader(io.ErrClosedPipe), Options{})
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func FuzzLoad(f *testing.F) {
	f.Add(encode(f, grey(2, 1, 2, 3, 4)))
	f.Add(encode(f, pixels(color.NRGBA{1, 2, 3, 4})))
	f.Add(claim(3, 3))
	var photo bytes.Buffer
	require.NoError(f, jpeg.Encode(&photo, grey(2, 1, 2, 3, 4), nil))
	f.Add(photo.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 1<<12 { // long inputs and images of many pixels would take a second each
			return
		}
		if c, _, err := image.DecodeConfig(bytes.NewReader(in)); err != nil || c.Width > 1<<10 || c.Height > 1<<10 {
			return
		}
		data, shape, err := Load(bytes.NewReader(in), Options{Width: 3, Height: 2, Mean: []float32{0.5}})
		if err == nil {
			require.Equal(t, []int{1, 3, 2, 3}, shape)
			require.Len(t, data, 18)
		}
	})
}
