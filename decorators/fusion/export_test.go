package fusion

import "github.com/goburn/burn/core/program/window"

// Options that plant faults.

func OnCompile(f func()) Option      { return func(c *config) { c.compile = f } }
func DonateAs(f func([]bool)) Option { return func(c *config) { c.donate = f } }
func ForgetAttrs() Option            { return func(c *config) { c.hash.Attrs, c.trust = true, true } }
func ForgetOperands() Option         { return func(c *config) { c.hash.Operands, c.trust = true, true } }
func ForgetTypes() Option            { return func(c *config) { c.hash.Types, c.trust = true, true } }
func CollidingHashes() Option {
	return func(c *config) { c.hash = window.Faults{Attrs: true, Operands: true, Types: true} }
}

// AtFirstSight makes a program of each window at its first occurrence.
func AtFirstSight() Option { return func(c *config) { c.always = true } }
