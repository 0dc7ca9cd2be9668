package serve_test

import (
	"context"
	"fmt"

	"github.com/goburn/burn/plugins/cpu"
	"github.com/goburn/burn/sdk/client"
	"github.com/goburn/burn/sdk/serve"
)

// A plugin and its host in one process, over the real wire, as in tests. The main function of a plugin is serve.Main.
func ExampleAttachable() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	at, done, err := serve.Attachable(ctx, serve.Options{Name: "cpu", Open: cpu.New})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := client.Attach(ctx, at, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(b.Info().Name, b.Close())
	stop()
	<-done
	// Output: cpu <nil>
}
