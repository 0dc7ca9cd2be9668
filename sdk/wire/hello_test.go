package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/core"
)

// TestWelcomeLimits: a plugin cannot claim more devices, nor longer texts, than the protocol allows.
func TestWelcomeLimits(t *testing.T) {
	devices := func(n int) []core.DeviceInfo {
		all := make([]core.DeviceInfo, n)
		for i := range all {
			all[i].Index = i
		}
		return all
	}
	long := strings.Repeat("x", MaxName+1)
	require.NoError(t, (&Welcome{Info: core.Info{Name: "x", Devices: devices(MaxDevices)}, Features: []string{FeatureSocket}}).check())
	for want, w := range map[string]*Welcome{
		"1900000 devices, want at most 1024":        {Info: core.Info{Devices: devices(1900000)}},
		"device index 0, want each once":            {Info: core.Info{Devices: make([]core.DeviceInfo, 2)}},
		"device index -1":                           {Info: core.Info{Devices: []core.DeviceInfo{{Index: -1}}}},
		"name of 257 bytes, want at most 256":       {Info: core.Info{Name: long}},
		"version of 257 bytes":                      {Info: core.Info{Version: long}},
		"vendor of 257 bytes":                       {Info: core.Info{Vendor: long}},
		"name of a device of 257 bytes":             {Info: core.Info{Devices: []core.DeviceInfo{{Name: long}}}},
		"kind of a device of 257 bytes":             {Info: core.Info{Devices: []core.DeviceInfo{{Kind: long}}}},
		"detail of a device of 65537 bytes":         {Info: core.Info{Devices: []core.DeviceInfo{{Detail: strings.Repeat("x", MaxText+1)}}}},
		"257 features, want at most 256":            {Features: make([]string, MaxFeatures+1)},
		"feature of 257 bytes":                      {Features: []string{long}},
		"socket of 65537 bytes, want at most 65536": {Socket: strings.Repeat("x", MaxText+1)},
	} {
		err := w.check()
		require.ErrorIs(t, err, core.ErrProtocol, want)
		require.ErrorContains(t, err, want)
	}
}
