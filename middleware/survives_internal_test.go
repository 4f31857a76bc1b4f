package middleware

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Work of its own ends with its panic, and the log says where.
func TestSurvives(t *testing.T) {
	var log bytes.Buffer
	l := &Layer{o: Options{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	ran := false
	l.survives("reading", func() { ran = true })()
	if !ran || log.Len() > 0 {
		t.Errorf("ran %v: %s", ran, log.String())
	}
	l.survives("reading", func() { _ = []int{}[len(log.String())] })()
	for _, want := range []string{"level=ERROR", "reading panicked", "index out of range", "survives_internal_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in %s", want, log.String())
		}
	}
}
