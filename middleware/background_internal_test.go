package middleware

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackgroundGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Layer{}
		back := inBackground(t.Context())
		waited := func(ctx context.Context) time.Duration {
			start := time.Now()
			l.yieldToTurns(ctx)
			return time.Since(start)
		}
		if d := waited(back); d != 0 {
			t.Errorf("without turns: %v", d)
		}
		l.activeTurns.begin()
		l.activeTurns.begin()
		if d := waited(t.Context()); d != 0 {
			t.Errorf("work that somebody waits for: %v", d)
		}
		if d := waited(back); d != waitAtMost {
			t.Errorf("beside turns that go on: %v", d)
		}
		time.AfterFunc(10*time.Millisecond, l.activeTurns.end)
		time.AfterFunc(20*time.Millisecond, l.activeTurns.end)
		if d := waited(back); d != 20*time.Millisecond+quietAfter {
			t.Errorf("beside turns that end: %v", d)
		}
		if d := waited(back); d != 0 {
			t.Errorf("after them: %v", d)
		}
		// Turns that follow each other are waited for as one.
		l.activeTurns.begin()
		time.AfterFunc(10*time.Millisecond, l.activeTurns.end)
		time.AfterFunc(12*time.Millisecond, l.activeTurns.begin)
		time.AfterFunc(30*time.Millisecond, l.activeTurns.end)
		if d := waited(back); d != 30*time.Millisecond+quietAfter {
			t.Errorf("beside turns that follow each other: %v", d)
		}
		l.activeTurns.begin()
		ctx, cancel := context.WithTimeout(back, time.Millisecond)
		defer cancel()
		if d := waited(ctx); d != time.Millisecond {
			t.Errorf("at its end: %v", d)
		}
		l.activeTurns.end()
	})
}

// A panic ends only the work in the background, and the log says where it happened.
func TestSurvives(t *testing.T) {
	var log bytes.Buffer
	l := &Layer{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	ran := false
	l.catchPanics("reading", func() { ran = true })()
	if !ran || log.Len() > 0 {
		t.Errorf("ran %v: %s", ran, log.String())
	}
	l.catchPanics("reading", func() { _ = []int{}[len(log.String())] })()
	for _, want := range []string{"level=ERROR", "reading panicked", "index out of range", "background_internal_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in %s", want, log.String())
		}
	}
}
