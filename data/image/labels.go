package image

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goburn/burn/data"
)

// Tagged is an image with any number of classes.
type Tagged struct {
	Image *Image
	Tags  []bool // by class of Tags.Classes
	Path  string
}

// Tags is a dataset of images with any number of labels each.
type Tags struct {
	classes  []string
	paths    []string
	labels   [][]int
	channels int
}

var _ data.Dataset[Tagged] = (*Tags)(nil)

// OpenTags reads the CSV file table, which has a header, and finds its images in dir. The first column is the path of the image
// within dir. There are two forms: one more column, with the names of the classes separated by spaces, commas, semicolons or
// bars; or one column per class, with 0 or 1. In the first form the classes are sorted by their bytes. channels is 1 or 3.
func OpenTags(dir, table string, channels int) (*Tags, error) {
	if err := checkChannels(channels); err != nil {
		return nil, err
	}
	f, err := os.Open(table)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	t, err := readTags(f, dir)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("image: %s: %w", table, err)
	}
	t.channels = channels
	return t, nil
}

func readTags(r io.Reader, dir string) (*Tags, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || len(rows[0]) < 2 {
		return nil, errors.New("no header with a column of paths and one of labels at least")
	}
	t := &Tags{}
	oneHot := len(rows[0]) > 2
	if oneHot {
		t.classes = rows[0][1:]
	}
	for n, row := range rows[1:] {
		if !filepath.IsLocal(filepath.FromSlash(row[0])) {
			return nil, fmt.Errorf("row %d: path %q, want one within the folder", n+1, row[0])
		}
		t.paths = append(t.paths, filepath.Join(dir, filepath.FromSlash(row[0])))
		if !oneHot {
			t.classes = append(t.classes, words(row[1])...)
			continue
		}
		var labels []int
		for k, v := range row[1:] {
			switch strings.TrimSpace(v) {
			case "1":
				labels = append(labels, k)
			case "0", "":
			default:
				return nil, fmt.Errorf("row %d: %q for class %s, want 0 or 1", n+1, v, t.classes[k])
			}
		}
		t.labels = append(t.labels, labels)
	}
	if oneHot {
		return t, nil
	}
	slices.Sort(t.classes)
	t.classes = slices.Compact(t.classes)
	for _, row := range rows[1:] {
		var labels []int
		for _, w := range words(row[1]) {
			k, _ := slices.BinarySearch(t.classes, w)
			labels = append(labels, k)
		}
		t.labels = append(t.labels, labels)
	}
	return t, nil
}

func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" ,;|", r) })
}

// Classes returns the names of the classes.
func (t *Tags) Classes() []string { return t.classes }

// Len returns the number of images.
func (t *Tags) Len() int { return len(t.paths) }

// Get decodes image i.
func (t *Tags) Get(i int) (Tagged, error) {
	if err := data.Check(i, len(t.paths)); err != nil {
		return Tagged{}, err
	}
	tags := make([]bool, len(t.classes))
	for _, k := range t.labels[i] {
		tags[k] = true
	}
	m, err := Load(t.paths[i], t.channels)
	return Tagged{m, tags, t.paths[i]}, err
}
