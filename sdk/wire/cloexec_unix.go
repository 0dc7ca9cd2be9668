//go:build unix && !linux

package wire

// closeOnExec is not there; only Linux passes descriptors with frames.
const closeOnExec = 0
