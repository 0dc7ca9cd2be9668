package image_test

import (
	stdimage "image"
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/data"
	"github.com/goburn/burn/data/image"
	"github.com/stretchr/testify/require"
)

func dot(t testing.TB, v byte) []byte { return encoded(t, grey(1, v).Std()) }

func TestFolder(t *testing.T) {
	dir := write(t, map[string][]byte{"b/2.PNG": dot(t, 2), "b/deep/3.png": dot(t, 3), "a/1.png": dot(t, 1), "a/readme.txt": nil, "empty/note": nil, "loose.png": dot(t, 9)})
	f, err := image.OpenFolder(dir, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "empty"}, f.Classes())
	got, err := data.Collect(f)
	require.NoError(t, err)
	require.Len(t, got, 3)
	for i, label := range []int{0, 1, 1} {
		require.Equal(t, label, got[i].Label)
		require.Equal(t, []byte{byte(i + 1)}, got[i].Image.Pix)
	}
	f, err = image.OpenFolder(dir, 3, "b")
	require.NoError(t, err)
	require.Equal(t, 2, f.Len())
	_, err = f.Get(2)
	require.ErrorIs(t, err, core.ErrIndex)
	_, err = image.OpenFolder(dir, 1, "none")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = image.OpenFolder(dir, 1, "empty")
	require.ErrorContains(t, err, "no images")
}

// The data sets report an unsupported number of channels when they are opened, before they look for files.
func TestSetChannels(t *testing.T) {
	for _, channels := range []int{0, 2, 4} {
		_, err := image.OpenFolder("none", channels)
		require.ErrorContains(t, err, "channels, want 1 or 3")
		_, err = image.OpenTags("none", "none", channels)
		require.ErrorContains(t, err, "channels, want 1 or 3")
		_, err = image.OpenMasks("none", "none", channels)
		require.ErrorContains(t, err, "channels, want 1 or 3")
		_, err = image.OpenCOCO("none", "none", channels)
		require.ErrorContains(t, err, "channels, want 1 or 3")
	}
}

func TestTags(t *testing.T) {
	dir := write(t, map[string][]byte{
		"x/1.png": dot(t, 1), "2.png": dot(t, 2),
		"list.csv":   []byte("file,labels\nx/1.png,sky|sea\n2.png,\"cat, sea\"\n"),
		"hot.csv":    []byte("file,sky,sea,cat\nx/1.png,1,1,0\n2.png,0,1,1\n"),
		"bad.csv":    []byte("file,a,b\n2.png,1,2\n"),
		"out.csv":    []byte("file,labels\n../2.png,a\n"),
		"header.csv": []byte("file\n"),
	})
	for table, want := range map[string]struct {
		classes []string
		tags    [][]bool
	}{
		"list.csv": {[]string{"cat", "sea", "sky"}, [][]bool{{false, true, true}, {true, true, false}}},
		"hot.csv":  {[]string{"sky", "sea", "cat"}, [][]bool{{true, true, false}, {false, true, true}}},
	} {
		s, err := image.OpenTags(dir, filepath.Join(dir, table), 1)
		require.NoError(t, err)
		require.Equal(t, want.classes, s.Classes())
		got, err := data.Collect(s)
		require.NoError(t, err)
		for i := range got {
			require.Equal(t, want.tags[i], got[i].Tags)
			require.Equal(t, byte(i+1), got[i].Image.Pix[0])
		}
	}
	for table, want := range map[string]string{"bad.csv": `"2" for class b, want 0 or 1`, "out.csv": "within the folder", "header.csv": "no header", "none.csv": "none.csv"} {
		_, err := image.OpenTags(dir, filepath.Join(dir, table), 1)
		require.ErrorContains(t, err, want)
	}
}

func TestMasks(t *testing.T) {
	palette := stdimage.NewPaletted(stdimage.Rect(0, 0, 2, 1), color.Palette{color.Black, color.White, color.RGBA{255, 0, 0, 255}})
	palette.Pix = []byte{2, 1}
	two := encoded(t, grey(2, 7, 8).Std())
	dir := write(t, map[string][]byte{
		"images/a.png": two, "images/b.png": two, "masks/a.png": encoded(t, palette), "masks/b.png": encoded(t, grey(2, 0, 5).Std()), "masks/extra.png": nil,
		"small/a.png": dot(t, 1), "small/b.png": encoded(t, stdimage.NewRGBA(stdimage.Rect(0, 0, 2, 1))), "few/a.png": two,
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	s, err := image.OpenMasks(at("images"), at("masks"), 3)
	require.NoError(t, err)
	got, err := data.Collect(s)
	require.NoError(t, err)
	require.Equal(t, []byte{2, 1}, got[0].Mask.Pix)
	require.Equal(t, []byte{0, 5}, got[1].Mask.Pix)
	require.Equal(t, []byte{7, 8, 7, 8, 7, 8}, got[1].Image.Pix)

	s, err = image.OpenMasks(at("images"), at("small"), 1)
	require.NoError(t, err)
	_, err = s.Get(0)
	require.ErrorContains(t, err, "of 1 by 1, want 1 by 2")
	_, err = s.Get(1)
	require.ErrorContains(t, err, "has colours")
	_, err = image.OpenMasks(at("images"), at("few"), 1)
	require.ErrorContains(t, err, "no mask for b.png")
}

func TestCOCO(t *testing.T) {
	dir := write(t, map[string][]byte{"1.png": dot(t, 1), "2.png": dot(t, 2), "ann.json": []byte(`{
		"info": {}, "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "person"}],
		"images": [{"id": 70, "file_name": "1.png", "width": 1}, {"id": 5, "file_name": "2.png"}],
		"annotations": [
			{"id": 1, "image_id": 70, "category_id": 18, "bbox": [1.5, 2, 3, 4], "segmentation": [[0, 0, 1, 0, 1, 1]], "iscrowd": 0},
			{"id": 2, "image_id": 70, "category_id": 1, "bbox": [0, 0, 1, 1], "segmentation": {"counts": [1, 2], "size": [1, 3]}, "iscrowd": 1}]}`)})
	c, err := image.OpenCOCO(filepath.Join(dir, "ann.json"), dir, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"person", "dog"}, c.Classes())
	got, err := data.Collect(c)
	require.NoError(t, err)
	require.Equal(t, []image.Box{{X: 1.5, Y: 2, Width: 3, Height: 4, Label: 1, Polygons: [][]float32{{0, 0, 1, 0, 1, 1}}}, {Width: 1, Height: 1, Label: 0, Crowd: true}}, got[0].Boxes)
	require.Empty(t, got[1].Boxes)
	require.EqualValues(t, 5, got[1].ID)
	for text, want := range map[string]string{
		"{":                                     "unexpected end",
		`{"annotations": [{"category_id": 1}]}`: "category 1",
		`{"categories": [{"id": 1}], "annotations": [{"category_id": 1, "image_id": 2}]}`:                                                       "image 2",
		`{"categories": [{"id": 1}, {"id": 1}]}`:                                                                                                "two categories",
		`{"images": [{"id": 1, "file_name": "a"}, {"id": 1, "file_name": "a"}]}`:                                                                "two images",
		`{"images": [{"id": 1, "file_name": "/etc/a"}]}`:                                                                                        "within the folder",
		`{"categories": [{"id": 1}], "images": [{"id": 1, "file_name": "a"}], "annotations": [{"category_id": 1, "image_id": 1, "bbox": [1]}]}`: "a box of 1",
	} {
		p := filepath.Join(dir, "bad.json")
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
		_, err := image.OpenCOCO(p, dir, 1)
		require.ErrorContains(t, err, want)
	}
}
