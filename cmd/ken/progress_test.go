package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgressIntoAFile(t *testing.T) {
	var out bytes.Buffer
	p := &progress{w: &out, now: time.Now}
	p.update("nothing", 3, 3)
	p.update("none", 0, 0)
	p.update("files", 0, 10)
	p.update("embed", 1, 4) // another goroutine's
	for i := range 10 {
		p.update("files", i+1, 10)
	}
	p.update("files", 10, 10)
	p.update("claims", 5, 0)
	p.update("claims", 9, 0)
	p.done()
	p.done()
	p.update("files", 1, 2) // work of its own
	p.done()
	want := `files …
embed …
files: 10 of 10
claims …
embed: 1 of 4
claims: 9
files …
files: 1 of 2
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProgressRewritesItsLine(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := &progress{w: &out, tty: true, now: func() time.Time { return now }}
	p.update("nothing", 3, 3)
	p.update("files", 0, 10)
	p.update("files", 1, 10) // too soon
	now = now.Add(redrawEvery)
	p.update("files", 2, 10)
	p.update("embed", 1, 0)
	p.done()
	p.done()
	const home = "\r\x1b[K"
	if want := home + "files 0 of 10" + home + "files 2 of 10" + home + "embed 1" + home; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestQuiet(t *testing.T) {
	var out bytes.Buffer
	p := (&app{streams: streams{err: &out}, quiet: true}).progress()
	p.update("files", 0, 10)
	p.done()
	if out.Len() > 0 {
		t.Errorf("printed %q", out.String())
	}
}
