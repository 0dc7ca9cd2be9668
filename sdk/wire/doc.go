// Package wire is the protocol between a host and a plugin process: its version, the handshake, the gRPC service, and the encoding of
// commands, data and errors on a stream. PROTOCOL.md describes the same for authors in other languages, and is normative. Only sdk/client,
// on the host, and sdk/serve, in the plugin, use this package. The package must not execute commands.
//
// Protobuf and gRPC message types do not appear here; each concept has a file with its conversions. Every decoder must withstand hostile
// input: it returns ErrProtocol, and allocates at most a small multiple of the size of its input.
package wire
