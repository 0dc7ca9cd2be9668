package image

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/goburn/burn/data"
)

// Box is an object in an image, in pixels from the upper left corner.
type Box struct {
	X, Y, Width, Height float32
	Label               int         // index into COCO.Classes
	Crowd               bool        // a group of objects, iscrowd in the file
	Polygons            [][]float32 // outlines x0, y0, x1, y1, ...; nil if the file has no outlines, or a run-length mask instead
}

// Detected is an image with the objects in it.
type Detected struct {
	Image *Image
	Boxes []Box
	Path  string
	ID    int64 // id of the image in the file
}

// COCO is a dataset in the COCO instances format (Lin and others 2014).
type COCO struct {
	classes  []string
	images   []cocoImage
	boxes    map[int64][]Box
	dir      string
	channels int
}

var _ data.Dataset[Detected] = (*COCO)(nil)

type cocoImage struct {
	ID   int64  `json:"id"`
	File string `json:"file_name"`
}

type cocoFile struct {
	Images      []cocoImage `json:"images"`
	Annotations []struct {
		Image    int64           `json:"image_id"`
		Category int64           `json:"category_id"`
		Box      []float32       `json:"bbox"`
		Crowd    int             `json:"iscrowd"`
		Outline  json.RawMessage `json:"segmentation"`
	} `json:"annotations"`
	Categories []cocoCategory `json:"categories"`
}

type cocoCategory struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// OpenCOCO reads the annotations in the JSON file at path; the images are in dir. Labels number the categories in the order of
// their ids, without gaps. Images without objects are kept. channels is 1 or 3.
func OpenCOCO(path, dir string, channels int) (*COCO, error) {
	if err := checkChannels(channels); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	c, err := parseCOCO(b)
	if err != nil {
		return nil, fmt.Errorf("image: %s: %w", path, err)
	}
	c.dir, c.channels = dir, channels
	return c, nil
}

func parseCOCO(b []byte) (*COCO, error) {
	var f cocoFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, err
	}
	slices.SortFunc(f.Categories, func(a, b cocoCategory) int { return cmp.Compare(a.ID, b.ID) })
	c := &COCO{images: f.Images, boxes: map[int64][]Box{}}
	labels := map[int64]int{}
	for k, cat := range f.Categories {
		if _, twice := labels[cat.ID]; twice {
			return nil, fmt.Errorf("two categories with id %d", cat.ID)
		}
		labels[cat.ID] = k
		c.classes = append(c.classes, cat.Name)
	}
	known := map[int64]bool{}
	for _, m := range f.Images {
		if known[m.ID] {
			return nil, fmt.Errorf("two images with id %d", m.ID)
		}
		if !filepath.IsLocal(filepath.FromSlash(m.File)) {
			return nil, fmt.Errorf("image %d: path %q, want one within the folder", m.ID, m.File)
		}
		known[m.ID] = true
	}
	for n, a := range f.Annotations {
		label, ok := labels[a.Category]
		switch {
		case !ok:
			return nil, fmt.Errorf("annotation %d: category %d, which the file does not have", n, a.Category)
		case !known[a.Image]:
			return nil, fmt.Errorf("annotation %d: image %d, which the file does not have", n, a.Image)
		case len(a.Box) != 4:
			return nil, fmt.Errorf("annotation %d: a box of %d numbers, want x, y, width, height", n, len(a.Box))
		}
		box := Box{X: a.Box[0], Y: a.Box[1], Width: a.Box[2], Height: a.Box[3], Label: label, Crowd: a.Crowd != 0}
		if len(a.Outline) > 0 && a.Outline[0] == '[' {
			if err := json.Unmarshal(a.Outline, &box.Polygons); err != nil {
				return nil, fmt.Errorf("annotation %d: segmentation: %w", n, err)
			}
		}
		c.boxes[a.Image] = append(c.boxes[a.Image], box)
	}
	return c, nil
}

// Classes returns the names of the categories, by label.
func (c *COCO) Classes() []string { return c.classes }

// Len returns the number of images.
func (c *COCO) Len() int { return len(c.images) }

// Get decodes image i.
func (c *COCO) Get(i int) (Detected, error) {
	if err := data.Check(i, len(c.images)); err != nil {
		return Detected{}, err
	}
	m := c.images[i]
	path := filepath.Join(c.dir, filepath.FromSlash(m.File))
	img, err := Load(path, c.channels)
	return Detected{img, slices.Clone(c.boxes[m.ID]), path, m.ID}, err
}
