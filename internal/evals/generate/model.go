package generate

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/internal/store/clean"
)

// prompt is the model's task. It says that the text of a note is data.
//
//go:embed prompt.txt
var prompt string

// Model writes questions instead of the rules.
type Model struct {
	Name string // for the set's description
	// Ask sends one request and returns the answer's text. It is called from several
	// goroutines. An ErrUnavailable is tried again, any other error ends Reword.
	Ask func(ctx context.Context, system, user string) (string, error)
	// Workers is the number of concurrent requests; default 4.
	Workers int
	// Wait waits before a request is sent again. The default waits for d, or until ctx
	// ends.
	Wait func(ctx context.Context, d time.Duration) error
}

// attempts is the maximum number of requests about one claim, and of retries to an
// endpoint that is not available.
const attempts = 3

// Cost is the approximate cost of Reword.
type Cost struct {
	Requests  int `json:"requests"`
	TokensIn  int `json:"tokens_in"`
	TokensOut int `json:"tokens_out"`
}

// answerTokens is a generous estimate of the length of a response: 25 words in JSON.
const answerTokens = 50

// Estimate returns the cost of Reword if every response can be used. count returns the
// number of tokens of a text.
func (s *Set) Estimate(count func(string) int) Cost {
	c := Cost{}
	for _, q := range s.Questions {
		if q.Kind.Answered() {
			c.Requests++
			c.TokensIn += count(prompt) + count(s.note(q.Want))
		}
	}
	c.TokensOut = c.Requests * answerTokens
	return c
}

// Reword replaces every question that has an answer by one that the model wrote about
// the same claim. A question for which the model wrote nothing usable is left out and
// counted. Errors are those of m.Ask, and ctx's own; the set is then unchanged.
func (s *Set) Reword(ctx context.Context, m Model) error {
	if m.Wait == nil {
		m.Wait = wait
	}
	total := 0
	for _, q := range s.Questions {
		if q.Kind.Answered() {
			total++
		}
	}
	out := slices.Clone(s.Questions)
	var done atomic.Int64
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(cmp.Or(max(m.Workers, 0), 4))
	for i := range out {
		q := &out[i]
		if !q.Kind.Answered() {
			continue
		}
		g.Go(func() error {
			text, err := m.question(gctx, s.note(q.Want), s.wanted[q.Want].Text)
			if err != nil {
				return err
			}
			q.Kind, q.Text, q.Hidden = KindModel, text, ""
			s.o.Progress("ask", int(done.Add(1)), total)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	// If two claims have the same question, only the first is kept, because the
	// question would be ambiguous.
	said := map[string]bool{}
	out = slices.DeleteFunc(out, func(q knownitem.Question) bool {
		again := q.Text == "" || said[q.Text]
		said[q.Text] = true
		return again
	})
	if total > 0 && len(out) == len(s.Questions)-total {
		return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%s gave no answer that could be used to any of %d requests", cmp.Or(m.Name, "the model"), total),
			Try: "Use a model that follows instructions, or leave --model away."}
	}
	s.Refused = len(s.Questions) - len(out)
	s.Questions, s.Model = out, m.Name
	return nil
}

// maxNote is the maximum number of code points of a claim's text that are sent.
const maxNote = 4000

// note returns a claim in the form that is sent to the model. It is cleaned again, in
// case the store contains a secret.
func (s *Set) note(id string) string {
	c := s.wanted[id]
	text := analysis.Clip(clean.Text(c.Text), maxNote) // cleaned before it is cut, so that no secret is cut in two and missed
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(struct {
		Heading string `json:"heading,omitempty"`
		Text    string `json:"text"`
	}{clean.Text(c.Heading), text}); err != nil {
		panic(err) // two strings
	}
	return strings.TrimSpace(b.String())
}

// question asks until a response can be used; "" if none could.
func (m *Model) question(ctx context.Context, note, text string) (string, error) {
	user := note
	for range attempts {
		answer, err := m.send(ctx, user)
		if err != nil {
			return "", err
		}
		q, err := read(answer, text)
		if err == nil {
			return q, nil
		}
		user = note + "\n\nYour last answer could not be used: " + err.Error() + ". Answer with JSON and nothing else."
	}
	return "", nil
}

// send sends a request, and retries while the endpoint is not available.
func (m *Model) send(ctx context.Context, user string) (string, error) {
	pause := time.Second
	for try := 1; ; try++ {
		answer, err := m.Ask(ctx, prompt, user)
		if err == nil || try == attempts || !errors.Is(err, ken.ErrUnavailable) {
			return answer, err
		}
		if err := m.Wait(ctx, pause); err != nil {
			return "", err
		}
		pause *= 4
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Minimum and maximum length of a question, in code points.
const leastChars, mostChars = 8, 240

// read extracts the question from a response. The response must be strict JSON,
// possibly in a code fence and after reasoning. The error describes for the model what
// is wrong.
func read(answer, text string) (string, error) {
	answer = strings.TrimSpace(guardrail.StripReasoning(answer))
	if inner, ok := strings.CutPrefix(answer, "```"); ok {
		answer = strings.TrimSuffix(strings.TrimPrefix(inner, "json"), "```")
	}
	dec := json.NewDecoder(strings.NewReader(answer))
	dec.DisallowUnknownFields()
	var v struct {
		Question string `json:"question"`
	}
	if err := dec.Decode(&v); err != nil {
		return "", errors.New(`it is not of the form {"question": "…"}`)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("something follows the JSON")
	}
	q := strings.Join(strings.Fields(v.Question), " ")
	switch n := utf8.RuneCountInString(q); {
	case n < leastChars:
		return "", errors.New("the question is empty or too short")
	case n > mostChars:
		return "", fmt.Errorf("the question has %d characters, at most %d will do", n, mostChars)
	case guardrail.Sanitize(q) != q || len(guardrail.Secrets(q)) > 0:
		return "", errors.New("the question holds a secret or control characters")
	case strings.Contains(plain(text), plain(q)):
		return "", errors.New("the question is copied from the note")
	}
	return q, nil
}

// plain normalizes a text for comparison: lower case, single spaces, no question mark.
func plain(s string) string {
	return strings.TrimRight(strings.Join(strings.Fields(strings.ToLower(s)), " "), "?!. ")
}
