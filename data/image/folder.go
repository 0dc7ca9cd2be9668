package image

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/data"
)

// extensions lists the file name extensions of images, in lower case.
var extensions = []string{".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"}

func isImage(name string) bool {
	return slices.Contains(extensions, strings.ToLower(filepath.Ext(name)))
}

// Labelled is an image of one class.
type Labelled struct {
	Image *Image
	Label int // index into Folder.Classes
	Path  string
}

// Folder is a dataset of images whose folder is their class. Get decodes them.
type Folder struct {
	classes  []string
	files    []labelledFile
	channels int
}

type labelledFile struct {
	path  string
	label int
}

var _ data.Dataset[Labelled] = (*Folder)(nil)

// OpenFolder finds the images in dir/CLASS/, at any depth. The classes are the names of the folders in byte order, or the given
// classes in the given order; then other folders are skipped. channels is 1 or 3.
func OpenFolder(dir string, channels int, classes ...string) (*Folder, error) {
	if err := checkChannels(channels); err != nil {
		return nil, err
	}
	if len(classes) == 0 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				classes = append(classes, e.Name())
			}
		}
	}
	f := &Folder{classes: classes, channels: channels}
	for label, class := range classes {
		err := filepath.WalkDir(filepath.Join(dir, class), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && isImage(p) {
				f.files = append(f.files, labelledFile{p, label})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("image: %w", err)
		}
	}
	if len(f.files) == 0 {
		return nil, fmt.Errorf("image: no images in the folders of %s, want CLASS/NAME with one of %s", dir, strings.Join(extensions, " "))
	}
	return f, nil
}

// Classes returns the names of the classes, by label.
func (f *Folder) Classes() []string { return f.classes }

// Len returns the number of images.
func (f *Folder) Len() int { return len(f.files) }

// Get decodes image i.
func (f *Folder) Get(i int) (Labelled, error) {
	if err := data.Check(i, len(f.files)); err != nil {
		return Labelled{}, err
	}
	m, err := Load(f.files[i].path, f.channels)
	return Labelled{m, f.files[i].label, f.files[i].path}, err
}
