package restore_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/host/restore"
	"github.com/goburn/burn/plugins/cpu"
)

// Options.Open starts the backend: restore calls it now, and again after each loss. To start a plugin, it would call client.Start;
// host.Options.Restore does that.
func ExampleOpen() {
	starts := 0
	b, err := restore.Open(context.Background(), restore.Options{Open: func(_ context.Context, _ uint16) (core.Backend, error) {
		starts++
		return cpu.New(core.Config{})
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println(b.Info().Name, starts)
	// Output: cpu 1
}
