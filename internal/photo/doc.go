// Package photo decodes JPEG and WebP images, for readers of images such as model/onnx and internal/imagein. It must return the same pixels
// as libjpeg-turbo and libwebp, because most training data was decoded by these libraries: it reproduces their chroma upsampling and
// integer colour conversion. The standard library repeats chroma samples, and golang.org/x/image treats the video range of WebP as full
// range.
//
// Functions have no state and are safe for concurrent use. Sizes are checked before memory is allocated for pixels.
package photo

import (
	"errors"
	"fmt"
	"image"
)

// ErrTooLarge is wrapped by errors for images with more pixels than the caller allows.
var ErrTooLarge = errors.New("image too large")

func bearable(c image.Config, maxPixels int) error {
	if c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height {
		return fmt.Errorf("%w: %d×%d pixels, want 1 to %d", ErrTooLarge, c.Width, c.Height, maxPixels)
	}
	return nil
}
