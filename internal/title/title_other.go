//go:build !linux

package title

const known = false
