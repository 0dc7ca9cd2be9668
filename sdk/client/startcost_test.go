package client_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	fake "github.com/goburn/burn/internal/fakeplugin"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/client/contain"
)

// BenchmarkContainedStart measures the start of a plugin up to the answer of its backend, with rules and without.
func BenchmarkContainedStart(b *testing.B) {
	for _, c := range []struct {
		name  string
		needs *contain.Needs
	}{{"contained", &contain.Needs{}}, {"free", nil}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p, err := client.Start(context.Background(), os.Args[0], client.Options{Name: "fake", Env: []string{fake.Env + "=" + fake.Good}, Contain: c.needs})
				require.NoError(b, err)
				b.StopTimer()
				require.NoError(b, p.Close())
				b.StartTimer()
			}
		})
	}
}
