package cli

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host"
)

// TestDeviceVersion checks that the version shown is the one in the manifest, which is installed and locked.
func TestDeviceVersion(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out}
	one := []host.Device{{DeviceInfo: core.DeviceInfo{Name: "x", Kind: "npu"}}}
	require.NoError(t, a.printDevices([]host.Status{
		{Name: "a", Transport: "process", State: host.Ready, Version: "0.9.1", Devices: one, Manifest: &host.Manifest{Version: "1.2.0"}},
		{Name: "b", Transport: "process", State: host.Ready, Version: "0.9.1", Devices: one, Manifest: &host.Manifest{Version: "0.9.1"}},
		{Name: "c", Transport: "process", State: host.Ready, Version: "0.9.1", Devices: one},
		{Name: "d", Transport: "process", State: host.Ready, Devices: one, Manifest: &host.Manifest{Version: "2.0.0"}},
	}))
	require.Regexp(t, `(?m)^process:a:0 .* 1\.2\.0 \(backend 0\.9\.1\) `, out.String())
	require.Regexp(t, `(?m)^process:b:0 .* 0\.9\.1  +- `, out.String())
	require.Regexp(t, `(?m)^process:c:0 .* 0\.9\.1  +- `, out.String())
	require.Regexp(t, `(?m)^process:d:0 .* 2\.0\.0  +- `, out.String())
}
