package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuick(t *testing.T) {
	share, found, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Greater(t, share, 0.6)
	require.GreaterOrEqual(t, found, 7)
}
