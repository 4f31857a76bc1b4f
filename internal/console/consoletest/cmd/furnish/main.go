// Command furnish creates a project for tests of the console, and prints its
// description as JSON: see package consoletest.
//
//	furnish [--claims N] [--seed N] [--now TIME] DIR
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/kenlayer/ken/internal/console/consoletest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "furnish:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o consoletest.Options
	f := flag.NewFlagSet("furnish", flag.ContinueOnError)
	f.IntVar(&o.Claims, "claims", 0, "write so `many` synthetic claims, too")
	f.Uint64Var(&o.Seed, "seed", 0, "the seed of ids and synthetic claims")
	f.Func("now", "the `time` at which the story ends, such as 2026-11-20T09:00:00Z; default now", func(s string) (err error) {
		o.Now, err = time.Parse(time.RFC3339, s)
		return err
	})
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return errors.New("say which folder to furnish, and nothing else")
	}
	p, err := consoletest.Furnish(ctx, f.Arg(0), o)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(p)
}
