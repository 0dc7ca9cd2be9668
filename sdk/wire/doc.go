// Package wire is the protocol between a host and a plugin process: its version, the handshake, the gRPC service, and the
// encoding of commands, data and errors on a stream. PROTOCOL.md says the same for authors in other languages and is
// normative. Applications do not need this package: sdk/serve and sdk/client are its two ends.
//
// Protobuf and gRPC message types do not appear here; each concept has a file with its conversions. Every decoder must withstand
// hostile input: it returns ErrProtocol, and allocates at most a small multiple of the size of its input.
package wire
