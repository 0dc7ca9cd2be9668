package shared

import (
	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/sdk/serve"
)

func init() { host.RegisterLoader(Open) }

// Serve runs the shared object at path as the plugin process that a host has started (host.Options.Carrier), until the host
// ends it or is gone.
func Serve(path string) error {
	return serve.Serve(serve.Options{Name: host.PluginName(path), Open: func(c core.Config) (core.Backend, error) { return Open(path, c) }})
}
