package photo

import (
	"encoding/json"
	"image"
	"image/color"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sample is a file with the pixels decoded by libjpeg-turbo or libwebp, made by testdata/pixels.py.
type sample struct {
	Name                    string
	Width, Height, Channels int
	File, Pixels            []byte
}

func samples(t testing.TB) []sample {
	b, err := os.ReadFile("testdata/pixels.json")
	require.NoError(t, err)
	var all struct{ Cases []sample }
	require.NoError(t, json.Unmarshal(b, &all))
	require.Greater(t, len(all.Cases), 45)
	return all.Cases
}

func (s sample) decode(maxPixels int) (image.Image, error) {
	if strings.HasPrefix(s.Name, "webp") {
		return WebP(s.File, maxPixels)
	}
	return JPEG(s.File, maxPixels)
}

// TestPixels requires every byte of the pixels to equal the byte that the C library decoded.
func TestPixels(t *testing.T) {
	for _, s := range samples(t) {
		t.Run(s.Name, func(t *testing.T) {
			img, err := s.decode(s.Width * s.Height)
			require.NoError(t, err)
			require.Equal(t, image.Rect(0, 0, s.Width, s.Height), img.Bounds())
			var got []byte
			for y := range s.Height {
				for x := range s.Width {
					if g, ok := img.At(x, y).(color.Gray); ok && s.Channels == 1 {
						got = append(got, g.Y)
						continue
					}
					c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
					got = append(got, []byte{c.R, c.G, c.B, c.A}[:s.Channels]...)
				}
			}
			require.Equal(t, s.Pixels, got)
		})
	}
}

func TestLimits(t *testing.T) {
	for _, s := range samples(t) {
		_, err := s.decode(s.Width*s.Height - 1)
		require.ErrorIs(t, err, ErrTooLarge, s.Name)
		for _, n := range []int{0, 3, 11, 20, len(s.File) / 2} {
			if n > 20 && strings.Contains(s.Name, "animated") {
				continue // half of the file may contain all of the first image, and only that is decoded
			}
			cut := s
			cut.File = s.File[:n]
			_, err = cut.decode(1 << 20)
			require.Error(t, err, "%s of %d bytes", s.Name, n)
		}
	}
}

// FuzzDecode checks that no file makes decoding panic, and that a decoded image has an allowed size.
func FuzzDecode(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.File)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, decode := range []func([]byte, int) (image.Image, error){JPEG, WebP} {
			if img, err := decode(b, 1<<12); err == nil {
				size := img.Bounds().Size()
				require.LessOrEqual(t, size.X*size.Y, 1<<12)
			}
		}
	})
}
