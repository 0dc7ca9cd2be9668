package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// The words of both classes are the same: a model that ignores their order is right in half of the cases.
func TestQuick(t *testing.T) {
	accuracy, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Greater(t, accuracy, 90.)
}
