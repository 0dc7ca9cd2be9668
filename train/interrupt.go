package train

import (
	"context"
	"os"
	"os/signal"
)

// Interrupt returns parent, canceled too by the first Ctrl-C. With it, Run finishes the step, writes a checkpoint and returns. The signal
// then has its usual meaning again, so that a second Ctrl-C ends the process at once. stop ends the watch.
func Interrupt(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(parent, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
