package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/png" // formats that ImageDecoder reads

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/tiff"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/shape"
	"github.com/goburn/burn/internal/photo"
)

const imageFormats = "JPEG, WebP, PNG, BMP, TIFF or PNM"

// maxPixels is the greatest number of pixels of a decoded image.
const maxPixels = 1 << 26

func init() {
	register("ImageDecoder", 20, func(t *tracer, n *node) []value {
		t.need(n, 0)
		x, format := n.input(0), n.str("pixel_format", "RGB")
		if x.dtype() != dtype.U8 || x.rank() != 1 {
			t.fail("encoded_stream is %v%v, want u8 of rank 1", x.dtype(), x.shape())
		}
		if format != "RGB" && format != "BGR" && format != "Grayscale" {
			t.fail("pixel_format is %q, want RGB, BGR or Grayscale", format)
		}
		return t.hostOp([]value{x}, func(in []hostTensor) ([]hostTensor, error) { return decodeImage(in[0].Data, format) })
	})
}

// decodeImage returns the pixels [height, width, channels], without transparency. For lossy formats they equal the pixels that
// libjpeg-turbo and libwebp return.
func decodeImage(data []byte, format string) ([]hostTensor, error) {
	img, err := openImage(data)
	if err != nil {
		return nil, err
	}
	b := img.Bounds()
	channels := 3
	if format == "Grayscale" {
		channels = 1
	}
	out := make([]byte, 0, b.Dx()*b.Dy()*channels)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := img.At(x, y)
			if format == "Grayscale" {
				out = append(out, luma(c))
				continue
			}
			p := color.NRGBAModel.Convert(c).(color.NRGBA)
			if format == "BGR" {
				p.R, p.B = p.B, p.R
			}
			out = append(out, p.R, p.G, p.B)
		}
	}
	return []hostTensor{{DType: dtype.U8, Shape: shape.Of(b.Dy(), b.Dx(), channels), Data: out}}, nil
}

// luma returns the brightness by ITU-R 601 in integer arithmetic.
func luma(c color.Color) byte {
	p := color.NRGBAModel.Convert(c).(color.NRGBA)
	return byte((19595*uint32(p.R) + 38470*uint32(p.G) + 7471*uint32(p.B) + 1<<15) >> 16)
}

func openImage(data []byte) (image.Image, error) {
	if len(data) >= 2 && data[0] == 'P' && (data[1] == '5' || data[1] == '6') {
		return decodePNM(data)
	}
	if bytes.HasPrefix(data, []byte("\xff\xd8")) {
		return photographed(photo.JPEG(data, maxPixels))
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return photographed(photo.WebP(data, maxPixels))
	}
	if bytes.Contains(data[:min(16, len(data))], []byte("jP  ")) || bytes.HasPrefix(data, []byte("\xff\x4f\xff\x51")) {
		return nil, fmt.Errorf("JPEG 2000 image, want %s: %w", imageFormats, core.ErrUnsupported)
	}
	conf, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, fmt.Errorf("image, want %s: %w: %v", imageFormats, core.ErrUnsupported, err)
	case format != "png" && format != "bmp" && format != "tiff": // decoders that another package registered
		return nil, fmt.Errorf("%s image, want %s: %w", format, imageFormats, core.ErrUnsupported)
	case conf.Width < 1 || conf.Height < 1 || conf.Width > maxPixels/conf.Height:
		return nil, fmt.Errorf("%w: image of %d×%d pixels, at most %d", ErrLimit, conf.Width, conf.Height, maxPixels)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%w: %s image: %v", ErrInput, format, err)
	}
	return img, nil
}

// photographed wraps an error of package photo in ErrLimit or ErrInput.
func photographed(img image.Image, err error) (image.Image, error) {
	switch {
	case errors.Is(err, photo.ErrTooLarge):
		return nil, fmt.Errorf("%w: %v", ErrLimit, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %v", ErrInput, err)
	}
	return img, nil
}

// decodePNM decodes the binary Netpbm formats P5 (grey) and P6 (RGB) with 8 bits.
func decodePNM(data []byte) (image.Image, error) {
	var head [3]int // width, height, greatest value
	at := 2
	for i := range head {
		for at < len(data) && (data[at] <= ' ' || data[at] == '#') {
			if data[at] == '#' {
				for at < len(data) && data[at] != '\n' {
					at++
				}
				continue
			}
			at++
		}
		for at < len(data) && data[at] >= '0' && data[at] <= '9' && head[i] < maxPixels {
			head[i] = 10*head[i] + int(data[at]-'0')
			at++
		}
	}
	w, h := head[0], head[1]
	if w < 1 || h < 1 || w > maxPixels/h || head[2] != 255 {
		return nil, fmt.Errorf("%w: PNM image of %d×%d pixels up to %d, want 8 bits", ErrInput, w, h, head[2])
	}
	at = min(at+1, len(data)) // one space ends the header
	channels := 1
	if data[1] == '6' {
		channels = 3
	}
	if len(data)-at < w*h*channels {
		return nil, fmt.Errorf("%w: PNM image is truncated: %d bytes of pixels, want %d", ErrInput, max(0, len(data)-at), w*h*channels)
	}
	pixels, img := data[at:], image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		c := color.NRGBA{A: 255}
		if channels == 1 {
			c.R, c.G, c.B = pixels[i], pixels[i], pixels[i]
		} else {
			c.R, c.G, c.B = pixels[3*i], pixels[3*i+1], pixels[3*i+2]
		}
		img.SetNRGBA(i%w, i/w, c)
	}
	return img, nil
}
