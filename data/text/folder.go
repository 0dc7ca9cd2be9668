package text

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/data"
)

// Labelled is a text of one class.
type Labelled struct {
	Text  string
	Label int // index into Folder.Classes
	Path  string
}

// Folder is a dataset of text files whose folder is their class. Get reads them.
type Folder struct {
	classes []string
	paths   []string
	labels  []int
}

var _ data.Dataset[Labelled] = (*Folder)(nil)

// maxText limits the size of a file, in bytes.
const maxText = 1 << 28

// OpenFolder finds the files in dir/CLASS/ whose names end in .txt, at any depth. If no classes are given, every folder in dir is a
// class, in the byte order of their names. Otherwise the classes are the given ones in the given order, and other folders are skipped.
func OpenFolder(dir string, classes ...string) (*Folder, error) {
	if len(classes) == 0 {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				classes = append(classes, e.Name())
			}
		}
	}
	f := &Folder{classes: classes}
	for label, class := range classes {
		err := filepath.WalkDir(filepath.Join(dir, class), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.EqualFold(filepath.Ext(p), ".txt") {
				f.paths, f.labels = append(f.paths, p), append(f.labels, label)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
	}
	if len(f.paths) == 0 {
		return nil, fmt.Errorf("text: no files in the folders of %s, want CLASS/NAME.txt", dir)
	}
	return f, nil
}

// Classes returns the names of the classes, by label.
func (f *Folder) Classes() []string { return f.classes }

// Len returns the number of files.
func (f *Folder) Len() int { return len(f.paths) }

// Get reads file i.
func (f *Folder) Get(i int) (Labelled, error) {
	if err := data.Check(i, len(f.paths)); err != nil {
		return Labelled{}, err
	}
	info, err := os.Stat(f.paths[i])
	if err == nil && info.Size() > maxText {
		err = fmt.Errorf("%s: %d bytes, want at most %d", f.paths[i], info.Size(), maxText)
	}
	if err != nil {
		return Labelled{}, fmt.Errorf("text: %w", err)
	}
	b, err := os.ReadFile(f.paths[i])
	if err != nil {
		return Labelled{}, fmt.Errorf("text: %w", err)
	}
	return Labelled{string(b), f.labels[i], f.paths[i]}, nil
}
