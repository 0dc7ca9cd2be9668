//go:build unix && !linux

package wire

// closeOnExec is 0: only Linux passes descriptors with frames.
const closeOnExec = 0
