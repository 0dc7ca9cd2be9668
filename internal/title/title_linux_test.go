package title_test

import (
	"os"
	"strings"
)

const shown = "burn|"

// commandLine returns the command line of this process as other processes see it.
func commandLine() (string, error) {
	line, err := os.ReadFile("/proc/self/cmdline")
	return strings.ReplaceAll(string(line), "\x00", "|"), err
}
