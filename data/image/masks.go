package image

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/data"
)

// Segmented is an image and the class of each of its pixels.
type Segmented struct {
	Image *Image
	Mask  *Image // one channel, the class of each pixel; same size as Image
	Path  string
}

// Masks is a dataset of images with segmentation masks.
type Masks struct {
	images, masks []string
	channels      int
}

var _ data.Dataset[Segmented] = (*Masks)(nil)

// OpenMasks pairs the images of one folder with the masks of another by their names without extension. A mask is a paletted
// image, whose indices are the classes, or a grey image, whose pixel values are the classes. channels is 1 or 3, for the images. An image
// without a mask is an error, a mask without an image is skipped.
func OpenMasks(images, masks string, channels int) (*Masks, error) {
	if err := checkChannels(channels); err != nil {
		return nil, err
	}
	list, err := os.ReadDir(images)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	found, err := os.ReadDir(masks)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	byStem := map[string]string{}
	for _, e := range found {
		if isImage(e.Name()) {
			byStem[stem(e.Name())] = filepath.Join(masks, e.Name())
		}
	}
	m := &Masks{channels: channels}
	for _, e := range list {
		if e.IsDir() || !isImage(e.Name()) {
			continue
		}
		mask, ok := byStem[stem(e.Name())]
		if !ok {
			return nil, fmt.Errorf("image: no mask for %s in %s", e.Name(), masks)
		}
		m.images, m.masks = append(m.images, filepath.Join(images, e.Name())), append(m.masks, mask)
	}
	return m, nil
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// Len returns the number of images.
func (m *Masks) Len() int { return len(m.images) }

// Get decodes image i and its mask.
func (m *Masks) Get(i int) (s Segmented, err error) {
	if err := data.Check(i, len(m.images)); err != nil {
		return s, err
	}
	if s.Image, err = Load(m.images[i], m.channels); err != nil {
		return s, err
	}
	if s.Mask, err = loadMask(m.masks[i]); err != nil {
		return s, err
	}
	if s.Mask.Height != s.Image.Height || s.Mask.Width != s.Image.Width {
		return s, fmt.Errorf("image: mask %s of %d by %d, want %d by %d as %s", m.masks[i], s.Mask.Height, s.Mask.Width, s.Image.Height, s.Image.Width, m.images[i])
	}
	s.Path = m.images[i]
	return s, nil
}

func loadMask(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer f.Close()
	img, err := decode(f)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, path)
	}
	p, ok := img.(*image.Paletted)
	if !ok {
		if _, ok := img.(*image.Gray); !ok {
			return nil, fmt.Errorf("image: mask %s has colours, want a paletted image or a grey one of 8 bits", path)
		}
		return From(img, 1), nil
	}
	m := New(1, p.Rect.Dy(), p.Rect.Dx())
	for y := range m.Height {
		copy(m.Pix[y*m.Width:(y+1)*m.Width], p.Pix[p.PixOffset(p.Rect.Min.X, p.Rect.Min.Y+y):])
	}
	return m, nil
}
