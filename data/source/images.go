package source

import (
	"fmt"

	"github.com/goburn/burn/data"
)

// Picture is one image of a data set, with its label.
type Picture struct {
	Pixels []byte // channels, rows, columns; shared with the set, so it must not be changed
	Label  int    // index into Images.Classes
}

// Images is a data set of images of one size, held in memory as bytes.
type Images struct {
	Channels, Height, Width int
	Classes                 []string

	pixels []byte
	labels []byte
}

var _ data.Dataset[Picture] = (*Images)(nil)

// Len returns the number of images.
func (s *Images) Len() int { return len(s.labels) }

// Get returns image i.
func (s *Images) Get(i int) (Picture, error) {
	if err := data.Check(i, len(s.labels)); err != nil {
		return Picture{}, err
	}
	size := s.Channels * s.Height * s.Width
	return Picture{s.pixels[i*size : (i+1)*size : (i+1)*size], int(s.labels[i])}, nil
}

// check returns an error if sizes and labels do not match.
func (s *Images) check() error {
	if len(s.pixels) != len(s.labels)*s.Channels*s.Height*s.Width {
		return fmt.Errorf("source: %d bytes of pixels for %d labels, want %d each", len(s.pixels), len(s.labels), s.Channels*s.Height*s.Width)
	}
	for i, l := range s.labels {
		if int(l) >= len(s.Classes) {
			return fmt.Errorf("source: image %d has label %d, want 0 to %d", i, l, len(s.Classes)-1)
		}
	}
	return nil
}
