package fusion

import "github.com/goburn/burn/core/op"

// Faults to be planted.

func OnCompile(f func()) Option      { return func(c *config) { c.compile = f } }
func DonateAs(f func([]bool)) Option { return func(c *config) { c.donate = f } }
func ForgetAttrs() Option            { return func(c *config) { c.attrs, c.trust = true, true } }
func ForgetOperands() Option         { return func(c *config) { c.operands, c.trust = true, true } }
func ForgetTypes() Option            { return func(c *config) { c.types, c.trust = true, true } }
func CollidingHashes() Option {
	return func(c *config) { c.attrs, c.operands, c.types = true, true, true }
}

// AtFirstSight makes programs of all windows at once.
func AtFirstSight() Option { return func(c *config) { c.always = true } }

// Draws reports whether nodes of an op draw by a seed and a counter.
func Draws(c op.Code) bool { return drawing[c] }
