// Package client is the host side of a plugin: a core.Backend over the connection to a plugin process.
//
// Commands are collected and cross the process boundary in batches: when enough have come together, when a Read, a Define
// or the wait for an event needs them, or a moment after the first. A process that is gone makes every call an
// ErrBackendLost, those in flight as well, that names the plugin and how it ended.
package client
