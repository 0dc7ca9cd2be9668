package attack

import (
	"os"
	"testing"

	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/serve"
)

// Environment variables that make this test binary run as another program.
const (
	envPlugin = "BURN_ATTACK_PLUGIN" // set: the cpu backend as a plugin
	envEvil   = "BURN_ATTACK_EVIL"   // a path: the program that must never run, which creates this file
	envFormat = "BURN_ATTACK_FORMAT" // a format: reads mutations of its seeds
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(envEvil) != "":
		if os.WriteFile(os.Getenv(envEvil), []byte("ran"), 0o600) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(envPlugin) != "":
		serve.Main("cpu", cpu.NewForClient)
	}
	os.Exit(m.Run())
}

// full reports whether the attacks run in full.
func full() bool { return os.Getenv("BURN_ATTACK") == "full" }

// size returns the number of attempts.
func size(short, long int) int {
	if full() {
		return long
	}
	return short
}
