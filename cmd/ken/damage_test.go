package main

import (
	"bytes"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// damageCommand changes a file: "damage FILE OLD NEW" writes NEW over every OLD, which
// must be as long; "damage FILE" overwrites all pages but the first two.
func damageCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: damage FILE [OLD NEW]")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if len(args) == 3 {
		old, now := []byte(args[1]), []byte(args[2])
		if len(old) != len(now) || !bytes.Contains(b, old) {
			ts.Fatalf("%s does not hold %q, or %q is not as long", path, old, now)
		}
		b = bytes.ReplaceAll(b, old, now)
	} else {
		for i := 2 * os.Getpagesize(); i < len(b); i++ {
			b[i] = 0xa5
		}
	}
	ts.Check(os.WriteFile(path, b, 0o600))
}
