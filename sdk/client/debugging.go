package client

import "github.com/hashicorp/go-hclog"

// debugging is the logger for go-plugin. What go-plugin reports of a process that ends is in the errors of this package too,
// which say more of it, so that its own lines are for debugging alone.
type debugging struct{ hclog.Logger }

func (d debugging) Info(msg string, args ...any)  { d.Debug(msg, args...) }
func (d debugging) Warn(msg string, args ...any)  { d.Debug(msg, args...) }
func (d debugging) Error(msg string, args ...any) { d.Debug(msg, args...) }

func (d debugging) With(args ...any) hclog.Logger         { return debugging{d.Logger.With(args...)} }
func (d debugging) Named(name string) hclog.Logger        { return debugging{d.Logger.Named(name)} }
func (d debugging) ResetNamed(name string) hclog.Logger   { return debugging{d.Logger.ResetNamed(name)} }
func (d debugging) Log(l hclog.Level, m string, a ...any) { d.Logger.Log(min(l, hclog.Debug), m, a...) }
