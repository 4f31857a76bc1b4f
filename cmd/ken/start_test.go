package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mostAtStart is what all packages of the project may allocate before main, in bytes.
// It was 0.5 MB when this was written, and 7 MB while every table and every regular
// expression was made at every start.
const mostAtStart = 1 << 20

// Every hook, every script and every client starts a process: what is made before
// main is paid each time. Bytes are counted, for time depends on the machine.
func TestStartsAllocateLittle(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "ken", "help")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "GORACE=atexit_sleep_ms=0")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err, trace.String())
	}
	sum, packages := 0, 0
	var ours strings.Builder
	for line := range strings.Lines(trace.String()) {
		var name string
		var at, took float64
		var size, allocs int
		// init net/http @1.2 ms, 0.03 ms clock, 4712 bytes, 34 allocs
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes, %d allocs", &name, &at, &took, &size, &allocs); err != nil {
			continue
		}
		if packages++; strings.Contains(name, "kenlayer/ken") || name == "main" {
			sum += size
			ours.WriteString(line)
		}
	}
	if packages < 50 || sum == 0 {
		t.Fatalf("%d packages, %d bytes: the trace was not read:\n%s", packages, sum, trace.String())
	}
	if sum > mostAtStart {
		t.Errorf("%d bytes are allocated before main, at most %d are allowed; make what is large when it is used first:\n%s", sum, mostAtStart, ours.String())
	}
	t.Logf("%d bytes", sum)
}

// BenchmarkStart is a command that does nothing, from start to exit.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		if out, err := exec.CommandContext(b.Context(), "ken", "help").CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
}
