// Package protocol tests whether a plugin process, written in any language, follows sdk/wire/PROTOCOL.md. It acts as a host that is
// correct, late, hostile or gone, and checks the plugin's reactions. Each Rule quotes the sentence of the document that it checks. Package
// conformance tests the results of ops; this package only transmits them.
//
// It must not use sdk/client, nor the encoder and decoder of sdk/wire: it encodes the messages itself, so that an error in those packages
// is found here and not shared.
package protocol
