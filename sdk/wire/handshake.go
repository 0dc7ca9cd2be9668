package wire

import "time"

// The handshake of go-plugin. A plugin that is started without the cookie prints what it is and exits.
const (
	CookieKey   = "BURN_PLUGIN"
	CookieValue = "c7a9f5d0-burn-backend"
	// HandshakeVersion is the version in go-plugin's handshake line. It never changes: versions are negotiated in Hello.
	HandshakeVersion = 1
	// PluginName is the name of the one service in go-plugin's plugin set.
	PluginName = "backend"
)

// The environment variables that a host sets for a plugin, in addition to go-plugin's.
const (
	// EnvHostPID is the process id of the host. A plugin ends when its parent is another process.
	EnvHostPID = "BURN_HOST_PID"
	// EnvHostPipe is "stdin" if standard input is a pipe that the host holds open: the plugin ends when the pipe does.
	EnvHostPipe = "BURN_HOST_PIPE"
	// EnvLog is the least severe level that the plugin logs: trace, debug, info, warn, error, off.
	EnvLog = "BURN_PLUGIN_LOG"
	// EnvReattach lists plugins that are already running, for instance in a debugger: a JSON object of Attach by name.
	EnvReattach = "BURN_REATTACH"
	// EnvDataPlane limits the transports that a host uses beyond gRPC: "off", "socket", or "on", the default.
	EnvDataPlane = "BURN_DATAPLANE"
)

// The features that either side may declare in Hello.
const (
	// FeatureSocket: each stream may run over a separate unix socket instead of gRPC.
	FeatureSocket = "socket"
	// FeatureMemfd: on such streams large tensors go through shared memory.
	FeatureMemfd = "memfd"
)

// Limits of the protocol. Each side refuses messages that exceed the limits.
const (
	// MaxFrame is the greatest length of a frame in bytes.
	MaxFrame = 4 << 20
	// ChunkSize is the data in one chunk of a tensor; the last chunk may hold less.
	ChunkSize = 1 << 20
	// MaxInline is the greatest size in bytes of a tensor that is written within a batch; larger tensors are sent in chunks.
	MaxInline = 64 << 10
	// MaxName is the greatest length of the name of an op or attribute, and MaxText the greatest length of other text.
	MaxName = 256
	MaxText = 64 << 10
	// MaxNames bounds the number of interned names of each kind on a stream.
	MaxNames = 1 << 16
	// MaxAttrs bounds the attributes of a node.
	MaxAttrs = 256
	// MaxErrorDepth bounds the nesting of errors.
	MaxErrorDepth = 8
	// MaxBlamed bounds the tensors that an error names.
	MaxBlamed = 64
	// MaxEvents bounds the events of a stream after the last event for which an await was answered.
	MaxEvents = 1 << 16
	// MaxRequests bounds the unanswered requests of a stream.
	MaxRequests = 1 << 16
	// MaxDevices bounds the devices of a backend, and MaxFeatures the features that a side declares.
	MaxDevices  = 1 << 10
	MaxFeatures = 1 << 8
	// MaxSegments bounds the segments of shared memory of a stream, and TokenSize is the length of a token.
	MaxSegments = 1 << 14
	TokenSize   = 32
)

// Attach is the address of a plugin that is already running, without TLS, in the format of BURN_REATTACH.
type Attach struct {
	PID      int    `json:"pid"`
	Network  string `json:"network"` // "unix" or "tcp"
	Addr     string `json:"addr"`
	Protocol int    `json:"protocol"` // the newest version that it supports
}

// CallTimeout bounds calls of the contract that have no context parameter.
const CallTimeout = 5 * time.Second
