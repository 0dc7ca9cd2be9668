package image

import (
	"fmt"
	"image"
	"math"

	"golang.org/x/image/draw"
)

// Filter is the interpolation of Resize.
type Filter int

// The filters. When an image becomes smaller, Bilinear and CatmullRom widen their kernels, as in Pillow.
const (
	Bilinear Filter = iota
	Nearest         // for masks: creates no new values
	CatmullRom
)

func (f Filter) scaler() (draw.Scaler, error) {
	switch f {
	case Bilinear:
		return draw.BiLinear, nil
	case Nearest:
		return draw.NearestNeighbor, nil
	case CatmullRom:
		return draw.CatmullRom, nil
	}
	return nil, fmt.Errorf("image: filter %d, want Bilinear, Nearest or CatmullRom", int(f))
}

// maxBetween limits the number of pixels of the image between the two passes of a filter, which has 32 bytes per pixel.
const maxBetween = 1 << 25

func sized(what string, height, width int) error {
	if height < 1 || width < 1 || width > MaxPixels/height {
		return fmt.Errorf("image: %s to %d by %d pixels (height by width), want 1 to %d in all", what, height, width, MaxPixels)
	}
	return nil
}

// Resize scales to height by width; it does not keep the aspect ratio. If m already has this size, Resize returns m itself.
func (m *Image) Resize(height, width int, f Filter) (*Image, error) {
	if err := sized("resize", height, width); err != nil {
		return nil, err
	}
	s, err := f.scaler()
	if err != nil {
		return nil, err
	}
	if height == m.Height && width == m.Width {
		return m, nil
	}
	if len(m.Pix) == 0 {
		return nil, fmt.Errorf("image: resize an empty image")
	}
	if width > maxBetween/m.Height {
		return nil, fmt.Errorf("image: resize %d rows to a width of %d: want at most %d pixels between the two passes", m.Height, width, maxBetween)
	}
	out := New(m.Channels, height, width)
	if m.Channels == 3 {
		dst := image.NewRGBA(image.Rect(0, 0, width, height))
		src := m.Std()
		s.Scale(dst, dst.Rect, src, src.Bounds(), draw.Src, nil)
		n := height * width
		for i := range n {
			out.Pix[i], out.Pix[n+i], out.Pix[2*n+i] = dst.Pix[4*i], dst.Pix[4*i+1], dst.Pix[4*i+2]
		}
		return out, nil
	}
	for c := range m.Channels {
		dst := &image.Gray{Pix: out.plane(c), Stride: width, Rect: image.Rect(0, 0, width, height)}
		src := &image.Gray{Pix: m.plane(c), Stride: m.Width, Rect: image.Rect(0, 0, m.Width, m.Height)}
		s.Scale(dst, dst.Rect, src, src.Rect, draw.Src, nil)
	}
	return out, nil
}

// ResizeShort scales so that the shorter side has size pixels and the aspect ratio is kept.
func (m *Image) ResizeShort(size int, f Filter) (*Image, error) {
	if len(m.Pix) == 0 {
		return nil, fmt.Errorf("image: resize an empty image")
	}
	long := func(l, s int) int { return int(math.Round(float64(l) * float64(size) / float64(s))) }
	if m.Height < m.Width {
		return m.Resize(size, long(m.Width, m.Height), f)
	}
	return m.Resize(long(m.Height, m.Width), size, f)
}

// Crop returns height by width pixels from row top and column left. Pixels outside m are fill.
func (m *Image) Crop(top, left, height, width int, fill byte) (*Image, error) {
	if err := sized("crop", height, width); err != nil {
		return nil, err
	}
	out := New(m.Channels, height, width)
	if fill != 0 {
		for i := range out.Pix {
			out.Pix[i] = fill
		}
	}
	x0, x1 := max(left, 0), min(left+width, m.Width)
	if x0 >= x1 {
		return out, nil
	}
	for c := range m.Channels {
		src, dst := m.plane(c), out.plane(c)
		for y := max(top, 0); y < min(top+height, m.Height); y++ {
			copy(dst[(y-top)*width+x0-left:], src[y*m.Width+x0:y*m.Width+x1])
		}
	}
	return out, nil
}

// CenterCrop returns height by width pixels from the middle; a smaller image gets a black border.
func (m *Image) CenterCrop(height, width int) (*Image, error) {
	return m.Crop(floorHalf(m.Height-height), floorHalf(m.Width-width), height, width, 0)
}

func floorHalf(n int) int { return n >> 1 }

// Pad adds n pixels of fill around the image.
func (m *Image) Pad(n int, fill byte) (*Image, error) {
	return m.Crop(-n, -n, m.Height+2*n, m.Width+2*n, fill)
}

// FlipX returns the image with left and right exchanged.
func (m *Image) FlipX() *Image {
	out := New(m.Channels, m.Height, m.Width)
	for i := 0; i < len(m.Pix); i += m.Width {
		for x, v := range m.Pix[i : i+m.Width] {
			out.Pix[i+m.Width-1-x] = v
		}
	}
	return out
}

// FlipY returns the image upside down.
func (m *Image) FlipY() *Image {
	out := New(m.Channels, m.Height, m.Width)
	for c := range m.Channels {
		src, dst := m.plane(c), out.plane(c)
		for y := range m.Height {
			copy(dst[(m.Height-1-y)*m.Width:], src[y*m.Width:(y+1)*m.Width])
		}
	}
	return out
}

// Rotate rotates the image by degrees counterclockwise around its centre. Pixels are interpolated bilinearly, and pixels from
// outside are fill.
func (m *Image) Rotate(degrees float64, fill byte) *Image {
	out := New(m.Channels, m.Height, m.Width)
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	cx, cy := float64(m.Width-1)/2, float64(m.Height-1)/2
	at := func(p []byte, x, y int) float64 {
		if x < 0 || y < 0 || x >= m.Width || y >= m.Height {
			return float64(fill)
		}
		return float64(p[y*m.Width+x])
	}
	for y := range m.Height {
		for x := range m.Width {
			dx, dy := float64(x)-cx, float64(y)-cy
			sx, sy := cos*dx-sin*dy+cx, sin*dx+cos*dy+cy
			fx, fy := math.Floor(sx), math.Floor(sy)
			wx, wy := sx-fx, sy-fy
			for c := range m.Channels {
				p, i, j := m.plane(c), int(fx), int(fy)
				v := (1-wy)*((1-wx)*at(p, i, j)+wx*at(p, i+1, j)) + wy*((1-wx)*at(p, i, j+1)+wx*at(p, i+1, j+1))
				out.plane(c)[y*m.Width+x] = uint8(math.Round(v))
			}
		}
	}
	return out
}
