package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// batchQuestion is one line of a batch.
type batchQuestion struct {
	ID       json.RawMessage `json:"id,omitempty"` // any JSON value, handed back as it came
	Question string          `json:"question"`
	Scope    string          `json:"scope,omitempty"`
}

// batchAnswer is one line of the answer.
type batchAnswer struct {
	batchQuestion
	middleware.RecallAnswer
}

func (a *app) recallBatch(ctx context.Context, file string, q *middleware.RecallQuery) error {
	in, err := a.open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	return a.withStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		a.hintAtGaps(ctx, l, s, q)
		rc := l.Recaller(s, *q)
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		asked, failed := 0, 0
		for line := range until(ctx, readLines(in)) {
			if line.err == nil && strings.TrimSpace(line.text) == "" {
				continue
			}
			asked++
			if err := answerLine(ctx, rc, line, q.Filter.Scopes, enc); err != nil {
				if ctx.Err() != nil {
					break
				}
				failed++
				fmt.Fprintf(a.err, "%s:%d: %v\n", file, line.n, err)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if failed > 0 {
			return &ken.Error{Code: ken.CodeInvalid, Msg: fmt.Sprintf("%d of %d questions were not answered", failed, asked),
				Try: "Write a question a line, or {\"id\": 1, \"question\": \"…\"}."}
		}
		return nil
	})
}

// answerLine answers one line onto enc.
func answerLine(ctx context.Context, rc *middleware.Recaller, line textLine, scopes []ken.Scope, enc *json.Encoder) error {
	if line.err != nil {
		return line.err
	}
	q, err := parseQuestion(line.text)
	if err != nil {
		return err
	}
	if q.Scope != "" {
		scope, err := ken.ParseScope(q.Scope)
		if err != nil {
			return err
		}
		scopes = []ken.Scope{scope}
	}
	got, err := rc.Ask(ctx, q.Question, scopes)
	if err != nil {
		return err
	}
	return enc.Encode(batchAnswer{q, got})
}

func parseQuestion(line string) (q batchQuestion, err error) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "{") {
		return batchQuestion{Question: line}, nil
	}
	dec := json.NewDecoder(strings.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return q, fmt.Errorf("read question: %w", err)
	}
	if strings.TrimSpace(q.Question) == "" {
		return q, &ken.Error{Code: ken.CodeInvalid, Field: "question", Msg: "empty"}
	}
	return q, nil
}

// textLine is one line of a file, counted from 1.
type textLine struct {
	n    int
	text string
	err  error // the reader's own; the last line
}

const maxQuestionLine = 1 << 20

func readLines(r io.Reader) iter.Seq[textLine] {
	return func(yield func(textLine) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxQuestionLine)
		n := 1
		for ; s.Scan(); n++ {
			if !yield(textLine{n: n, text: string(bytes.TrimPrefix(s.Bytes(), []byte("\ufeff")))}) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(textLine{n: n, err: err})
		}
	}
}
