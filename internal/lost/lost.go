// Package lost compares the ways in which a backend was lost, for those who decide whether to start it again.
package lost

import (
	"errors"
	"regexp"
)

// Transient reports whether a backend was lost for a reason outside of it, such as a signal that somebody sent: an error below err has
// a method Transient that reports true.
func Transient(err error) bool {
	var t interface{ Transient() bool }
	return errors.As(err, &t) && t.Transient()
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// Way returns how a backend was lost: the text of the error without the numbers of processes, addresses, tensors and times.
func Way(err error) string { return numbers.ReplaceAllString(err.Error(), "#") }
