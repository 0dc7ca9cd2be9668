//go:build !linux

package protocol

// fakePlane offers no data plane, which is tested only on Linux.
type fakePlane struct{}

func (*fakePlane) invite(_ *fakeServer, b []byte, _ map[string]bool) []byte { return b }

func (t *fakeStream) planeCommand(byte, *fakeReader, func()) bool { return false }
