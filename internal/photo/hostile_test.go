package photo

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTruncated decodes the prefixes of every sample that lack at least three bytes. Decoding must fail, except that it may return the
// first frame of an animation if that frame is complete.
func TestTruncated(t *testing.T) {
	for _, s := range samples(t) {
		step := 1
		if testing.Short() {
			step = 7
		}
		for n := 0; n < len(s.File)-2; n += step {
			c := s
			c.File = s.File[:n:n]
			img, err := c.decode(1 << 16)
			if strings.HasPrefix(s.Name, "jpeg") {
				require.Error(t, err, "%s of %d bytes", s.Name, n)
			} else if err == nil { // an animation whose first frame is whole
				require.Equal(t, image.Rect(0, 0, s.Width, s.Height), img.Bounds(), s.Name)
				require.Contains(t, s.Name, "animated")
			}
		}
	}
}

// TestChangedBytes changes bytes of every sample. A file may decode to other pixels; it must not panic, and its size is limited.
func TestChangedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	rounds := 150
	if testing.Short() {
		rounds = 15
	}
	for _, s := range samples(t) {
		for range rounds {
			c := s
			c.File = bytes.Clone(s.File)
			for range 1 + r.IntN(3) {
				at := r.IntN(len(c.File))
				if r.IntN(2) == 0 {
					at = r.IntN(min(200, len(c.File))) // headers are at the beginning
				}
				c.File[at] = []byte{0, 0xff, byte(r.Uint32()), c.File[at] ^ 1<<r.IntN(8)}[r.IntN(4)]
			}
			if img, err := c.decode(1 << 13); err == nil {
				require.LessOrEqual(t, img.Bounds().Dx()*img.Bounds().Dy(), 1<<13)
			}
		}
	}
}

// TestHeadersAllocateNothing checks that the size of an image is compared with the limit before memory is allocated for the image.
func TestHeadersAllocateNothing(t *testing.T) {
	vast := &drawn{w: 65535, h: 65535, adobe: -1, scans: [][]int{{0}}, parts: []drawnPart{{id: 1, h: 1, v: 1, across: 1, down: 1, wide: 1, high: 1, blocks: make([][64]int, 1)}}}
	files := map[string][]byte{
		"jpeg":           vast.encode(),
		"webp canvas":    riff(vp8x(2, 1<<24, 1<<24), chunkOf("ANMF", append(make([]byte, 16), chunkOf("VP8L", make([]byte, 6))...))),
		"webp lossless":  riff(chunkOf("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0})),
		"webp lossy":     riff(chunkOf("VP8 ", []byte{0x30, 0, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f, 0, 0})),
		"webp extended":  riff(vp8x(0x10, 1<<14, 1<<14), chunkOf("ALPH", []byte{0, 1, 2})),
		"webp animation": riff(vp8x(2, 100, 100), chunkOf("ANMF", append(append(u24s(0, 0, 99, 99, 1), 0), chunkOf("VP8L", []byte{0x2f, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0})...))),
	}
	for name, file := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decode := WebP
		if name == "jpeg" {
			decode = JPEG
		}
		_, err := decode(file, 1<<20)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrTooLarge, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), name)
	}
}

func u24s(values ...int) (b []byte) {
	for _, v := range values {
		b = append(b, byte(v), byte(v>>8), byte(v>>16))
	}
	return b
}

func chunkOf(name string, body []byte) []byte {
	out := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(body)))
	if out = append(out, body...); len(body)%2 == 1 {
		out = append(out, 0)
	}
	return out
}

func riff(chunks ...[]byte) []byte {
	body := append([]byte("WEBP"), bytes.Join(chunks, nil)...)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func vp8x(flags byte, w, h int) []byte {
	return chunkOf("VP8X", append([]byte{flags, 0, 0, 0}, u24s(w-1, h-1)...))
}

// TestBrokenContainers decodes WebP containers that are broken in the ways that their names tell, and two sound ones.
func TestBrokenContainers(t *testing.T) {
	var still, moving sample
	for _, s := range samples(t) {
		switch s.Name {
		case "webp lossless":
			still = s
		case "webp animated lossless":
			moving = s
		}
	}
	bits := still.File[12:] // the chunk of the image
	anmf := func(x, y, w, h int, chunks ...[]byte) []byte {
		return chunkOf("ANMF", append(append(u24s(x/2, y/2, w-1, h-1, 1), 0), bytes.Join(chunks, nil)...))
	}
	long := bytes.Clone(moving.File)
	binary.LittleEndian.PutUint32(long[16:], math.MaxUint32)
	for name, c := range map[string]struct {
		file []byte
		ok   bool
	}{
		"whole":                      {riff(vp8x(2, 45, 37), anmf(0, 0, 45, 37, bits)), true},
		"moved":                      {riff(vp8x(2, 60, 50), anmf(14, 12, 45, 37, bits)), true},
		"nothing":                    {nil, false},
		"no type":                    {[]byte("RIFF\x04\x00\x00\x00"), false},
		"another type":               {[]byte("RIFF\x04\x00\x00\x00WAVE"), false},
		"no chunks":                  {riff(), false},
		"no image":                   {riff(chunkOf("EXIF", []byte{1, 2, 3})), false},
		"a chunk beyond the file":    {long, false},
		"an animation of no frames":  {riff(vp8x(2, 45, 37)), false},
		"a short frame":              {riff(vp8x(2, 45, 37), chunkOf("ANMF", make([]byte, 15))), false},
		"a frame without an image":   {riff(vp8x(2, 45, 37), anmf(0, 0, 45, 37, chunkOf("EXIF", nil))), false},
		"a frame beside the canvas":  {riff(vp8x(2, 45, 37), anmf(2, 0, 45, 37, bits)), false},
		"a frame below the canvas":   {riff(vp8x(2, 45, 37), anmf(0, 36, 45, 37, bits)), false},
		"a frame far off":            {riff(vp8x(2, 45, 37), anmf(1<<24, 1<<24, 45, 37, bits)), false},
		"alpha with lossless":        {riff(vp8x(2, 45, 37), anmf(0, 0, 45, 37, chunkOf("ALPH", []byte{0}), bits)), false},
		"another size in the header": {riff(vp8x(0, 44, 37), bits), false},
	} {
		img, err := WebP(c.file, 1<<20)
		if !c.ok {
			require.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		plain, err := still.decode(1 << 20)
		require.NoError(t, err)
		dx, dy := img.Bounds().Dx()-45, img.Bounds().Dy()-37
		for y := range 37 {
			for x := range 45 {
				at := color.NRGBAModel.Convert(img.At(x+min(dx, 14), y+min(dy, 12)))
				require.Equal(t, color.NRGBAModel.Convert(plain.At(x, y)), at, "%s at %d,%d", name, x, y)
			}
		}
		if dx > 0 {
			require.Equal(t, color.NRGBA{}, img.At(59, 49), "outside the frame")
		}
	}
}

// TestVideoRange compares FromWebP with the conversion of ITU-R BT.601 in float64, where luma 16 is black and 235 is white.
func TestVideoRange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, s := range [][2]int{{1, 1}, {2, 2}, {3, 5}, {16, 9}, {31, 4}} {
		m := image.NewYCbCr(image.Rect(0, 0, s[0], s[1]), image.YCbCrSubsampleRatio420)
		for _, plane := range [][]byte{m.Y, m.Cb, m.Cr} {
			for i := range plane {
				plane[i] = byte(16 + r.IntN(220))
			}
		}
		out := FromWebP(m)
		w, h := (s[0]+1)/2, (s[1]+1)/2
		for y := range s[1] {
			for x := range s[0] {
				chroma := func(plane []byte) float64 {
					at := func(x, y int) float64 {
						return float64(plane[min(max(y, 0), h-1)*m.CStride+min(max(x, 0), w-1)])
					}
					cx, cy := x/2, y/2
					nx, ny := cx-1+2*(x%2), cy-1+2*(y%2)
					return (9*at(cx, cy)+3*at(nx, cy)+3*at(cx, ny)+at(nx, ny))/16 - 128
				}
				luma, u, v := 255.0/219*float64(int(m.Y[y*m.YStride+x])-16), 255.0/224*chroma(m.Cb), 255.0/224*chroma(m.Cr)
				want := [3]float64{luma + 1.402*v, luma - 0.344136*u - 0.714136*v, luma + 1.772*u}
				for i, f := range want {
					got := float64(out.Pix[y*out.Stride+4*x+i])
					if math.Abs(got-min(max(f, 0), 255)) > 2.5 { // the upsampled chroma is rounded to a whole number
						t.Fatalf("%v: channel %d at %d,%d is %v, want %v", s, i, x, y, got, f)
					}
				}
				require.Equal(t, byte(255), out.Pix[y*out.Stride+4*x+3])
			}
		}
	}
}
