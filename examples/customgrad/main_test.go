package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuick(t *testing.T) {
	with, without, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Greater(t, with, 0.83)
	require.Greater(t, with, without+0.03)
}
