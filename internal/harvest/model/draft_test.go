package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
)

// tokens counts as the client does by default, near enough for English.
func tokens(r modeltest.Request) (n int) {
	for _, m := range r.Messages {
		n += (utf8.RuneCountInString(m.Content) + 2) / 3
	}
	return n
}

func TestLongSessionIsReadInParts(t *testing.T) {
	const messages, window = 250, 4000
	tr := long(modeltest.Session(), messages)
	server := modeltest.Serve(t, modeltest.Echo())
	var steps []string
	d, err := client(t, server, model.Options{Window: window}).Draft(t.Context(), tr, func(stage string, done, total int) {
		steps = append(steps, fmt.Sprintf("%s %d/%d", stage, done, total))
	})
	if err != nil {
		t.Fatal(err)
	}
	requests := server.Requests()
	n := len(requests) - 1
	if n < 3 {
		t.Fatalf("%d requests", n+1)
	}
	var want []string
	for i := range n + 1 {
		want = append(want, fmt.Sprintf("extract %d/%d", i, n))
	}
	want = append(want, "merge 0/1", "merge 1/1")
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	seen := 0
	for i, r := range requests[:n] {
		// Room for the answer, and for a repair with the answer that was faulty.
		if got := tokens(r); got > window-2*window/5 {
			t.Errorf("request %d has %d tokens of %d", i+1, got, window)
		}
		text := r.Messages[1].Content
		if !strings.Contains(text, fmt.Sprintf("This is part %d of %d", i+1, n)) || strings.Contains(text, "parts before it") != (i > 0) {
			t.Errorf("request %d: %.300s", i+1, text)
		}
		for strings.Contains(text, fmt.Sprintf("\n=== message %d: ", seen+1)) {
			seen++
		}
	}
	if seen != messages {
		t.Errorf("%d messages were shown, in order; want %d", seen, messages)
	}
	merge := requests[n].Messages
	if !strings.Contains(merge[0].Content, "parts of one session") || strings.Count(merge[1].Content, "\n=== part ") != n {
		t.Errorf("merge: %.500s", merge[1].Content)
	}
	if !slices.IsSortedFunc(d.Statements, func(a, b draftStatement) int { return int(a.Seq) - int(b.Seq) }) || len(d.Statements) < 12 || len(d.Statements) > 30 || d.Summary == "" {
		t.Errorf("%d statements, summary %q", len(d.Statements), d.Summary)
	}
}

// The same transcript must give the same draft: a job that is run again writes
// nothing new.
func TestSameAnswersSameDraft(t *testing.T) {
	tr := long(modeltest.Session(), 90)
	first, _ := extract(t, tr, model.Options{Window: 3000}, modeltest.Echo())
	second, _ := extract(t, tr, model.Options{Window: 3000}, modeltest.Echo())
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestFiveThousandMessages(t *testing.T) {
	race.SkipLong(t)
	tr := &session.Transcript{}
	for i := range 5000 {
		e := session.Entry{Seq: uint64(i + 1), Message: ken.Message{Role: "user", Text: fmt.Sprintf("Machine number %d stands in hall %d of the plant.", i, i%7)}}
		tr.Entries = append(tr.Entries, e)
	}
	d, server := extract(t, tr, model.Options{}, modeltest.Echo())
	n := len(server.Requests())
	if n < 5 || n > 40 || len(d.Statements) != 30 || d.Dropped[model.DropLimit] == 0 {
		t.Errorf("%d requests, %d statements, dropped %v", n, len(d.Statements), d.Dropped)
	}
	// Equally sure facts of every part: the earliest stay.
	if last := d.Statements[29]; last.Confidence < 0.8 {
		t.Errorf("%+v was kept", last)
	}
}

// A message that is longer than the window must not stop the harvest, nor push
// its neighbours out.
func TestMessageLongerThanAPart(t *testing.T) {
	race.SkipLong(t)
	for name, filler := range map[string]string{
		"English": "words and more of them, line after line\n", "Chinese": "一行又一行的文字", "blank": "x\n\n\n", "no spaces": strings.Repeat("x", 40),
	} {
		t.Run(name, func(t *testing.T) {
			text := "I prefer the old layout. " + strings.Repeat(filler, 6000) + "\nThe office moves to Lyon in March."
			tr := transcript("user", "Before it: the parser is written in Go.", "user", text, "user", "After it: the tests run on Mondays.")
			tr.Entries[1].Message.ToolCalls = slices.Repeat([]ken.ToolCall{{ID: "c", Name: "write", Arguments: text}}, 20)
			d, server := extract(t, tr, model.Options{Window: 2000}, modeltest.Echo())
			for i, r := range server.Requests() {
				if n := tokens(r); n > 2000 {
					t.Errorf("request %d has %d tokens", i+1, n)
				}
			}
			var quotes []string
			for _, s := range d.Statements {
				quotes = append(quotes, s.Quote)
			}
			for _, want := range []string{"the parser is written in Go", "I prefer the old layout", "the tests run on Mondays"} {
				if !strings.Contains(strings.Join(quotes, "\n"), want) {
					t.Errorf("%q is lost: %q", want, quotes)
				}
			}
		})
	}
}

// A fact that two parts tell is one fact, as sure as the surer of them says.
func TestFactOfTwoPartsIsOne(t *testing.T) {
	turn := 0
	tr := long(modeltest.Session(), 60)
	play := func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
		turn++
		fact := modeltest.Fact{Text: "The user prefers small commits", Quote: "I prefer small commits", Message: int(1), Sort: "preference", Confidence: 0.5}
		if turn > 1 {
			fact.Text, fact.Confidence = "The user  prefers small commits.", 0.9
		}
		modeltest.Reply(modeltest.Answer{Summary: "It went on.", Facts: []modeltest.Fact{fact}})(w, r, req)
	}
	server := modeltest.Serve(t, play)
	d, err := client(t, server, model.Options{Window: 2000}).Draft(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Statements) != 1 || d.Statements[0].Confidence != 0.9 || d.Statements[0].Seq != 1 || d.Dropped[model.DropDuplicate] < 1 {
		t.Errorf("%+v, dropped %v", d.Statements, d.Dropped)
	}
}

// A model that extracts well and merges badly costs the merge alone; an endpoint
// that goes down in the middle costs the draft, and the job comes back.
func TestMergeThatFails(t *testing.T) {
	tr := long(modeltest.Session(), 100)
	merging := func(play modeltest.Play) modeltest.Play {
		return func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
			if strings.Contains(req.Messages[0].Content, "parts of one session") {
				play(w, r, req)
				return
			}
			modeltest.Echo()(w, r, req)
		}
	}
	d, server := extract(t, tr, model.Options{Window: 3000}, merging(modeltest.Prose()))
	if len(d.Statements) < 12 || utf8.RuneCountInString(d.Summary) > 1500 || !strings.Contains(d.Summary, "The user began with: The nightly build") {
		t.Errorf("%d statements, %q after %d requests", len(d.Statements), d.Summary, len(server.Requests()))
	}
	server = modeltest.Serve(t, merging(modeltest.Fails(503, "")))
	if _, err := client(t, server, model.Options{Window: 3000}).Draft(t.Context(), tr, nil); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("%v, want unavailable", err)
	}
}

// Whatever a model answers: facts in = facts kept + facts dropped.
func TestNoFactGoesMissing(t *testing.T) {
	for seed := range race.Pick[uint64](15, 4) {
		random := rand.New(rand.NewPCG(seed, 1))
		tr := long(modeltest.Session(), 11+random.IntN(200))
		in := 0
		play := func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
			a := modeltest.Answer{Summary: "It went on."}
			var from, to int
			if asked := strings.LastIndex(req.Messages[1].Content, "\nReport on messages "); asked >= 0 {
				if _, err := fmt.Sscanf(req.Messages[1].Content[asked:], "\nReport on messages %d to %d", &from, &to); err != nil {
					t.Error(err)
				}
				for range random.IntN(30) {
					a.Facts = append(a.Facts, randomFact(random, tr.Entries[from-1:to]))
				}
				in += len(a.Facts)
			}
			modeltest.Reply(a)(w, r, req)
		}
		server := modeltest.Serve(t, play)
		o := model.Options{Window: 2000 + random.IntN(20_000), MaxFacts: 1 + random.IntN(20), FactChars: 40 + random.IntN(100)}
		d, err := client(t, server, o).Draft(t.Context(), tr, nil)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		// Of an answer that is asked for again only the second would count.
		for _, r := range server.Requests() {
			if len(r.Messages) > 2 {
				t.Fatalf("seed %d: a repair: the test can't count", seed)
			}
		}
		if got := len(d.Statements) + total(d.Dropped); got != in {
			t.Errorf("seed %d: %d facts in, %d kept, dropped %v", seed, in, len(d.Statements), d.Dropped)
		}
		if len(d.Statements) > o.MaxFacts {
			t.Errorf("seed %d: %d statements, at most %d", seed, len(d.Statements), o.MaxFacts)
		}
		for _, s := range d.Statements {
			e := tr.Entries[s.Seq-1]
			if !strings.Contains(e.Message.Text, s.Quote) || utf8.RuneCountInString(s.Text) > o.FactChars || s.Text == "" {
				t.Errorf("seed %d: %+v of %q", seed, s, e.Message.Text)
			}
		}
	}
}

func question() model.Question {
	return model.Question{Name: "colours", System: "Name a colour.", User: `{"of":"the sky"}`, Schema: json.RawMessage(`{"type":"object"}`), Temperature: 0.1}
}

func TestQuestionIsSentAsItIs(t *testing.T) {
	server := modeltest.Serve(t)
	c := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model, APIKey: "k"})
	defer c.Close()
	text, err := c.Ask(t.Context(), question())
	if err != nil || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	req := server.Requests()[0]
	if len(req.Messages) != 2 || req.Messages[0].Content != "Name a colour." || req.Messages[1].Content != `{"of":"the sky"}` {
		t.Errorf("%+v", req.Messages)
	}
	if req.Temperature == nil || *req.Temperature < 0.09 || *req.Temperature > 0.11 || req.Format != "json_schema" || string(req.Schema) != `{"type":"object"}` || req.Key != "k" {
		t.Errorf("temperature %v, format %s, schema %s", req.Temperature, req.Format, req.Schema)
	}
}

func TestQuestionWithoutAModelOrASchema(t *testing.T) {
	c := model.New(model.Options{BaseURL: "http://127.0.0.1:1/v1"})
	defer c.Close()
	if _, err := c.Ask(t.Context(), question()); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("without a model: %v", err)
	}
	c = model.New(model.Options{BaseURL: "http://127.0.0.1:1/v1", Model: "m"})
	defer c.Close()
	if _, err := c.Ask(t.Context(), question()); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("nothing listens: %v", err)
	}
	q := question()
	q.Schema = nil
	if _, err := c.Ask(t.Context(), q); err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("without a schema: %v", err)
	}
}
