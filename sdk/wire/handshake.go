package wire

import "time"

// The handshake of go-plugin. A plugin that is started without the cookie says what it is and exits.
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
	// EnvHostPID is the process id of the host: a plugin whose parent is another process ends.
	EnvHostPID = "BURN_HOST_PID"
	// EnvHostPipe is "stdin" when standard input is a pipe that the host holds open: at its end the plugin ends.
	EnvHostPipe = "BURN_HOST_PIPE"
	// EnvLog is the least level that the plugin logs at: trace, debug, info, warn, error, off.
	EnvLog = "BURN_PLUGIN_LOG"
	// EnvReattach holds the plugins that run already, for a debugger: JSON of name to Attach.
	EnvReattach = "BURN_REATTACH"
	// EnvDataPlane limits the transports that a host uses beyond gRPC: "off", "socket", or "on", the default.
	EnvDataPlane = "BURN_DATAPLANE"
)

// The features that either side may declare in Hello.
const (
	// FeatureSocket: streams may run over a unix socket of their own instead of gRPC.
	FeatureSocket = "socket"
	// FeatureMemfd: on such streams large tensors go through shared memory.
	FeatureMemfd = "memfd"
)

// Limits of the protocol. Each side refuses what exceeds them.
const (
	// MaxFrame is the greatest length of a frame in bytes.
	MaxFrame = 4 << 20
	// ChunkSize is the data in one chunk of a tensor; the last may hold less.
	ChunkSize = 1 << 20
	// MaxInline is the greatest tensor that a Write carries within a batch; larger ones go in chunks.
	MaxInline = 64 << 10
	// MaxName is the greatest length of the name of an op or attribute, and MaxText that of other text.
	MaxName = 256
	MaxText = 64 << 10
	// MaxNames bounds the number of interned names of each kind on a stream.
	MaxNames = 1 << 16
	// MaxAttrs bounds the attributes of a node.
	MaxAttrs = 256
	// MaxErrorDepth bounds how deep errors nest.
	MaxErrorDepth = 8
	// MaxBlamed bounds the tensors that an error names.
	MaxBlamed = 64
	// MaxEvents bounds the events of a stream after the last one for which an await was answered.
	MaxEvents = 1 << 16
	// MaxRequests bounds the requests of a stream that are not answered.
	MaxRequests = 1 << 16
	// MaxDevices bounds the devices of a backend, and MaxFeatures the features that a side declares.
	MaxDevices  = 1 << 10
	MaxFeatures = 1 << 8
	// MaxSegments bounds the segments of shared memory of a stream, and TokenSize is the length of a token.
	MaxSegments = 1 << 14
	TokenSize   = 32
)

// Attach is the address of a plugin that runs already, without TLS, in the format of BURN_REATTACH.
type Attach struct {
	PID      int    `json:"pid"`
	Network  string `json:"network"` // "unix" or "tcp"
	Addr     string `json:"addr"`
	Protocol int    `json:"protocol"` // the newest version it speaks
}

// CallTimeout bounds calls of the contract that have no context of their own.
const CallTimeout = 5 * time.Second
