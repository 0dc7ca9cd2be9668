package photo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"

	"golang.org/x/image/webp"
)

// WebP decodes a lossy or lossless WebP of up to maxPixels. For an animation it returns the first frame on a transparent canvas. For
// more pixels the error wraps ErrTooLarge.
func WebP(data []byte, maxPixels int) (image.Image, error) {
	img, err := decodeWebP(data, maxPixels)
	if err != nil {
		return nil, fmt.Errorf("webp: %w", err)
	}
	return img, nil
}

func decodeWebP(data []byte, maxPixels int) (image.Image, error) {
	a, err := firstFrame(data)
	if err != nil {
		return nil, err
	}
	if a != nil {
		if err := bearable(image.Config{Width: a.width, Height: a.height}, maxPixels); err != nil {
			return nil, err
		}
		data = a.file
	}
	c, err := webp.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if err := bearable(c, maxPixels); err != nil {
		return nil, err
	}
	img, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	switch y := img.(type) {
	case *image.YCbCr:
		img = FromWebP(y)
	case *image.NYCbCrA:
		n := FromWebP(&y.YCbCr)
		for k := range n.Rect.Dy() {
			for x := range n.Rect.Dx() {
				n.Pix[k*n.Stride+4*x+3] = y.A[k*y.AStride+x]
			}
		}
		img = n
	}
	if a == nil {
		return img, nil
	}
	canvas := image.NewNRGBA(image.Rect(0, 0, a.width, a.height))
	at := image.Pt(a.x, a.y)
	draw.Draw(canvas, img.Bounds().Add(at), img, img.Bounds().Min, draw.Src)
	return canvas, nil
}

// frame is the first frame of an animation, as a separate file, and its position on the canvas.
type frame struct {
	width, height, x, y int
	file                []byte
}

var errTruncated = errors.New("the file is truncated")

// firstFrame parses the container format of WebP. It returns nil for a file that is not an animation.
func firstFrame(data []byte) (*frame, error) {
	if len(data) < 12 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return nil, errors.New("want a RIFF file of type WEBP")
	}
	var a *frame
	for rest := data[12:]; len(rest) >= 8; {
		name, body, next, err := chunk(rest)
		if err != nil {
			return nil, err
		}
		switch {
		case name == "VP8X" && len(body) >= 10 && body[0]&2 != 0:
			a = &frame{width: 1 + u24(body[4:]), height: 1 + u24(body[7:])}
		case name == "ANMF" && a != nil:
			if len(body) < 16 {
				return nil, errTruncated
			}
			a.x, a.y = 2*u24(body), 2*u24(body[3:])
			w, h := 1+u24(body[6:]), 1+u24(body[9:])
			if a.x+w > a.width || a.y+h > a.height {
				return nil, fmt.Errorf("frame of %d×%d at %d,%d on a canvas of %d×%d", w, h, a.x, a.y, a.width, a.height)
			}
			a.file, err = still(body[16:], w, h)
			return a, err
		}
		rest = next
	}
	if a != nil {
		return nil, errors.New("an animation without frames")
	}
	return nil, nil
}

// still returns a file made of the image chunks of a frame of w by h pixels.
func still(chunks []byte, w, h int) ([]byte, error) {
	var alpha, bits []byte
	for rest := chunks; len(rest) >= 8; {
		name, body, next, err := chunk(rest)
		if err != nil {
			return nil, err
		}
		whole := rest[:8+len(body)]
		switch name {
		case "ALPH":
			alpha = whole
		case "VP8 ", "VP8L":
			bits = whole
		}
		rest = next
	}
	if bits == nil {
		return nil, errors.New("a frame without an image")
	}
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	if alpha != nil {
		head := append([]byte("VP8X\x0a\x00\x00\x00\x10\x00\x00\x00"), byte(w-1), byte((w-1)>>8), byte((w-1)>>16),
			byte(h-1), byte((h-1)>>8), byte((h-1)>>16))
		out = append(out, head...)
	}
	for _, c := range [][]byte{alpha, bits} {
		if out = append(out, c...); len(c)%2 == 1 {
			out = append(out, 0)
		}
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out, nil
}

// chunk splits off the first chunk of a RIFF list.
func chunk(b []byte) (name string, body, rest []byte, err error) {
	n := binary.LittleEndian.Uint32(b[4:])
	if uint64(n) > uint64(len(b)-8) {
		return "", nil, nil, errTruncated
	}
	body = b[8 : 8+n]
	return string(b[:4]), body, b[min(8+int(n)+int(n&1), len(b)):], nil
}

func u24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
