package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
)

func TestLoadWithoutAFile(t *testing.T) {
	p, err := Load(filepath.Join(t.TempDir(), FileName))
	if err != nil || p != Default() {
		t.Errorf("%+v, %v", p, err)
	}
}

// The windows are a contract: what was kept for so long by one version must not go
// sooner with the next.
func TestDefault(t *testing.T) {
	want := Policy{MemoryReinforceWindowDays: 90, ConfidenceDecayDays: 0, ArchiveDecisionsDays: 30, ArchiveSupersededDays: 30, ArchiveExpiredDays: 0,
		JournalGraceDays: 7, DoneJobsDays: 30, EventsDays: 90, SessionsDays: 365}
	if p := Default(); p != want {
		t.Errorf("got %+v", p)
	}
	if g := Default().JournalGrace(); g != 7*24*time.Hour {
		t.Errorf("grace %v", g)
	}
	if g := (Policy{JournalGraceDays: Never}).JournalGrace(); g < 50*365*24*time.Hour {
		t.Errorf("for good is %v", g)
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     func(*Policy)
	}{
		{"empty", "", func(*Policy) {}},
		{"comments only", "# nothing\n\n", func(*Policy) {}},
		{"one key", "journal_grace_days: 14\n", func(p *Policy) { p.JournalGraceDays = 14 }},
		{"never", "events_days: -1\nsessions_days: 0", func(p *Policy) { p.EventsDays, p.SessionsDays = Never, 0 }},
		{"byte order mark and Windows line ends", "\ufeffdone_jobs_days: 3\r\nevents_days: 4\r\n", func(p *Policy) { p.DoneJobsDays, p.EventsDays = 3, 4 }},
		{"one line", "{journal_grace_days: 1, events_days: 2}", func(p *Policy) { p.JournalGraceDays, p.EventsDays = 1, 2 }},
		{"the example", Example(), func(*Policy) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := Default()
			tt.want(&want)
			if got, err := parse("", []byte(tt.in)); err != nil || got != want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, want)
			}
		})
	}
}

// A file edited by hand into something invalid is refused with the line, and the
// nearest key is named.
func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, field, msg, try string }{
		{"misspelled key", "# x\njournal_grace_day: 7", "journal_grace_day", "unknown key (line 2)", "Use journal_grace_days."},
		{"key without its unit", "events: 7", "events", "unknown key (line 1)", "Use events_days."},
		{"far-off key", "colour: 7", "colour", "unknown key (line 1)", "Use one of memory_reinforce_window_days,"},
		{"words", "events_days: soon", "events_days", `"soon" is not a whole number of days from 0 to 36500, or -1 for never (line 1)`, "Write a whole number"},
		{"fraction", "events_days: 1.5", "events_days", `"1.5" is not`, "or delete the line for 90."},
		{"below", "events_days: -2", "events_days", `"-2" is not`, ""},
		{"demoted at once", "memory_reinforce_window_days: 0", "memory_reinforce_window_days", "from 1 to", ""},
		{"above", "events_days: 99999999999999999999", "events_days", "is not", ""},
		{"nothing", "events_days:", "events_days", "nothing is not", ""},
		{"list", "events_days: [1]", "events_days", "a list is not", ""},
		{"section", "gc:\n  events_days: 1", "gc", "unknown key (line 1)", ""},
		{"section under a key", "events_days:\n  x: 1", "events_days", "a section is not", ""},
		{"twice", "events_days: 1\nevents_days: 2", "events_days", "set again after line 1 (line 2)", "Keep one"},
		{"a list of all", "- events_days: 1", "", "not a list of settings (line 1)", "Write one setting a line"},
		{"two documents", "events_days: 1\n---\nevents_days: 2", "", "a second document", ""},
		{"broken", "events_days: [1", "", "not valid YAML", "Check the indentation"},
		{"binary", "events_days: \xff", "", "not valid UTF-8", ""},
		{"anchor", "events_days: &a 3", "events_days", "an anchor, alias or tag is not", ""},
		{"long", strings.Repeat("# long\n", 6000), "", "at most 32768", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := parse("", []byte(tt.in))
			var e *ken.Error
			if !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != tt.field || !strings.Contains(e.Msg, tt.msg) || !strings.Contains(e.Try, tt.try) || e.Try == "" {
				t.Errorf("got %v, try %q", err, ken.Hint(err))
			}
			if p != (Policy{}) {
				t.Errorf("a policy all the same: %+v", p)
			}
		})
	}
}

func TestLoadNamesFileAndLineAndLeavesTheFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	const text = "events_days: 3\njournal_grace: x\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if err == nil || !strings.Contains(err.Error(), path+":2") {
		t.Errorf("got %v", err)
	}
	if err := Write(path); !errors.Is(err, ken.ErrExists) {
		t.Errorf("write over it: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the file is now %q, %v", b, err)
	}
	if _, err := Load(filepath.Dir(path)); err == nil || errors.Is(err, ken.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
}

func TestWriteIsReadBackAsTheDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "knowledge", FileName)
	if err := Write(path); err != nil {
		t.Fatal(err)
	}
	p, err := Load(path)
	if err != nil || p != Default() {
		t.Errorf("%+v, %v", p, err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if !strings.Contains(string(b), fmt.Sprintf("\n%s: %d\n", k.name, k.fallback)) {
			t.Errorf("no %s in\n%s", k.name, b)
		}
	}
	for l := range strings.SplitSeq(string(b), "\n") {
		if len(l) > 90 {
			t.Errorf("%d characters: %s", len(l), l)
		}
	}
}

// A policy is read or refused, and what is read has every window in range.
func FuzzParse(f *testing.F) {
	for _, s := range []string{Example(), "events_days: -1", "a: &b [1, *b]", "{", "events_days: 0x10", "events_days: 1_000", "? x\n: y", "<<: *a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parse("", b)
		if err != nil {
			if ken.Hint(err) == "" {
				t.Errorf("no advice: %v", err)
			}
			return
		}
		for _, k := range keys {
			if n := *k.at(&p); n != Never && (n < k.least || n > maxDays) {
				t.Errorf("%q: %s is %d", b, k.name, n)
			}
		}
	})
}
