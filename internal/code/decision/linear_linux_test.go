package decision

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken/internal/race"
)

// processorTime returns the processor time of this process, which does not depend on the load of the machine.
func processorTime(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Time is linear in the number of repeated elements, whatever precedes them.
func TestParseTakesWhatItTakes(t *testing.T) {
	race.SkipLong(t)
	const few, many = 4_000, 32_000      // bytes
	const quick = 200 * time.Millisecond // what grows with its square takes longer
	took := func(before, thing string, n int) time.Duration {
		src := []byte(before + strings.Repeat(thing, n/len(thing)))
		start := processorTime(t)
		d := parse("adr/0001-x.md", src)
		Targets(d.Record)
		_, _ = d.statusChange(Rejected, nil)
		return processorTime(t) - start
	}
	befores := []string{"", "---\n", "# 1. X\n\n", "# 1. X\n\n## Decision\n\n", "# 1. X\n\n## Alternatives\n\n", "# 1. X\n\n## Status\n\n"}
	for _, thing := range []string{"#\n", "# a\n## b\n", "## Context\n", "## Context\n### Consequences\n", "## Options\n- a\n", "## Options\n### o\n- Good, because x\n", "| a | b |\n", "| Status | b |\n", "| --- | --- |\n",
		"<!-- \n", "<!---->", "<!-- a\n-->\n", "- Status: x\n", "Status: accepted\n", "Supersedes: [1](0001-x.md)\n", "[", "](", "[a](b.md)", "`", "```\n", "``` a `", "**", "**a:** ", "---\n", "a\n===\n", "\n\na\n---\n", "ADR-1 ", "ADR 0001/0002, ", "> ", "> a: b\n",
		"  - Deciders: x\n", "\r", "\r\n", ":", "1. ", "- ", "(", "a/b.go ", "`a.B` ", "\\", "a: b\n", "a: [b\n", " ", "\t", "_", "~~~\n"} {
		for _, before := range befores {
			long := took(before, thing, many)
			if long < quick {
				continue
			}
			short := took(before, thing, few)
			for range 5 { // the machine may have been busy
				long, short = min(long, took(before, thing, many)), min(short, took(before, thing, few))
			}
			if long > quick && long > 4*many/few*short {
				t.Errorf("%q behind %q: %v for %d bytes, %v for %d", thing, before, short, few, long, many)
			}
		}
	}
}
