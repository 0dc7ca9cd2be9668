package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	require.ErrorContains(t, write(dir, "2026-12-01", two), "no release in")
	old := "# what this is\ndate 2026-11-23\nsuite " + one + "\n\nmust core .\noptional core ^host/\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "2026-11-23.txt"), []byte(old), 0o600))
	require.ErrorContains(t, write(dir, "1.12.2026", two), "want YYYY-MM-DD")
	require.ErrorContains(t, write(dir, "2026-12-01", one), "already")
	require.ErrorContains(t, write(dir, "2026-11-01", two), "2026-11-23 or later")
	require.NoError(t, write(dir, "2026-12-01", two))
	text, err := os.ReadFile(filepath.Join(dir, "2026-12-01.txt"))
	require.NoError(t, err)
	require.Equal(t, "# what this is\ndate 2026-12-01\nsuite "+two+"\n\nmust core .\noptional core ^host/\n", string(text))
}
