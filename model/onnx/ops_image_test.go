package onnx

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
)

func TestDecodeImage(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	img.SetNRGBA(0, 0, color.NRGBA{R: 10, G: 20, B: 30, A: 255})
	img.SetNRGBA(1, 0, color.NRGBA{R: 255, A: 255})
	var encoded bytes.Buffer
	require.NoError(t, png.Encode(&encoded, img))
	pnm := append([]byte("P6 # a comment\n2 1\n255\n"), 10, 20, 30, 255, 0, 0)
	for format, want := range map[string][]byte{
		"RGB":       {10, 20, 30, 255, 0, 0},
		"BGR":       {30, 20, 10, 0, 0, 255},
		"Grayscale": {18, 76}, // 0.299 R + 0.587 G + 0.114 B
	} {
		for _, data := range [][]byte{encoded.Bytes(), pnm} {
			out, err := decodeImage(data, format)
			require.NoError(t, err)
			require.Equal(t, want, out[0].Data, format)
			require.Equal(t, []int{1, 2, len(want) / 2}, []int(out[0].Shape))
		}
	}
	for _, other := range []string{"\x00\x00\x00\x0cjP  \r\n\x87\n and more", "\xff\x4f\xff\x51\x00", "GIF89a", ""} {
		_, err := decodeImage([]byte(other), "RGB")
		require.ErrorIs(t, err, core.ErrUnsupported, other)
	}
	for _, broken := range []string{"\xff\xd8\xff\xe0 a photograph", "RIFF\x08\x00\x00\x00WEBPVP8 "} {
		_, err := decodeImage([]byte(broken), "RGB")
		require.ErrorIs(t, err, ErrInput, broken)
	}
	var large bytes.Buffer
	require.NoError(t, jpeg.Encode(&large, image.NewGray(image.Rect(0, 0, 8, 8)), nil))
	frame := bytes.Index(large.Bytes(), []byte{0xff, 0xc0})
	copy(large.Bytes()[frame+5:], []byte{0xff, 0xff, 0xff, 0xff}) // height and width
	_, err := decodeImage(large.Bytes(), "RGB")
	require.ErrorIs(t, err, ErrLimit)
	_, err = decodeImage(encoded.Bytes()[:40], "RGB")
	require.Error(t, err)
	for _, bad := range []string{"P6", "P6 2 1 255", "P6 2 2 255\nabc", "P6 99999999 99999999 255\n", "P5 1 1 65535\n  "} {
		_, err = decodeImage([]byte(bad), "RGB")
		require.ErrorIs(t, err, ErrInput, bad)
	}
}
