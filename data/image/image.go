// Package image decodes images to bytes in channel-first order, transforms and augments them, and reads datasets of images: classification
// by folder, several labels by CSV, segmentation masks, and detection boxes in COCO's format. A data.Loader turns the examples into
// batches; this package must not create tensors.
//
// PNG, JPEG, GIF (the first frame), BMP, TIFF and WebP are decoded. The orientation tag of cameras is not applied.
package image

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"io"
	"os"

	_ "image/gif" // decoders
	_ "image/jpeg"
	_ "image/png"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"
)

// Image is an image of 8-bit samples: Pix has Channels planes of Height rows of Width bytes. Functions of this package never
// change their argument.
type Image struct {
	Channels, Height, Width int
	Pix                     []byte
}

// MaxPixels is the greatest number of pixels of an image that is decoded, resized or cropped: a small file can declare any size.
const MaxPixels = 1 << 26

// New returns a black image.
func New(channels, height, width int) *Image {
	return &Image{channels, height, width, make([]byte, channels*height*width)}
}

// plane returns channel c.
func (m *Image) plane(c int) []byte {
	n := m.Height * m.Width
	return m.Pix[c*n : (c+1)*n]
}

// Load decodes the file at path. See Decode.
func Load(path string, channels int) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer f.Close()
	m, err := Decode(f, channels)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, path)
	}
	return m, nil
}

// Decode decodes an image to 1 channel (grey, by the luma of JPEG) or 3 (RGB). Transparent images are blended with white, and
// samples of 16 bits lose the lower half.
func Decode(r io.Reader, channels int) (*Image, error) {
	if err := checkChannels(channels); err != nil {
		return nil, err
	}
	img, err := decode(r)
	if err != nil {
		return nil, err
	}
	return From(img, channels), nil
}

func decode(r io.Reader) (image.Image, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("image: %w; want PNG, JPEG, GIF, BMP, TIFF or WebP", err)
	}
	if c.Width < 1 || c.Height < 1 || c.Width > MaxPixels/c.Height {
		return nil, fmt.Errorf("image: %d by %d pixels, want 1 to %d in all", c.Width, c.Height, MaxPixels)
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	if s := img.Bounds().Size(); s.X != c.Width || s.Y != c.Height {
		return nil, fmt.Errorf("image: %d by %d pixels, want %d by %d as its header says", s.X, s.Y, c.Width, c.Height)
	}
	return img, nil
}

// checkChannels returns an error unless images are decoded to this number of channels.
func checkChannels(channels int) error {
	if channels != 1 && channels != 3 {
		return fmt.Errorf("image: %d channels, want 1 or 3", channels)
	}
	return nil
}

// From converts an image of the standard library; channels is 1 or 3.
func From(img image.Image, channels int) *Image {
	b := img.Bounds()
	m := New(channels, b.Dy(), b.Dx())
	if g, ok := img.(*image.Gray); ok {
		for y := range m.Height {
			for c := range channels {
				copy(m.plane(c)[y*m.Width:], g.Pix[g.PixOffset(b.Min.X, b.Min.Y+y):][:m.Width])
			}
		}
		return m
	}
	rgba := image.NewRGBA(image.Rect(0, 0, m.Width, m.Height))
	draw.Draw(rgba, rgba.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(rgba, rgba.Rect, img, b.Min, draw.Over)
	n := m.Height * m.Width
	for i := range n {
		p := rgba.Pix[4*i : 4*i+3]
		if channels == 1 {
			m.Pix[i] = luma(p[0], p[1], p[2])
		} else {
			m.Pix[i], m.Pix[n+i], m.Pix[2*n+i] = p[0], p[1], p[2]
		}
	}
	return m
}

// luma returns 0.299 r + 0.587 g + 0.114 b, rounded (JFIF).
func luma(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// Std converts to an image of the standard library, for encoding and drawing.
func (m *Image) Std() image.Image {
	rect := image.Rect(0, 0, m.Width, m.Height)
	if m.Channels == 1 {
		return &image.Gray{Pix: m.Pix, Stride: m.Width, Rect: rect}
	}
	out := image.NewNRGBA(rect)
	for i := range m.Height * m.Width {
		for c := range 3 {
			out.Pix[4*i+c] = m.Pix[c*m.Height*m.Width+i]
		}
		out.Pix[4*i+3] = 255
	}
	return out
}

// Floats returns (p/255 - mean) / std, by channel; nil mean is 0 and nil std is 1.
func (m *Image) Floats(mean, std []float32) ([]float32, error) {
	if mean != nil && len(mean) != m.Channels || std != nil && len(std) != m.Channels {
		return nil, fmt.Errorf("image: %d means and %d stds, want %d, one per channel", len(mean), len(std), m.Channels)
	}
	out := make([]float32, len(m.Pix))
	n := m.Height * m.Width
	for c := range m.Channels {
		var mu, sd float32 = 0, 1
		if mean != nil {
			mu = mean[c]
		}
		if std != nil {
			sd = std[c]
		}
		var table [256]float32
		for v := range table {
			table[v] = (float32(v)/255 - mu) / sd
		}
		for i, v := range m.plane(c) {
			out[c*n+i] = table[v]
		}
	}
	return out, nil
}
