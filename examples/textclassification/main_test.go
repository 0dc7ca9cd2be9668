package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both classes have the same words: a model that ignores the order of words has an accuracy of 50 %.
func TestQuick(t *testing.T) {
	accuracy, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Greater(t, accuracy, 90.)
}
