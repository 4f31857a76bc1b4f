package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/engine"
	"github.com/kenlayer/ken/store"
)

const otherID = "0198a000-0000-7000-8000-000000000002"

var (
	file = ken.FromFile("a.go", "", "")
)

func baseClaim() ken.Claim {
	return ken.Claim{ID: claimID.String(), Kind: ken.KindFact, Text: "payments uses sagas", Status: ken.StatusObserved,
		Confidence: 1, Evidence: []ken.Evidence{file}, CreatedAt: someDay, UpdatedAt: someDay, Tags: []string{"saga"}}
}

// among looks claims up in a list.
var env = store.Env{Now: func() time.Time { return someDay }, NewID: func() string { return otherID }}

func TestPrepareFillsIn(t *testing.T) {
	given := ken.Claim{Text: "payments uses sagas", Evidence: []ken.Evidence{file}}
	got, err := store.Prepare(given, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	want := ken.Claim{ID: otherID, Owner: "ada", Kind: ken.KindFact, Status: ken.StatusObserved, Text: "payments uses sagas",
		Evidence: []ken.Evidence{file}, CreatedAt: someDay, UpdatedAt: someDay}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Evidence[0].Detail = "spoilt"
	if given.Evidence[0].Detail != "" {
		t.Error("the caller's evidence is shared")
	}
}

func TestPrepareKeepsWhatIsGiven(t *testing.T) {
	zone := time.FixedZone("", 3600)
	want := baseClaim()
	want.Owner, want.Kind, want.Status = "ada", ken.KindDecision, ken.StatusDisputed
	want.CreatedAt = someDay.AddDate(-1, 0, 0).In(zone)
	want.UpdatedAt = someDay.AddDate(0, -1, 0).In(zone)
	got, err := store.Prepare(want, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.CreatedAt.Location() != time.UTC || got.UpdatedAt.Location() != time.UTC {
		t.Error("times are kept in UTC")
	}
}

func TestPrepareRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*ken.Claim)
		want   *ken.Error
		field  string
	}{
		{"another owner", func(c *ken.Claim) { c.Owner = "ben" }, ken.ErrRefused, "owner"},
		{"an id that is no UUID", func(c *ken.Claim) { c.ID = "adr-7" }, ken.ErrInvalid, "id"},
		{"nothing but reasoning", func(c *ken.Claim) { c.Text = "<think>hm</think>" }, ken.ErrRefused, "text"},
		{"empty", func(c *ken.Claim) { c.Text = "  " }, ken.ErrInvalid, "text"},
		{"too long", func(c *ken.Claim) { c.Text = strings.Repeat("a", ken.MaxTextBytes+1) }, ken.ErrInvalid, "text"},
		{"no evidence", func(c *ken.Claim) { c.Evidence = nil }, ken.ErrInvalid, "evidence"},
		{"bad status", func(c *ken.Claim) { c.Status = "confirmed" }, ken.ErrInvalid, "status"},
	} {
		c := baseClaim()
		tt.change(&c)
		_, err := store.Prepare(c, "ada", env)
		var e *ken.Error
		if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Field != tt.field || ken.Hint(err) == "" {
			t.Errorf("%s: %v, want %s at %s with advice", tt.name, err, tt.want.Code, tt.field)
		}
	}
}

func TestPrepareCleans(t *testing.T) {
	secret := "AKIA" + "Q3EGRT7XJ5LMN2PZ"
	dirty := "<think>hm</think>key " + secret + " a\x00b \xff"
	c := baseClaim()
	c.Heading, c.Text = dirty, dirty
	c.Evidence = []ken.Evidence{ken.FromMessage("s", "m", dirty), ken.FromExitCode(dirty, 0)}
	got, err := store.Prepare(c, "ada", env)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"heading": got.Heading, "text": got.Text,
		"detail": got.Evidence[0].Detail, "command": got.Evidence[1].ID} {
		for _, bad := range []string{secret, "think", "hm", "\x00", "\xff"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s keeps %q: %q", name, bad, text)
			}
		}
		if !strings.Contains(text, "key ") {
			t.Errorf("%s lost its words: %q", name, text)
		}
	}
}

// A name in a body may mark its value as a secret, and a reference of evidence may contain one.
func TestPrepareCleansBodiesAndReferences(t *testing.T) {
	secret := "AKIA" + "Q3EGRT7XJ5LMN2PZ"
	for _, tt := range []struct{ body, want string }{
		{`{"password":"tr0ub4dor99x","host":"db1"}`, `{"host":"db1","password":"[redacted:password]"}`},
		{`{"db":{"db_password":"tr0ub4dor99x"}}`, `{"db":{"db_password":"[redacted:password]"}}`},
		{`{"env":[{"name":"DB_PASSWORD","value":"tr0ub4dor99x"}]}`, `{"env":[{"name":"DB_PASSWORD","value":"[redacted:password]"}]}`},
		{`{"` + secret + `":1}`, `{"[redacted:aws-access-key]":1}`},
		{`{"url":"https:\/\/app:tr0ub4dor99x@db"}`, `{"url":"https://app:[redacted:url-password]@db"}`},
		{`{ "b": "x\ny", "a": 1.50 }`, `{ "b": "x\ny", "a": 1.50 }`},
	} {
		c := baseClaim()
		c.Body = json.RawMessage(tt.body)
		got, err := store.Prepare(c, "ada", env)
		if err != nil || string(got.Body) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.body, got.Body, err, tt.want)
		}
	}
	c := baseClaim()
	c.Evidence = []ken.Evidence{
		{Kind: ken.EvidenceURL, URL: "https://app:tr0ub4dor99x@docs.example/" + secret},
		{Kind: ken.EvidenceFile, Repo: "https://" + secret + "@git.example/x", Path: "a/" + secret},
		{Kind: ken.EvidenceTestResult, ID: secret, ArtifactID: secret},
	}
	got, err := store.Prepare(c, "ada", env)
	if text := fmt.Sprint(got.Evidence); err != nil || strings.Contains(text, secret) || strings.Contains(text, "tr0ub4dor99x") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestEmbedText(t *testing.T) {
	c := ken.Claim{Text: "t"}
	if got := engine.EmbedText(&c); got != "t" {
		t.Errorf("got %q", got)
	}
	c.Heading = "h"
	if got := engine.EmbedText(&c); got != "h\nt" {
		t.Errorf("got %q", got)
	}
	c.Text = strings.Repeat("é", 5000)
	if got := engine.EmbedText(&c); got != "h\n"+c.Text {
		t.Errorf("%d bytes of a fact", len(got))
	}
	c.SourceType, c.Text = "repository", "x"+c.Text // a limit in the middle of a letter
	if got := engine.EmbedText(&c); len(got) > 1300 || len(got) < 1000 || !utf8.ValidString(got) || !strings.HasPrefix("h\n"+c.Text, got) {
		t.Errorf("%d bytes of a piece of a file, valid %v", len(got), utf8.ValidString(got))
	}
}

func TestPinned(t *testing.T) {
	for kind, want := range map[ken.Kind]bool{ken.KindHot: true, ken.KindPattern: true, ken.KindObjective: true,
		ken.KindFact: false, ken.KindEpisode: false, ken.KindPlaybook: false, ken.KindFinding: false,
		ken.KindDecision: false, ken.KindDocument: false, "": false} {
		if engine.Pinned(kind) != want {
			t.Errorf("%q: %v", kind, !want)
		}
	}
}
