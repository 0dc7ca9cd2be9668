package photo

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSamplingFactors compares the planes of files with every layout that image/jpeg reads, in one scan and in a scan for each
// component, with restart intervals and with wide tables.
func TestSamplingFactors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	layouts := [][]int{{0x11}, {0x22}, {0x11, 0x11, 0x11}, {0x12, 0x11, 0x11}, {0x21, 0x11, 0x11}, {0x22, 0x11, 0x11}, {0x41, 0x11, 0x11}, {0x42, 0x11, 0x11},
		{0x22, 0x21, 0x21}, {0x22, 0x12, 0x12}, {0x42, 0x21, 0x21}, {0x22, 0x22, 0x22}}
	for _, factors := range layouts {
		for k, s := range [][2]int{{1, 1}, {8, 8}, {9, 7}, {33, 17}, {40, 50}, {64, 3}, {5, 70}} {
			d := newDrawn(r, s[0], s[1], factors...)
			d.interval, d.wide = []int{0, 1, 3}[k%3], k%2 == 1
			if len(factors) == 3 && k%2 == 0 {
				d.scans = [][]int{{0}, {1}, {2}}
			} else if len(factors) == 3 && k%3 == 1 {
				d.scans = [][]int{{0}, {1, 2}}
			}
			t.Run(fmt.Sprintf("%x of %dx%d", factors, s[0], s[1]), func(t *testing.T) { comparePlanes(t, d) })
		}
	}
}

// comparePlanes compares the decoded coefficients with the written ones, and the samples before upsampling with the samples that
// image/jpeg decodes. The samples may differ by one, because the two decoders round the cosine transform differently.
func comparePlanes(t *testing.T, d *drawn) {
	file := d.encode()
	got := &jpegDecoder{data: file, maxPixels: 1 << 20, adobe: -1}
	require.NoError(t, got.decode())
	for i, p := range d.parts {
		for k := range p.blocks {
			if len(d.scans) > 1 && len(d.scans[min(i, len(d.scans)-1)]) == 1 && (k%p.across >= p.wide || k/p.across >= p.high) {
				continue // not written in a scan of one component
			}
			for j, v := range p.blocks[k] {
				require.Equal(t, v, int(got.parts[i].coefficients[64*k+j]), "component %d, block %d, coefficient %d", i, k, j)
			}
		}
	}
	total := 0
	for _, p := range d.parts {
		total += p.h * p.v
	}
	if d.interval > 0 && len(d.scans) > 1 || total > 10 && len(d.parts) > 1 {
		return // image/jpeg counts the blocks of such scans differently from T.81, and refuses more than ten blocks in an MCU
	}
	want, err := jpeg.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	planes := [][]byte{}
	strides := []int{}
	switch m := want.(type) {
	case *image.Gray:
		planes, strides = [][]byte{m.Pix}, []int{m.Stride}
	case *image.YCbCr:
		planes, strides = [][]byte{m.Y, m.Cb, m.Cr}, []int{m.YStride, m.CStride, m.CStride}
	}
	require.Len(t, got.parts, len(planes))
	for i, plane := range planes {
		p := &got.parts[i]
		samples := p.samples()
		w, h := up(d.w*p.h, got.maxH), up(d.h*p.v, got.maxV)
		for y := range h {
			for x := range w {
				a, b := int(samples[y*8*p.across+x]), int(plane[y*strides[i]+x])
				if a-b > 1 || b-a > 1 {
					t.Fatalf("component %d at %d,%d is %d, want %d", i, x, y, a, b)
				}
			}
		}
	}
	img, err := JPEG(file, d.w*d.h)
	require.NoError(t, err)
	require.Equal(t, image.Rect(0, 0, d.w, d.h), img.Bounds())
}

// TestUpsampling compares upsampled rows with a computation in float64. For some sampling factors libjpeg repeats samples; for the
// others it interpolates with the weights 3/4 and 1/4 in each direction.
func TestUpsampling(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		factors    []int
		fancyX     bool
		fancyY     bool
		dx, dy     int
		tinyRepeat bool // samples are repeated in planes of at most two samples in width
	}{
		{[]int{0x21, 0x11, 0x11}, true, false, 2, 1, true}, {[]int{0x22, 0x11, 0x11}, true, true, 2, 2, true}, {[]int{0x12, 0x11, 0x11}, false, true, 1, 2, false},
		{[]int{0x41, 0x11, 0x11}, false, false, 4, 1, false}, {[]int{0x14, 0x11, 0x11}, false, false, 1, 4, false}, {[]int{0x24, 0x11, 0x11}, false, false, 2, 4, false},
		{[]int{0x42, 0x11, 0x11}, false, false, 4, 2, false}, {[]int{0x33, 0x11, 0x11}, false, false, 3, 3, false}, {[]int{0x11, 0x11, 0x11}, false, false, 1, 1, false},
	} {
		for _, s := range [][2]int{{1, 1}, {2, 5}, {4, 4}, {5, 6}, {13, 11}, {40, 33}} {
			d := newDrawn(r, s[0], s[1], c.factors...)
			got := &jpegDecoder{data: d.encode(), maxPixels: 1 << 20, adobe: -1}
			require.NoError(t, got.decode())
			u := newUpsampler(&got.parts[1], d.w, d.h, got.maxH, got.maxV)
			w, h := up(d.w, c.dx), up(d.h, c.dy)
			fancyX, fancyY := c.fancyX, c.fancyY
			if c.tinyRepeat && w <= 2 {
				fancyX, fancyY = false, false
			}
			at := func(x, y int) float64 {
				return float64(u.plane[min(max(y, 0), h-1)*u.stride+min(max(x, 0), w-1)])
			}
			for y := range d.h {
				row := u.row(y)
				for x := range d.w {
					x0, x1, y0, y1 := x/c.dx, x/c.dx, y/c.dy, y/c.dy
					if fancyX {
						x1 += 2*(x%2) - 1
					}
					if fancyY {
						y1 += 2*(y%2) - 1
					}
					want := (9*at(x0, y0) + 3*at(x1, y0) + 3*at(x0, y1) + at(x1, y1)) / 16
					if diff := math.Abs(want - float64(row[x])); diff >= 1 || !fancyX && !fancyY && diff != 0 {
						t.Fatalf("%x of %v at %d,%d is %d, want %v", c.factors, s, x, y, row[x], want)
					}
				}
			}
		}
	}
}

// TestInverseTransform compares the integer transform with the definition of the inverse cosine transform (T.81, A.3.3).
func TestInverseTransform(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var ones [64]int32
	for i := range ones {
		ones[i] = 1
	}
	for range 200 {
		p := part{across: 1, down: 1, coefficients: make([]int16, 64), quant: &ones}
		var f [64]float64
		for range 1 + r.IntN(20) {
			k := r.IntN(64)
			v := r.IntN(400) - 200
			p.coefficients[k], f[zigzag[k]] = int16(v), float64(v)
		}
		got := p.samples()
		for y := range 8 {
			for x := range 8 {
				sum := 0.0
				for v := range 8 {
					for u := range 8 {
						scale := 1.0
						if u == 0 {
							scale *= math.Sqrt2 / 2
						}
						if v == 0 {
							scale *= math.Sqrt2 / 2
						}
						sum += scale * f[8*v+u] * math.Cos(float64(2*x+1)*float64(u)*math.Pi/16) * math.Cos(float64(2*y+1)*float64(v)*math.Pi/16)
					}
				}
				want := min(max(sum/4+128, 0), 255)
				if math.Abs(want-float64(got[8*y+x])) > 1 {
					t.Fatalf("at %d,%d: %d, want %v", x, y, got[8*y+x], want)
				}
			}
		}
	}
}

// TestColourSpaces: an Adobe marker and the names of components decide between YCbCr and RGB, as in libjpeg.
func TestColourSpaces(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct {
		name  string
		adobe int
		ids   string
		rgb   bool
	}{{"no marker", -1, "\x01\x02\x03", false}, {"adobe ycc", 1, "\x01\x02\x03", false}, {"adobe rgb", 0, "\x01\x02\x03", true}, {"names", -1, "RGB", true},
		{"names and adobe ycc", 1, "RGB", false}} {
		t.Run(c.name, func(t *testing.T) {
			d := newDrawn(r, 8, 8, 0x11, 0x11, 0x11)
			d.adobe = c.adobe
			level := [3]int{}
			for i := range d.parts {
				d.parts[i].id = int(c.ids[i])
				d.parts[i].blocks = [][64]int{{0: 20*i - 30}} // a block of one colour
				level[i] = 128 + (20*i-30)*quantum(min(i, 1), 0)/8
			}
			img, err := JPEG(d.encode(), 64)
			require.NoError(t, err)
			want := color.NRGBA{uint8(level[0]), uint8(level[1]), uint8(level[2]), 255}
			if !c.rgb {
				red, green, blue := color.YCbCrToRGB(uint8(level[0]), uint8(level[1]), uint8(level[2]))
				want = color.NRGBA{red, green, blue, 255}
			}
			got := color.NRGBAModel.Convert(img.At(3, 4)).(color.NRGBA)
			for i, v := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B)} {
				require.LessOrEqual(t, max(v, -v), 1, "channel %d of %v, want %v", i, got, want)
			}
		})
	}
}

// TestPrefixCode decodes random data by random canonical codes, complete and incomplete, and compares the symbols with naive.
func TestPrefixCode(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 300 {
		var counts [16]int
		var values []byte
		words := map[[2]int]byte{} // length and word
		word, free := 0, 1
		for i := range counts {
			word, free = word<<1, free<<1
			n := min(r.IntN(free+1), 60, 256-len(values))
			if r.IntN(3) == 0 {
				n = 0
			}
			counts[i] = n
			for range n {
				v := byte(r.Uint32())
				words[[2]int{i + 1, word}] = v
				values = append(values, v)
				word++
				free--
			}
		}
		c, err := newPrefixCode(counts, values)
		require.NoError(t, err, "%v", counts)
		data := make([]byte, 40)
		for i := range data {
			data[i] = byte(r.IntN(255)) // without markers
		}
		bits := bitReader{data: data}
		for at := 0; ; {
			want, length := naive(words, data, at)
			got, err := bits.symbol(c)
			if length == 0 {
				require.Error(t, err)
				break
			}
			require.NoError(t, err)
			require.Equal(t, int(want), got, "at bit %d", at)
			at += length
		}
	}
	for _, over := range [][16]int{{3}, {2, 1}, {1, 3}, {0, 0, 0, 17}} {
		_, err := newPrefixCode(over, make([]byte, 32))
		require.Error(t, err, "more words than a code has: %v", over)
	}
}

// naive returns the value of the code word at a bit, and its length, or 0 if none begins there.
func naive(words map[[2]int]byte, data []byte, at int) (byte, int) {
	word := 0
	for length := 1; length <= 16 && at+length <= 8*len(data); length++ {
		bit := at + length - 1
		word = word<<1 | int(data[bit/8]>>(7-bit%8))&1
		if v, ok := words[[2]int{length, word}]; ok {
			return v, length
		}
	}
	return 0, 0
}
