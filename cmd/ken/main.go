// Command ken is the command line of the knowledge layer. It stores claims, shows the
// knowledge that a model would get for a question, chats, and runs the gateway.
//
// It only wires: the commands are in the folders of internal/cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kenlayer/ken/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	tuneGC(ctx)
	status := run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(status)
}
