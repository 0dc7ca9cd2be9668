//go:build !unix

package tomlfile

const nonblock = 0
