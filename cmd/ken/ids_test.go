package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A beginning that two share would name neither.
func TestBeginningsNameOneEach(t *testing.T) {
	got := beginnings([]string{"0123456789ab", "01234567xx", "s1", "abcdefghij", "0123456789"})
	want := []string{"0123456789a", "01234567x", "s1", "abcdefgh", "0123456789"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := beginnings(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
