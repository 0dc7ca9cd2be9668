package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The lines that the generated part stands between.
const (
	begin = "<!-- make bench-peers: begin -->\n"
	end   = "<!-- make bench-peers: end -->\n"
)

// replaceGenerated puts text between the marks of a file.
func replaceGenerated(path, text string) error {
	path = filepath.Clean(path)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s: want the lines %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+strings.TrimSpace(text)+"\n\n"+end+tail), 0o644)
}
