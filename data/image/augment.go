package image

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Augmentation changes an image at random. All randomness comes from the generator, so that data.Augment makes it repeatable:
//
//	data.Augment(pictures, seed, image.Chain(image.RandomCrop(32, 32, 4), image.RandomFlip(0.5)))
type Augmentation func(*rand.Rand, *Image) (*Image, error)

// Chain returns an augmentation that applies steps one after the other.
func Chain(steps ...Augmentation) Augmentation {
	return func(r *rand.Rand, m *Image) (_ *Image, err error) {
		for _, s := range steps {
			if m, err = s(r, m); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
}

// RandomFlip mirrors left and right with probability p.
func RandomFlip(p float64) Augmentation {
	return func(r *rand.Rand, m *Image) (*Image, error) {
		if r.Float64() < p {
			return m.FlipX(), nil
		}
		return m, nil
	}
}

// RandomCrop adds pad black pixels around the image and crops height by width at a random position.
func RandomCrop(height, width, pad int) Augmentation {
	return func(r *rand.Rand, m *Image) (*Image, error) {
		dy, dx := m.Height+2*pad-height, m.Width+2*pad-width
		if pad < 0 || dy < 0 || dx < 0 {
			return nil, fmt.Errorf("image: random crop of %d by %d out of %d by %d with a border of %d: want a smaller crop", height, width, m.Height, m.Width, pad)
		}
		return m.Crop(r.IntN(dy+1)-pad, r.IntN(dx+1)-pad, height, width, 0)
	}
}

// RandomResizedCrop crops a random part of the image and scales it to height by width, as in the training of Inception (Szegedy and others
// 2015). The part has a share of the area between least and most, and an aspect ratio between 3/4 and 4/3. If none of ten random parts fits
// into the image, the whole image is scaled.
func RandomResizedCrop(height, width int, least, most float64) Augmentation {
	return func(r *rand.Rand, m *Image) (*Image, error) {
		if !(0 < least && least <= most && most <= 1) {
			return nil, fmt.Errorf("image: random resized crop of shares %v to %v, want 0 < least <= most <= 1", least, most)
		}
		for range 10 {
			area := float64(m.Height*m.Width) * (least + (most-least)*r.Float64())
			ratio := math.Exp((2*r.Float64() - 1) * math.Log(4./3))
			w, h := int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
			if w < 1 || h < 1 || w > m.Width || h > m.Height {
				continue
			}
			part, err := m.Crop(r.IntN(m.Height-h+1), r.IntN(m.Width-w+1), h, w, 0)
			if err != nil {
				return nil, err
			}
			return part.Resize(height, width, Bilinear)
		}
		return m.Resize(height, width, Bilinear)
	}
}

// RandomRotation rotates by up to degrees in either direction, over black.
func RandomRotation(degrees float64) Augmentation {
	return func(r *rand.Rand, m *Image) (*Image, error) {
		return m.Rotate((2*r.Float64()-1)*degrees, 0), nil
	}
}

// RandomErase blackens, with probability p, a rectangle that has the image's aspect ratio and at most the given share of its area
// (DeVries and Taylor 2017).
func RandomErase(p, share float64) Augmentation {
	return func(r *rand.Rand, m *Image) (*Image, error) {
		if r.Float64() >= p {
			return m, nil
		}
		side := math.Sqrt(max(0, min(share, 1)) * r.Float64())
		h, w := int(side*float64(m.Height)), int(side*float64(m.Width))
		y, x := r.IntN(m.Height-h+1), r.IntN(m.Width-w+1)
		out := &Image{m.Channels, m.Height, m.Width, append([]byte(nil), m.Pix...)}
		for c := range m.Channels {
			for j := y; j < y+h; j++ {
				clear(out.plane(c)[j*m.Width+x : j*m.Width+x+w])
			}
		}
		return out, nil
	}
}

// Jitter multiplies brightness and contrast by random factors in [1-x, 1+x]; contrast is relative to the mean of all samples.
func Jitter(brightness, contrast float64) Augmentation {
	return func(r *rand.Rand, m *Image) (*Image, error) {
		b, c := 1+(2*r.Float64()-1)*brightness, 1+(2*r.Float64()-1)*contrast
		return m.adjust(b, c), nil
	}
}

// adjust returns ((p·b) - mean)·c + mean, where mean is the mean of p·b, rounded and clamped to bytes.
func (m *Image) adjust(b, c float64) *Image {
	var sum float64
	for _, v := range m.Pix {
		sum += float64(v)
	}
	mean := b * sum / float64(max(len(m.Pix), 1))
	var table [256]byte
	for v := range table {
		table[v] = uint8(max(0, min(255, math.Round((float64(v)*b-mean)*c+mean))))
	}
	out := New(m.Channels, m.Height, m.Width)
	for i, v := range m.Pix {
		out.Pix[i] = table[v]
	}
	return out
}
