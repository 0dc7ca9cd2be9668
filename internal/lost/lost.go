// Package lost compares the causes of lost backends, for packages host/restore and train, which decide whether to restart one. It must not
// restart a backend itself.
package lost

import (
	"errors"
	"regexp"
)

// Transient reports whether a backend was lost for an external reason, such as a signal from another process: an error in the
// chain of err has a method Transient that returns true.
func Transient(err error) bool {
	var t interface{ Transient() bool }
	return errors.As(err, &t) && t.Transient()
}

var numbers = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// Way returns the cause of a loss in a form that can be compared: the text of the error without the numbers of processes,
// addresses, tensors and times.
func Way(err error) string { return numbers.ReplaceAllString(err.Error(), "#") }
