// Package photo decodes JPEG and WebP to the pixels that libjpeg-turbo and libwebp give, as most data that networks are
// trained on went through these: their chroma upsampling and their integer colour conversion. The standard library
// repeats chroma samples, and golang.org/x/image reads the video levels of WebP as full range.
//
// Functions have no state and are safe for concurrent use. Sizes are checked before memory is taken for pixels.
package photo

import (
	"errors"
	"fmt"
	"image"
)

// ErrTooLarge is wrapped by errors about images of more pixels than the caller allows.
var ErrTooLarge = errors.New("image too large")

func bearable(c image.Config, maxPixels int) error {
	if c.Width < 1 || c.Height < 1 || c.Width > maxPixels/c.Height {
		return fmt.Errorf("%w: %d×%d pixels, want 1 to %d", ErrTooLarge, c.Width, c.Height, maxPixels)
	}
	return nil
}
