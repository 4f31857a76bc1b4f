package consolidate_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/harvest/consolidate"
)

func TestRestated(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"The broker listens on 5672 and its page on 15672.", "I was wrong, the broker listens on 5671.", "The broker listens on 5671 and its page on 15672."},
		{"The pool has 20 connections, the queue holds 500 jobs.", "My mistake, the queue holds 800 jobs.", "The pool has 20 connections, the queue holds 800 jobs."},
		{"The pool has 20 connections, the queue holds 500 jobs.", "oh sorry i gave you the wrong one, the queue holds 800 jobs", "The pool has 20 connections, the queue holds 800 jobs."},
		{"The pool has 20 connections.", "My mistake, the pool has 30 connections.", ""},                                                // all of it
		{"The pool has 20 connections, the queue holds 500 jobs.", "My mistake, the queue holds 800 jobs since the move to Kafka.", ""}, // says more
		{"The pool has 20 connections, the queue holds 500 jobs.", "The queue holds 800 jobs.", ""},                                     // no correction
	} {
		if got := consolidate.Restated(tt.before, tt.after); got != tt.want {
			t.Errorf("Restated(%q, %q) = %q, want %q", tt.before, tt.after, got, tt.want)
		}
	}
}

func TestRepliesAsPeopleTypeThem(t *testing.T) {
	for _, tt := range []struct{ sentence, reply, want string }{
		{"Builds run on Travis.", "nvm its gitlab ci since march, travis is gone", "Builds run on gitlab ci."},
		{"Builds run on GitHub Actions.", "whoops, buildkite", "Builds run on buildkite."},
		{"Backups run every Friday.", "edit: saturday", "Backups run every saturday."},
		{"The cache keeps entries for 5 min.", "its actually 20", "The cache keeps entries for 20 min."},
		{"The pool has 20 connections.", "hold on, 40, just checked the chart", "The pool has 40 connections."},
		{"The pool has 20 connections.", "edit the 40 lines", ""},
		{"Builds run on Travis.", "nvm leave it", ""},
	} {
		got := ""
		if r, ok := consolidate.ReadReply(tt.reply); ok {
			got, _ = r.Amend(tt.sentence)
		}
		if got != tt.want {
			t.Errorf("%q corrected by %q is %q, want %q", tt.sentence, tt.reply, got, tt.want)
		}
	}
}
