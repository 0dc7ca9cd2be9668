package main

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wrong result has a line in -json as a right one has.
func TestFigureAsJSON(t *testing.T) {
	for off, want := range map[float64]string{
		0.5:          `{"name":"x","side":"burn","ms":2,"best_ms":1,"off":0.5,"error":"wrong"}`,
		math.Inf(1):  `{"name":"x","side":"burn","ms":2,"best_ms":1,"off":null,"error":"wrong"}`,
		math.Inf(-1): `{"name":"x","side":"burn","ms":2,"best_ms":1,"off":null,"error":"wrong"}`,
	} {
		b, err := json.Marshal(figure{Name: "x", Side: "burn", Millis: 2, Best: 1, Off: off, Error: "wrong"})
		require.NoError(t, err)
		require.JSONEq(t, want, string(b))
		var got figure
		require.NoError(t, json.Unmarshal(b, &got))
		require.Equal(t, "wrong", got.Error)
	}
}
