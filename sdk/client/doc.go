// Package client is the host side of a plugin: a core.Backend over the connection to a plugin process.
//
// Commands are collected and sent in batches: when there are enough, when a Read, a Define or the wait for an event needs them,
// or a moment after the first. When the process is gone, every call, including those in flight, returns an ErrBackendLost that
// names the plugin and how it ended.
package client
