package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuick(t *testing.T) {
	accuracy, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Greater(t, accuracy, 0.97)
}
