// Package imagein converts PNG, JPEG and WebP images to the numbers that a network reads, for burn run and the demo page of examples/web.
// It must not create tensors.
package imagein

import (
	"bufio"
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/draw"

	"github.com/goburn/burn/internal/photo"
)

// MaxPixels and MaxSide limit the size of an image, as stored and as requested. A small file can declare any size, and decoding
// allocates memory for all of it. MaxSide is the limit of the JPEG format.
const (
	MaxPixels = 1 << 26
	MaxSide   = 1<<16 - 1
)

// maxBetween limits the intermediate image between the two passes of the catmullrom filter, which is as wide as the result and as
// high as the source, with 32 bytes per pixel.
const maxBetween = 1 << 24

// Options describes the input of a network. The steps are: blending with white, resizing, colour, Scale, Invert, Mean, Std.
type Options struct {
	Width, Height int       // of the result; 0 keeps the size of the image. The aspect ratio is not kept.
	Channels      int       // 1 (grey, by the luma of JPEG) or 3 (RGB); 0 means 3
	Layout        string    // "NCHW" or "NHWC"; empty means NCHW
	Scale         float32   // the value of white, usually 1 or 255; 0 means 1. Black is 0.
	Mean          []float32 // subtracted, in units after Scale: none, one for all channels, or one each
	Std           []float32 // divided by, after Mean: none, one for all channels, or one each
	Invert        bool      // white becomes 0 and black Scale, before Mean and Std
	Filter        string    // "catmullrom", "bilinear" or "nearest"; empty means catmullrom
}

// Load decodes a PNG, JPEG or WebP from r, and returns it as float32 with its shape, [1 C H W] or [1 H W C]. Samples of 16 bits are reduced
// to 8 bits: they lose the lower half. The orientation tag of cameras is not applied.
func Load(r io.Reader, o Options) (data []float32, shape []int, err error) {
	o, scaler, err := o.check()
	if err != nil {
		return nil, nil, fmt.Errorf("imagein: %w", err)
	}
	img, err := decode(r)
	if err != nil {
		return nil, nil, fmt.Errorf("imagein: %w", err)
	}
	rgb := opaque(img)
	w, h := rgb.Rect.Dx(), rgb.Rect.Dy()
	if o.Width == 0 {
		o.Width = w
	}
	if o.Height == 0 {
		o.Height = h
	}
	if !bearable(o.Width, o.Height) { // one side from the options, the other from the image
		return nil, nil, fmt.Errorf("imagein: size: want at most %d pixels, got %dx%d", MaxPixels, o.Width, o.Height)
	}
	if w != o.Width || h != o.Height {
		if scaler == draw.CatmullRom && o.Width > maxBetween/h {
			return nil, nil, fmt.Errorf("imagein: catmullrom from %dx%d to %dx%d needs too much memory, want bilinear",
				w, h, o.Width, o.Height)
		}
		scaled := image.NewRGBA(image.Rect(0, 0, o.Width, o.Height))
		scaler.Scale(scaled, scaled.Rect, rgb, rgb.Rect, draw.Src, nil)
		rgb = scaled
	}
	data, shape = o.tensor(rgb)
	return data, shape, nil
}

// check validates the options and fills in the defaults that do not depend on the image.
func (o Options) check() (Options, draw.Scaler, error) {
	if o.Width < 0 || o.Height < 0 || !bearable(max(o.Width, 1), max(o.Height, 1)) {
		return o, nil, fmt.Errorf("size: want at most %d pixels, got %dx%d", MaxPixels, o.Width, o.Height)
	}
	if o.Channels == 0 {
		o.Channels = 3
	}
	if o.Channels != 1 && o.Channels != 3 {
		return o, nil, fmt.Errorf("channels: want 1 or 3, got %d", o.Channels)
	}
	if o.Layout == "" {
		o.Layout = "NCHW"
	}
	if o.Layout != "NCHW" && o.Layout != "NHWC" {
		return o, nil, fmt.Errorf("layout: want NCHW or NHWC, got %q", o.Layout)
	}
	if o.Scale == 0 {
		o.Scale = 1
	}
	if !(o.Scale > 0) || math.IsInf(float64(o.Scale), 0) {
		return o, nil, fmt.Errorf("scale: want a positive number, got %v", o.Scale)
	}
	for _, p := range []struct {
		name string
		list []float32
		min  float64 // exclusive
	}{{"mean", o.Mean, math.Inf(-1)}, {"std", o.Std, 0}} {
		if n := len(p.list); n > 1 && n != o.Channels {
			return o, nil, fmt.Errorf("%s: want 1 or %d values, got %d", p.name, o.Channels, n)
		}
		for i, v := range p.list {
			if f := float64(v); !(f > p.min) || math.IsInf(f, 0) {
				return o, nil, fmt.Errorf("%s: value %d is %v", p.name, i, v)
			}
		}
	}
	scalers := map[string]draw.Scaler{
		"": draw.CatmullRom, "catmullrom": draw.CatmullRom, "bilinear": draw.ApproxBiLinear, "nearest": draw.NearestNeighbor,
	}
	scaler := scalers[o.Filter]
	if scaler == nil {
		return o, nil, fmt.Errorf("filter: want catmullrom, bilinear or nearest, got %q", o.Filter)
	}
	return o, scaler, nil
}

// bearable reports whether a size is within the limits.
func bearable(w, h int) bool {
	return w > 0 && h > 0 && w <= MaxSide && h <= MaxSide && w <= MaxPixels/h
}

// decode decodes the image after checking the size in its header.
func decode(r io.Reader) (image.Image, error) {
	br := bufio.NewReader(r)
	start, err := br.Peek(8)
	if err != nil && err != io.EOF {
		return nil, err
	}
	var format string
	var config func(io.Reader) (image.Config, error)
	var read func(io.Reader) (image.Image, error)
	switch {
	case bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n")):
		format, config, read = "png", png.DecodeConfig, png.Decode
	case bytes.HasPrefix(start, []byte("\xff\xd8")):
		return whole(br, photo.JPEG)
	case bytes.HasPrefix(start, []byte("RIFF")):
		return whole(br, photo.WebP)
	default:
		return nil, fmt.Errorf("want a PNG, JPEG or WebP file, got one that starts with %q", start)
	}
	var head bytes.Buffer
	c, err := config(io.TeeReader(br, &head))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", format, err)
	}
	if !bearable(c.Width, c.Height) {
		return nil, fmt.Errorf("%s: %dx%d pixels, want 1 to %d in all, %d a side", format, c.Width, c.Height, MaxPixels, MaxSide)
	}
	img, err := read(io.MultiReader(&head, br))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", format, err)
	}
	return img, nil
}

// maxFile limits the files that are read whole: it is more than the size of a photograph of MaxPixels.
const maxFile = 1 << 28

// whole decodes formats that need the file in memory.
func whole(r io.Reader, decode func([]byte, int) (image.Image, error)) (image.Image, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("file: want at most %d bytes", maxFile)
	}
	return decode(data, MaxPixels)
}

// opaque draws img over white.
func opaque(img image.Image) *image.RGBA {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(out, out.Rect, img, b.Min, draw.Over)
	return out
}

// tensor converts the samples of an opaque image to floats.
func (o Options) tensor(img *image.RGBA) ([]float32, []int) {
	w, h := o.Width, o.Height
	table := make([][256]float32, o.Channels)
	for c := range table {
		mean, std := pick(o.Mean, c, 0), pick(o.Std, c, 1)
		for v := range 256 {
			x := v
			if o.Invert {
				x = 255 - v
			}
			table[c][v] = float32((float64(x)*float64(o.Scale)/255 - mean) / std)
		}
	}
	data := make([]float32, o.Channels*w*h)
	shape := []int{1, o.Channels, h, w}
	pixel, plane := 1, w*h // distances between neighbouring pixels and between channels
	if o.Layout == "NHWC" {
		shape = []int{1, h, w, o.Channels}
		pixel, plane = o.Channels, 1
	}
	at := 0
	for y := range h {
		row := img.Pix[y*img.Stride:][:4*w]
		for x := 0; x < len(row); x += 4 {
			if o.Channels == 1 {
				data[at] = table[0][luma(row[x], row[x+1], row[x+2])]
			} else {
				for c := range table {
					data[at+c*plane] = table[c][row[x+c]]
				}
			}
			at += pixel
		}
	}
	return data, shape
}

func pick(list []float32, c int, otherwise float64) float64 {
	switch len(list) {
	case 0:
		return otherwise
	case 1:
		return float64(list[0])
	}
	return float64(list[c])
}

// luma returns 0.299 R + 0.587 G + 0.114 B, with 16-bit fixed-point weights that add up to one, so that grey stays unchanged.
func luma(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}
