//go:build !unix

package wire

import (
	"context"
	"errors"
	"net"
	"os"
)

// link is a stub: on this system streams run over gRPC.
type link struct{ ctx context.Context }

var errNoLink = errors.ErrUnsupported

func (l *link) send(*Frame) error        { return errNoLink }
func (l *link) receive() (*Frame, error) { return nil, errNoLink }
func (l *link) closeSend() error         { return errNoLink }

// HostLink fails on this system.
func HostLink(context.Context, *net.UnixConn) (*FrameStream, error) { return nil, errNoLink }

// PluginLink fails on this system.
func PluginLink(context.Context, *net.UnixConn, bool) (*FrameStream, error) { return nil, errNoLink }

// Close does nothing: streams over gRPC end with their call.
func (s *FrameStream) Close() {}

// Next waits for a frame and calls handle with it, as Receive does.
func (s *FrameStream) Next(handle func(*Frame) error) error { return s.next(handle) }

// Poll finds no frames.
func (s *FrameStream) Poll(func(*Frame) error) (some bool, err error) { return false, nil }

// Watch does nothing.
func (s *FrameStream) Watch(*Pace, func() bool, func(*Frame) error) error { return nil }

// Sleep does nothing.
func (s *FrameStream) Sleep() {}

// Wake does nothing.
func (s *FrameStream) Wake() {}

// ReleaseFiles does nothing.
func (s *FrameStream) ReleaseFiles() {}

// File returns no file.
func (s *FrameStream) File() (fd int, ok bool) { return -1, false }

// TrySend takes nothing.
func (s *FrameStream) TrySend(*Frame) (taken, more bool) { return false, false }

// Flush does nothing.
func (s *FrameStream) Flush() error { return nil }

// SendFile fails.
func (s *FrameStream) SendFile(*Frame, *os.File) error { return errNoLink }

// Carrier is a stub on this system.
type Carrier struct{}

// Dial fails.
func Dial(context.Context, string, []byte) (*Carrier, error) { return nil, errNoLink }

// Close does nothing.
func (c *Carrier) Close() error { return nil }

// Open fails.
func (c *Carrier) Open(context.Context) (*FrameStream, error) { return nil, errNoLink }

// NextSocket fails.
func NextSocket(*net.UnixConn) (*net.UnixConn, error) { return nil, errNoLink }
