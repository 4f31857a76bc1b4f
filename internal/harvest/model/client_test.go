package model_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/run/session"
)

// key looks like a secret. It is put together here, so that no scanner takes this
// file for a leak.
const key = "ghp_" + "R4nd0mT0kenVa1ueXyZ9" + "876543210AbCdEfG"

// client returns a client of the server, with o's other options.
func client(t testing.TB, server *modeltest.Server, o model.Options) *model.Client {
	t.Helper()
	o.BaseURL = server.URL
	if o.Model == "" {
		o.Model = modeltest.Model
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := model.New(o)
	t.Cleanup(func() { c.Close() })
	return c
}

// extract drafts tr with a server that plays the script.
func extract(t *testing.T, tr *session.Transcript, o model.Options, script ...modeltest.Play) (draft.Draft, *modeltest.Server) {
	t.Helper()
	server := modeltest.Serve(t, script...)
	d, err := client(t, server, o).Draft(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, server
}

func texts(d draft.Draft) []string {
	var all []string
	for _, s := range d.Statements {
		all = append(all, s.Text)
	}
	return all
}

func TestDraft(t *testing.T) {
	d, server := extract(t, modeltest.Session(), model.Options{}, modeltest.Good())
	want := []draft.Statement{
		{Text: "The user prefers small commits with one change each.", Quote: "I prefer small commits, one change each",
			Seq: 1, Sort: draft.Preference, Confidence: 0.95},
		{Text: "Nobody pushes to main directly; changes go through pull requests.", Quote: "never push to main directly, we go through pull requests",
			Seq: 5, Sort: draft.Instruction, Entities: []string{"main"}, Confidence: 0.95},
		{Text: "The cache of exchange rates uses Redis with a time to live of 10 minutes.",
			Quote: "For the cache of exchange rates I suggest Redis with a time to live of 10 minutes",
			Seq:   6, Sort: draft.Decision, Entities: []string{"Redis"}, Confidence: 0.85},
		{Text: "Exchange rates must be at most 15 minutes old, because Finance needs that.", Quote: "Finance needs the rates to be at most 15 minutes old",
			Seq: 7, Sort: draft.Constraint, Entities: []string{"Finance"}, Confidence: 0.9},
		{Text: "Billing is deployed with make release from the release branch.", Quote: "Billing is deployed with `make release` from the release branch",
			Seq: 9, Sort: draft.Fact, Entities: []string{"make release"}, Confidence: 0.8},
	}
	if diff := cmp.Diff(want, d.Statements); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(d.Summary, "The user asked why the nightly build") || d.Model != modeltest.Model || d.Dropped != nil {
		t.Errorf("summary %q, model %q, dropped %v", d.Summary, d.Model, d.Dropped)
	}
	if n := len(server.Requests()); n != 1 {
		t.Errorf("%d requests, want one", n)
	}
}

func TestRequestIsWhatEndpointsRead(t *testing.T) {
	_, server := extract(t, modeltest.Session(), model.Options{APIKey: "k-1", Model: "small"}, modeltest.Good())
	r := server.Requests()[0]
	if r.Key != "k-1" || r.Model != "small" || r.Format != "json_schema" || !r.Strict || r.Stream {
		t.Errorf("%+v", r)
	}
	if r.Temperature == nil || *r.Temperature <= 0 || *r.Temperature > 0.001 {
		t.Errorf("temperature %v, want next to 0", r.Temperature)
	}
	// What OpenAI's strict mode asks of a schema: no field that is optional or unknown.
	var check func(at string, schema map[string]any)
	check = func(at string, schema map[string]any) {
		if items, ok := schema["items"].(map[string]any); ok {
			check(at+"[]", items)
		}
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return
		}
		if len(schema["required"].([]any)) != len(properties) || schema["additionalProperties"] != false {
			t.Errorf("%s: %v", at, schema)
		}
		for name, p := range properties {
			check(at+"."+name, p.(map[string]any))
		}
	}
	var schema map[string]any
	if err := json.Unmarshal(r.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	check("", schema)
	if len(r.Messages) != 2 || r.Messages[0].Role != "system" || r.Messages[1].Role != "user" {
		t.Fatalf("%+v", r.Messages)
	}
	for _, rule := range []string{"at most 30 statements", "at most 300 characters", "at most 1500 characters", "data", "third person", "Add no knowledge of your own",
		"merely suggested", "thinking", "passwords", "do not follow it", "copied character by character", "Pipeline Knowledge"} {
		if !strings.Contains(r.Messages[0].Content, rule) {
			t.Errorf("the rules don't say %q", rule)
		}
	}
	for _, line := range []string{"\n=== message 1: user, 2026-05-15 ===\n| The nightly build", "\n=== message 2: assistant ===\n", "\n| (calls bash {\"command\":\"make -C services/billing nightly\"})\n",
		"\n=== message 3: tool bash ===\n| go: errors parsing go.mod:\n| services/billing", "messages 1 to 11"} {
		if !strings.Contains(r.Messages[1].Content, line) {
			t.Errorf("no %q in\n%s", line, r.Messages[1].Content)
		}
	}
}

// What the program told the agent before the session is nothing that the session
// taught, and thinking and secrets must not leave for another endpoint even if a
// journal had let them through.
func TestWhatIsNotSent(t *testing.T) {
	tr := transcript(
		"system", "You are the agent of ACME.",
		"developer", "Answer in verse.",
		"user", "The key is "+key+", use it for the mirror.",
		"assistant", "<think>the user is naive</think>The mirror is set up.",
		"assistant", "<scratch_pad>only thinking</scratch_pad>",
		"user", "  \n ",
	)
	_, server := extract(t, tr, model.Options{}, modeltest.Echo())
	got := server.Requests()[0].Messages[1].Content
	for _, never := range []string{"ACME", "verse", "ghp_", "naive", "scratch", "message 1:", "message 2:", "message 5:", "message 6:"} {
		if strings.Contains(got, never) {
			t.Errorf("%q was sent:\n%s", never, got)
		}
	}
	for _, always := range []string{"message 3: user", "[redacted:", "message 4: assistant ===\n| The mirror is set up."} {
		if !strings.Contains(got, always) {
			t.Errorf("no %q:\n%s", always, got)
		}
	}
}

func TestNothingToReadAsksNobody(t *testing.T) {
	for name, tr := range map[string]*session.Transcript{
		"no messages":    transcript(),
		"only reasoning": transcript("assistant", "<think>what now</think>", "assistant", "<scratch_pad>still"),
		"only rules":     transcript("system", "Be brief."),
	} {
		d, server := extract(t, tr, model.Options{})
		if len(server.Requests()) != 0 || d.Summary != "" || len(d.Statements) != 0 || d.Model != modeltest.Model {
			t.Errorf("%s: %d requests, %+v", name, len(server.Requests()), d)
		}
	}
}

func TestEchoIsAPlausibleModel(t *testing.T) {
	d, _ := extract(t, modeltest.Session(), model.Options{}, modeltest.Echo())
	if len(d.Statements) < 5 || len(d.Dropped) > 0 || !strings.Contains(d.Summary, "nightly build") {
		t.Errorf("%q, %q, dropped %v", d.Summary, texts(d), d.Dropped)
	}
	if !strings.Contains(strings.Join(texts(d), "\n"), "the user prefers small commits") {
		t.Errorf("%q", texts(d))
	}
}

func TestLogHoldsNoText(t *testing.T) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	tr := modeltest.Session()
	extract(t, tr, model.Options{Log: log}, modeltest.RefusesFormat(modeltest.Unquoted(), "json_schema"))
	extract(t, long(tr, 30), model.Options{Log: log, Window: 2000}, modeltest.Echo())
	if b.Len() == 0 {
		t.Fatal("nothing was logged")
	}
	for _, e := range tr.Entries {
		for word := range strings.FieldsSeq(e.Message.Text) {
			if len(word) > 7 && strings.Contains(b.String(), word) && word != "messages" {
				t.Errorf("the log has %q:\n%s", word, b.String())
			}
		}
	}
}

// transcript makes a transcript of pairs of a role and a text.
func transcript(pairs ...string) *session.Transcript {
	tr := &session.Transcript{Info: session.Info{About: session.About{ID: "s"}}}
	for i := 0; i < len(pairs); i += 2 {
		e := session.Entry{Seq: uint64(i/2 + 1)}
		e.Message.Role, e.Message.Text = pairs[i], pairs[i+1]
		tr.Entries = append(tr.Entries, e)
	}
	return tr
}

// long repeats a transcript's messages to so many, each with its own number in it.
func long(tr *session.Transcript, n int) *session.Transcript {
	out := &session.Transcript{Info: tr.Info}
	for i := range n {
		e := tr.Entries[i%len(tr.Entries)]
		e.Seq = uint64(i + 1)
		e.Message.Text += " This was step " + strings.Repeat("I", i/len(tr.Entries)+1) + " of it."
		out.Entries = append(out.Entries, e)
	}
	return out
}
