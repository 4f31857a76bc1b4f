// Command ken is the knowledge layer on the command line: it shows what an agent
// would be told, chats with every turn assembled by the layer, and keeps claims.
//
// This package only wires: one file a command, app.go for what they share.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	collectEarly(ctx)
	status := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(status)
}
