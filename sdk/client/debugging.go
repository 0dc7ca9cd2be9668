package client

import "github.com/hashicorp/go-hclog"

// debugging is the logger for go-plugin. The errors of this package say more about the end of a process than go-plugin's log, so
// go-plugin's lines are logged at level debug.
type debugging struct{ hclog.Logger }

func (d debugging) Info(msg string, args ...any)  { d.Debug(msg, args...) }
func (d debugging) Warn(msg string, args ...any)  { d.Debug(msg, args...) }
func (d debugging) Error(msg string, args ...any) { d.Debug(msg, args...) }

func (d debugging) With(args ...any) hclog.Logger         { return debugging{d.Logger.With(args...)} }
func (d debugging) Named(name string) hclog.Logger        { return debugging{d.Logger.Named(name)} }
func (d debugging) ResetNamed(name string) hclog.Logger   { return debugging{d.Logger.ResetNamed(name)} }
func (d debugging) Log(l hclog.Level, m string, a ...any) { d.Logger.Log(min(l, hclog.Debug), m, a...) }
