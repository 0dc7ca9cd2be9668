// Command benchgpu measures a device and PyTorch on the same card, op by op, or runs work for a long time to check that the memory of the
// device does not grow. Its scripts run all checks of a GPU plugin on a machine without Go: see h200.sh.
//
//	go run ./tools/benchgpu ops -device cuda:0 -python python3 -json ops.jsonl
//	go run ./tools/benchgpu soak -device cuda:0 -time 20m -csv soak.csv
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "benchgpu:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "ops":
			return runOps(ctx, args[1:], os.Stdout)
		case "soak":
			return runSoak(ctx, args[1:], os.Stdout)
		}
	}
	return errors.New("want a command: ops or soak; -help after it lists its flags")
}
