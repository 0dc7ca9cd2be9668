package train

import (
	"context"
	"os"
	"os/signal"
)

// Interrupt returns a context that is canceled with parent or by the first Ctrl-C. Run then finishes the step, writes a
// checkpoint and returns. The first Ctrl-C also restores the default action of the signal, so that a second Ctrl-C ends the
// process at once. stop cancels the context and restores the default action.
func Interrupt(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(parent, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
