//go:build !linux

package vendor

// KeepStdout does nothing, as no library is loaded.
func KeepStdout() error { return nil }
