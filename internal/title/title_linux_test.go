package title_test

import (
	"os"
	"strings"
)

const shown = "burn|"

// commandLine returns what other processes see of this one's command line.
func commandLine() (string, error) {
	line, err := os.ReadFile("/proc/self/cmdline")
	return strings.ReplaceAll(string(line), "\x00", "|"), err
}
