package photo

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
)

// JPEG decodes a baseline or progressive JPEG of up to maxPixels to *image.Gray or *image.NRGBA. It leaves files with other colours
// than grey and YCbCr (RGB, CMYK), or with fractional sampling ratios, to image/jpeg, which may return other types. It does not apply
// orientation tags. For more pixels the error wraps ErrTooLarge.
func JPEG(data []byte, maxPixels int) (image.Image, error) {
	img, err := decodeJPEG(data, maxPixels)
	if err != nil {
		return nil, fmt.Errorf("jpeg: %w", err)
	}
	return img, nil
}

func decodeJPEG(data []byte, maxPixels int) (image.Image, error) {
	if !bytes.HasPrefix(data, []byte("\xff\xd8")) {
		return nil, fmt.Errorf("the file begins with % x, want ff d8", data[:min(2, len(data))])
	}
	d := &jpegDecoder{data: data, maxPixels: maxPixels, adobe: -1}
	switch err := d.decode(); {
	case errors.Is(err, errOtherColours):
		return jpeg.Decode(bytes.NewReader(data))
	case err != nil:
		return nil, err
	case len(d.parts) == 1:
		return d.grey(), nil
	}
	return d.colours(), nil
}

func (d *jpegDecoder) grey() *image.Gray {
	c := &d.parts[0]
	return &image.Gray{Pix: c.samples(), Stride: c.across * 8, Rect: image.Rect(0, 0, d.w, d.h)}
}

// colours converts full-range YCbCr in 16-bit fixed point (jdcolor.c of libjpeg-turbo).
func (d *jpegDecoder) colours() *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, d.w, d.h))
	var planes [3]*upsampler
	for i := range planes {
		planes[i] = newUpsampler(&d.parts[i], d.w, d.h, d.maxH, d.maxV)
	}
	for y := range d.h {
		luma, cb, cr := planes[0].row(y), planes[1].row(y), planes[2].row(y)
		line := out.Pix[y*out.Stride:][:4*d.w]
		for x := range d.w {
			y, u, v := int32(luma[x]), int32(cb[x])-128, int32(cr[x])-128
			line[4*x] = clamp(y + (fix(1.40200)*v+half)>>16)
			line[4*x+1] = clamp(y + (-fix(0.34414)*u-fix(0.71414)*v+half)>>16)
			line[4*x+2] = clamp(y + (fix(1.77200)*u+half)>>16)
			line[4*x+3] = 255
		}
	}
	return out
}

const half = 1 << 15

func fix(x float64) int32 { return int32(x*(1<<16) + 0.5) }

func clamp(v int32) uint8 { return uint8(min(max(v, 0), 255)) }
