package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// The text of -quick is one sentence over and over: after its first word, all of it can be known.
func TestQuick(t *testing.T) {
	loss, err := run(context.Background(), []string{"-quick"}, io.Discard)
	require.NoError(t, err)
	require.Less(t, loss, 2.5)
}
