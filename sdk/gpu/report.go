package gpu

import (
	"encoding/json"
	"os"
)

// report appends the counters, as a line of JSON, to the file that the variable BURN_GPU_STATS names: what a device in a plugin
// process did. What cannot be written is left out.
func (d *device) report() {
	path := os.Getenv("BURN_GPU_STATS")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	_ = json.NewEncoder(f).Encode(struct {
		Device string
		Stats
	}{d.name, d.Stats()})
}
