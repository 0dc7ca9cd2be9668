// Package protocol certifies that a plugin process keeps sdk/wire/PROTOCOL.md, in whatever language it is written: a host that
// is right, late, hostile or gone, and looks at what the plugin does then. Each Rule quotes the sentence of the document that
// it checks. It stands beside package conformance, which tests what a backend computes: the ops matter here only as something
// to carry.
//
// It must not use sdk/client, nor the encoder and decoder of sdk/wire: it writes the bytes of the document itself, so that an error
// in those is found here and not shared.
package protocol
