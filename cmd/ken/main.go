// Command ken is the command line of the knowledge layer. It keeps claims, shows what a
// model would be given for a question, chats, and runs the gateway.
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
	collectEarly(ctx)
	status := run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(status)
}
