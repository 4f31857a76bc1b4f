package generate_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/generate"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
)

// never waits, and counts how often it should have.
func never(waits *int) func(context.Context, time.Duration) error {
	var mu sync.Mutex
	return func(ctx context.Context, _ time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		*waits++
		return ctx.Err()
	}
}

func answering(text string) string { return fmt.Sprintf(`{"question": %q}`, text) }

// about makes a question out of a note, as a model would.
func about(user string) string {
	_, after, _ := strings.Cut(user, "cluster ")
	number, _, _ := strings.Cut(after, ".")
	return "Who looks after cluster no. " + number + "?"
}

func TestReword(t *testing.T) {
	s := makeSet(t, from(notes(t, 60)), generate.Options{N: 30, Seed: 3})
	rules, total := s.Counts(), 0
	for k, n := range rules {
		if k.Answered() {
			total += n
		}
	}
	var mu sync.Mutex
	var asked []string
	if total < 15 {
		t.Fatalf("only %d questions to ask", total)
	}
	m := generate.Model{Name: "parrot", Ask: func(_ context.Context, system, user string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, user)
		if !strings.Contains(system, "JSON and nothing else") {
			t.Errorf("the model is not told what to do: %s", system)
		}
		return answering(about(user)), nil
	}}
	if err := s.Reword(context.Background(), m); err != nil {
		t.Fatal(err)
	}
	want := map[knownitem.Kind]int{generate.KindModel: total, knownitem.KindAbsent: rules[knownitem.KindAbsent], knownitem.KindSmallTalk: rules[knownitem.KindSmallTalk]}
	if diff := cmp.Diff(want, s.Counts()); diff != "" || len(asked) != total || s.Refused != 0 || s.Model != "parrot" {
		t.Errorf("%d requests, %d refused, model %q: %s", len(asked), s.Refused, s.Model, diff)
	}
	for _, q := range s.Questions {
		if q.Kind == generate.KindModel && (q.Hidden != "" || q.Want == "" || !strings.HasPrefix(q.Text, "Who looks after cluster")) {
			t.Errorf("%+v", q)
		}
	}
}

func TestAnswersAreChecked(t *testing.T) {
	copied := "Operators restart the " + strings.Fields(notes(t, 1)[0].Text)[19] + " service after every migration of cluster 0."
	for _, tt := range []struct {
		answer string
		want   string // the question, or what the model is told
	}{
		{answering("Who cleans up at night?"), "Who cleans up at night?"},
		{" \n```json\n" + answering("Who cleans up at night?") + "\n```\n", "Who cleans up at night?"},
		{"<think>The note is about cleaning.</think>" + answering("Who  cleans\nup at night?"), "Who cleans up at night?"},
		{"Sure! " + answering("Who cleans up at night?"), "not of the form"},
		{answering("Who cleans up at night?") + " I hope this helps.", "something follows"},
		{`{"question": "Who cleans up at night?", "answer": "Ken"}`, "not of the form"},
		{`{"question": ["Who cleans up at night?"]}`, "not of the form"},
		{`{"question": "Who`, "not of the form"},
		{"", "not of the form"},
		{answering(""), "too short"},
		{answering("Why?"), "too short"},
		{answering("Why " + strings.Repeat("so ", 100) + "late?"), "at most 240"},
		{answering(copied), "copied from the note"},
		{answering("nightly CLEANUP removes them?"), "copied from the note"},
		{answering("Is the key AKIA" + "Z7QK3M5XW2RT9PLB still in use?"), "secret or control"},
		{`{"question": "Who cleans\u200b up at night?"}`, "secret or control"},
	} {
		s := makeSet(t, from(notes(t, 1)), generate.Options{N: 1, Kinds: []knownitem.Kind{knownitem.KindKeyword}})
		var told []string
		err := s.Reword(context.Background(), generate.Model{Ask: func(_ context.Context, _, user string) (string, error) {
			told = append(told, user)
			return tt.answer, nil
		}})
		if len(told) == 1 {
			if err != nil || s.Questions[0].Text != tt.want {
				t.Errorf("%q: %v, %+v", tt.answer, err, s.Questions)
			}
			continue
		}
		if len(told) != 3 || !strings.Contains(told[1], tt.want) || !errors.Is(err, ken.ErrInvalid) || s.Questions[0].Kind != knownitem.KindKeyword {
			t.Errorf("%q: %v, told %q", tt.answer, err, told[1:])
		}
	}
}

func TestOneBadAnswerIsLeftOut(t *testing.T) {
	s := makeSet(t, from(notes(t, 20)), generate.Options{N: 10, Kinds: []knownitem.Kind{knownitem.KindKeyword}})
	worst := s.Questions[4].Want
	same := s.Questions[5].Want
	number := func(id string) string {
		n, err := strconv.Atoi(id[len(id)-3:])
		if err != nil {
			t.Fatal(err)
		}
		return strconv.Itoa(n) + "."
	}
	err := s.Reword(context.Background(), generate.Model{Workers: 1, Ask: func(_ context.Context, _, user string) (string, error) {
		switch {
		case strings.Contains(user, "cluster "+number(worst)):
			return "I can't.", nil
		case strings.Contains(user, "cluster "+number(same)), strings.Contains(user, "cluster "+number(s.Questions[6].Want)):
			return answering("Is this asked twice?"), nil
		}
		return answering(about(user)), nil
	}})
	if err != nil || s.Refused != 2 || len(s.Questions) != 8 {
		t.Errorf("%v: %d refused, %d left", err, s.Refused, len(s.Questions))
	}
	for _, q := range s.Questions {
		if q.Want == worst {
			t.Errorf("still there: %+v", q)
		}
	}
}

func TestEndpointTroubles(t *testing.T) {
	down := &ken.Error{Code: ken.CodeUnavailable, Msg: "too many requests"}
	for _, tt := range []struct {
		what  string
		fail  int // so many requests of each claim fail
		err   error
		ok    bool
		waits int
	}{
		{"once", 1, down, true, 1},
		{"twice", 2, down, true, 2},
		{"always", 9, down, false, 2},
		{"the key is wrong", 1, &ken.Error{Code: ken.CodeRefused, Msg: "refused the key"}, false, 0},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := makeSet(t, from(notes(t, 5)), generate.Options{N: 1, Kinds: []knownitem.Kind{knownitem.KindKeyword}})
			before := s.Questions[0]
			n, waits := 0, 0
			err := s.Reword(context.Background(), generate.Model{Wait: never(&waits), Ask: func(_ context.Context, _, user string) (string, error) {
				if n++; n <= tt.fail {
					return "", tt.err
				}
				return answering(about(user)), nil
			}})
			if (err == nil) != tt.ok || waits != tt.waits || !tt.ok && (!errors.Is(err, tt.err) || s.Questions[0] != before) {
				t.Errorf("%v after %d waits: %+v", err, waits, s.Questions)
			}
		})
	}
}

func TestRewordStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := makeSet(t, from(notes(t, 40)), generate.Options{N: 20, Kinds: []knownitem.Kind{knownitem.KindKeyword}})
	err := s.Reword(ctx, generate.Model{Ask: func(ctx context.Context, _, _ string) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}})
	if !errors.Is(err, context.Canceled) || s.Counts()[knownitem.KindKeyword] != 20 {
		t.Errorf("%v, %v", err, s.Counts())
	}
}

// A store removes secrets; if one is stored nevertheless, it is not sent.
func TestNoSecretIsSent(t *testing.T) {
	claims := notes(t, 3)
	key := "AKIA" + "Z7QK3M5XW2RT9PLB"
	for i := range claims {
		claims[i].Text += " The access key is " + key + ". <think>private thoughts</think>"
		claims[i].Heading += " with " + key
	}
	var sent strings.Builder
	s := makeSet(t, from(claims), generate.Options{N: 3, Kinds: []knownitem.Kind{knownitem.KindQuestion}})
	err := s.Reword(context.Background(), generate.Model{Workers: 1, Ask: func(_ context.Context, system, user string) (string, error) {
		sent.WriteString(system + user)
		return answering(about(user)), nil
	}})
	if err != nil || !strings.Contains(sent.String(), "nightly cleanup") {
		t.Fatalf("%v; nothing was sent: the test shows nothing", err)
	}
	for _, never := range []string{key, "private thoughts"} {
		if strings.Contains(sent.String(), never) {
			t.Errorf("%q was sent:\n%s", never, sent.String())
		}
	}
}

func TestEstimate(t *testing.T) {
	claims := notes(t, 30)
	claims[0].Text += strings.Repeat(" long", 5000)
	s := makeSet(t, from(claims), generate.Options{N: 12, Seed: 2})
	answered := 0
	for _, q := range s.Questions {
		if q.Kind.Answered() {
			answered++
		}
	}
	words := func(text string) int { return len(strings.Fields(text)) }
	got := s.Estimate(words)
	sent, requests := 0, 0
	err := s.Reword(context.Background(), generate.Model{Workers: 1, Ask: func(_ context.Context, system, user string) (string, error) {
		sent += words(system) + words(user)
		requests++
		return answering(fmt.Sprintf("What is number %d about?", requests)), nil
	}})
	if err != nil || got.Requests != requests || requests != answered || got.TokensIn != sent || got.TokensOut < requests {
		t.Errorf("%v: estimated %+v, sent %d words in %d requests", err, got, sent, requests)
	}
}
