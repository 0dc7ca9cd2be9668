package image_test

import (
	"bytes"
	stdimage "image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/image"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// grey returns an image of one channel with the given width and pixels.
func grey(width int, pix ...byte) *image.Image {
	return &image.Image{Channels: 1, Height: len(pix) / width, Width: width, Pix: pix}
}

func encoded(t testing.TB, m stdimage.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func TestDecode(t *testing.T) {
	two := stdimage.NewNRGBA(stdimage.Rect(0, 0, 2, 1))
	two.SetNRGBA(0, 0, color.NRGBA{10, 20, 30, 255})
	two.SetNRGBA(1, 0, color.NRGBA{0, 0, 0, 0})
	m, err := image.Decode(bytes.NewReader(encoded(t, two)), 3)
	require.NoError(t, err)
	require.Equal(t, &image.Image{Channels: 3, Height: 1, Width: 2, Pix: []byte{10, 255, 20, 255, 30, 255}}, m, "transparent is white")
	m, err = image.Decode(bytes.NewReader(encoded(t, two)), 1)
	require.NoError(t, err)
	require.Equal(t, []byte{18, 255}, m.Pix) // 0.299·10 + 0.587·20 + 0.114·30 = 18.15

	half := stdimage.NewNRGBA(stdimage.Rect(0, 0, 1, 1))
	half.SetNRGBA(0, 0, color.NRGBA{0, 100, 200, 51}) // alpha of a fifth over white: 204 + v/5
	m, err = image.Decode(bytes.NewReader(encoded(t, half)), 3)
	require.NoError(t, err)
	for c, want := range []float64{204, 224, 244} {
		require.InDelta(t, want, float64(m.Pix[c]), 1)
	}

	g := &stdimage.Gray{Pix: []byte{1, 2, 3, 4, 5, 6}, Stride: 3, Rect: stdimage.Rect(0, 0, 3, 2)}
	for _, channels := range []int{1, 3} {
		m, err = image.Decode(bytes.NewReader(encoded(t, g)), channels)
		require.NoError(t, err)
		require.Equal(t, bytes.Repeat(g.Pix, channels), m.Pix)
		require.Equal(t, encoded(t, image.From(m.Std(), channels).Std()), encoded(t, m.Std()))
	}
	for name, encode := range map[string]func(*bytes.Buffer) error{
		"bmp": func(b *bytes.Buffer) error { return bmp.Encode(b, g) }, "tiff": func(b *bytes.Buffer) error { return tiff.Encode(b, g, nil) },
		"jpeg": func(b *bytes.Buffer) error { return jpeg.Encode(b, g, &jpeg.Options{Quality: 100}) },
	} {
		var b bytes.Buffer
		require.NoError(t, encode(&b))
		m, err := image.Decode(&b, 1)
		require.NoError(t, err, name)
		for i, v := range g.Pix {
			require.InDelta(t, v, m.Pix[i], 2, name)
		}
	}
}

func TestDecodeFaults(t *testing.T) {
	good := encoded(t, stdimage.NewGray(stdimage.Rect(0, 0, 9, 9)))
	for _, b := range [][]byte{nil, []byte("text"), good[:len(good)-20]} {
		_, err := image.Decode(bytes.NewReader(b), 3)
		require.Error(t, err)
	}
	huge := bytes.Clone(good)
	copy(huge[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65536 by 65536; the checksum of the header is wrong too
	_, err := image.Decode(bytes.NewReader(huge), 1)
	require.Error(t, err)
	_, err = image.Decode(bytes.NewReader(good), 2)
	require.ErrorContains(t, err, "want 1 or 3")
	_, err = image.Load("/nowhere.png", 1)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<12 {
			return
		}
		m, err := image.Decode(bytes.NewReader(b), 3)
		if err == nil {
			require.Len(t, m.Pix, 3*m.Height*m.Width)
		}
	})
}

func TestFloats(t *testing.T) {
	m := &image.Image{Channels: 2, Height: 1, Width: 2, Pix: []byte{0, 255, 51, 102}}
	v, err := m.Floats(nil, nil)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{0, 1, 0.2, 0.4}, v, 1e-7)
	v, err = m.Floats([]float32{0.5, 0.2}, []float32{0.5, 0.1})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{-1, 1, 0, 2}, v, 1e-6)
	_, err = m.Floats([]float32{1}, nil)
	require.ErrorContains(t, err, "one per channel")
}

// The expected values of the bilinear filter are from torch.nn.functional.interpolate(mode="bilinear", antialias=True), PyTorch's version
// of Pillow's filter.
func TestResize(t *testing.T) {
	m := grey(4, 5, 25, 45, 65, 85, 105, 125, 145, 165, 185, 205, 225)
	small, err := m.Resize(2, 2, image.Bilinear)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{49.29, 80.71, 149.29, 180.71}, floats(small.Pix), 1)
	large, err := m.Resize(6, 8, image.Bilinear)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{5, 10, 20, 30, 40, 50, 60, 65, 25, 30, 40, 50, 60, 70, 80, 85}, floats(large.Pix[:16]), 1)
	colour := &image.Image{Channels: 3, Height: 3, Width: 4, Pix: bytes.Repeat(m.Pix, 3)}
	rgb, err := colour.Resize(2, 2, image.Bilinear)
	require.NoError(t, err)
	require.InDeltaSlice(t, floats(bytes.Repeat(small.Pix, 3)), floats(rgb.Pix), 1)

	near, err := m.Resize(1, 2, image.Nearest)
	require.NoError(t, err)
	require.Equal(t, []byte{105, 145}, near.Pix)
	short, err := m.ResizeShort(6, image.Bilinear)
	require.NoError(t, err)
	require.Equal(t, []int{6, 8}, []int{short.Height, short.Width})
	for _, c := range []struct {
		h, w int
		f    image.Filter
	}{{0, 1, 0}, {1, -1, 0}, {1 << 20, 1 << 20, 0}, {1, 1, 9}} {
		_, err := m.Resize(c.h, c.w, c.f)
		require.Error(t, err)
	}
	_, err = image.New(1, 0, 0).Resize(2, 2, 0)
	require.Error(t, err)
}

func floats(b []byte) []float64 {
	out := make([]float64, len(b))
	for i, v := range b {
		out[i] = float64(v)
	}
	return out
}

func TestGeometry(t *testing.T) {
	m := grey(3, 1, 2, 3, 4, 5, 6)
	crop := func(top, left, h, w int) []byte {
		c, err := m.Crop(top, left, h, w, 9)
		require.NoError(t, err)
		return c.Pix
	}
	require.Equal(t, []byte{2, 3}, crop(0, 1, 1, 2))
	require.Equal(t, []byte{9, 9, 9, 9, 9, 1, 9, 9, 4}, crop(-1, -2, 3, 3))
	require.Equal(t, []byte{6, 9, 9, 9}, crop(1, 2, 2, 2))
	require.Equal(t, []byte{9}, crop(0, 7, 1, 1))
	_, err := m.Crop(0, 0, 0, 1, 0)
	require.Error(t, err)
	center, err := m.CenterCrop(2, 1)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 5}, center.Pix)
	pad, err := grey(1, 7).Pad(1, 3)
	require.NoError(t, err)
	require.Equal(t, []byte{3, 3, 3, 3, 7, 3, 3, 3, 3}, pad.Pix)
	require.Equal(t, []byte{3, 2, 1, 6, 5, 4}, m.FlipX().Pix)
	require.Equal(t, []byte{4, 5, 6, 1, 2, 3}, m.FlipY().Pix)
	colour := &image.Image{Channels: 3, Height: 1, Width: 2, Pix: []byte{1, 2, 3, 4, 5, 6}}
	require.Equal(t, []byte{2, 1, 4, 3, 6, 5}, colour.FlipX().Pix)
	require.Equal(t, colour.Pix, colour.FlipY().Pix)

	square := grey(3, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	require.Equal(t, []byte{3, 6, 9, 2, 5, 8, 1, 4, 7}, square.Rotate(90, 0).Pix, "counterclockwise")
	require.Equal(t, []byte{9, 8, 7, 6, 5, 4, 3, 2, 1}, square.Rotate(180, 0).Pix)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, m.Pix, "no method changes its receiver")
}

func TestAugmentations(t *testing.T) {
	m := image.New(3, 20, 30)
	for i := range m.Pix {
		m.Pix[i] = byte(i*7 + 1)
	}
	before := bytes.Clone(m.Pix)
	for name, c := range map[string]struct {
		a    image.Augmentation
		h, w int
	}{
		"flip": {image.RandomFlip(0.5), 20, 30}, "crop": {image.RandomCrop(16, 18, 2), 16, 18}, "resized": {image.RandomResizedCrop(8, 9, 0.1, 1), 8, 9},
		"rotation": {image.RandomRotation(30), 20, 30}, "erase": {image.RandomErase(1, 0.5), 20, 30}, "jitter": {image.Jitter(0.4, 0.4), 20, 30},
		"chain": {image.Chain(image.RandomFlip(0.5), image.RandomCrop(8, 8, 0), image.Jitter(0.1, 0.1)), 8, 8},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			for i := range 20 {
				out, err := c.a(data.Random(1, i), m)
				require.NoError(t, err)
				require.Equal(t, []int{3, c.h, c.w, 3 * c.h * c.w}, []int{out.Channels, out.Height, out.Width, len(out.Pix)})
				again, err := c.a(data.Random(1, i), m)
				require.NoError(t, err)
				require.Equal(t, out, again, "equal generators give equal results")
				seen[string(out.Pix)] = true
			}
			require.Greater(t, len(seen), 1)
			require.Equal(t, before, m.Pix)
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	_, err := image.RandomCrop(40, 40, 2)(r, m)
	require.Error(t, err)
	_, err = image.Chain(image.RandomResizedCrop(8, 8, 0, 1))(r, m)
	require.Error(t, err)
	same, err := image.Jitter(0, 0)(r, m)
	require.NoError(t, err)
	require.Equal(t, before, same.Pix)
}

// write writes files to a new folder and returns the folder.
func write(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, b, 0o644))
	}
	return dir
}
