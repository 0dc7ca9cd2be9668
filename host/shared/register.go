package shared

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/serve"
)

func init() { host.RegisterLoader(Open) }

// Serve runs the shared object at path as the plugin process that a host has started (host.Options.Carrier), until the host stops it or
// exits. If the file does not have the name of a plugin, the plugin is served under the file's name, because a plugin that is started by
// path may have any name.
func Serve(path string) error {
	base := filepath.Base(path)
	name := cmp.Or(host.PluginName(path), strings.TrimSuffix(base, filepath.Ext(base)), "plugin")
	return serve.Serve(serve.Options{Name: name, Open: func(c core.Config) (core.Backend, error) { return Open(path, c) }})
}
