// Package client is the host side of a plugin: it starts a plugin process and returns a core.Backend that forwards commands to it. It
// stands between package host and sdk/serve in the plugin. It must not search for plugins or decide which plugins are trusted.
//
// Commands are collected and sent in batches: when there are enough, when a Read, a Define or the wait for an event needs them, or a moment
// after the first. When the process is gone, every call, including those in flight, returns an ErrBackendLost that names the plugin and how
// it ended.
package client
