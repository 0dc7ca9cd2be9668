package client

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goburn/burn/sdk/client/contain"
)

// envRun is the environment variable that identifies processes started by a plugin: its value is unique to one start.
const envRun = "BURN_PLUGIN_RUN"

func newMark() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// recordExt ends the names of the records of running plugins. The records are beside the folders of the plugins and not in them, because a
// plugin can change the files in its folder.
const recordExt = ".process"

// record writes a record of a started process, for a later host that finds this host dead.
func record(dir, mark, group string) error {
	return os.WriteFile(dir+recordExt, fmt.Appendf(nil, "%s\n%s\n", mark, group), 0o600)
}

// sweepProcesses ends the remaining processes of the plugins of a dead host, using the records in the host's folder.
func sweepProcesses(dir string) {
	records, _ := filepath.Glob(filepath.Join(dir, "*"+recordExt))
	var marks []string
	for _, path := range records {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		mark, rest, _ := strings.Cut(string(text), "\n")
		group, _, _ := strings.Cut(rest, "\n")
		if _, err := hex.DecodeString(mark); err != nil || len(mark) != 32 {
			continue
		}
		marks = append(marks, mark)
		if group != "" {
			contain.Sweep(group)
		}
	}
	if len(marks) > 0 {
		killMarked(marks...)
	}
}
