package coderecall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/budgeter"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/middleware"
)

// silentChars is the length from which a block is wrong for a question without an answer, in
// characters.
const silentChars = 600

// Answer is the rated block of one question.
type Answer struct {
	Question
	First   int      `json:"first"`   // position of the first item that is an answer; 0 for none
	CodeAt  int      `json:"code_at"` // position of the first item of implementing code; 0 for none
	Chars   int      `json:"chars"`   // of the block
	Headers int      `json:"headers"` // number of these in the items' headers
	Items   []string `json:"items"`   // the items' sources, in the order of the block
	MS      float64  `json:"ms"`      // of the turn
	Mode    ken.Mode `json:"mode,omitempty"`
}

// Right reports whether the turn is right: with an answer if there is one, else silent.
func (a *Answer) Right() bool {
	if a.Answerable() {
		return a.First > 0
	}
	return a.Chars < silentChars
}

// Report holds the answers of one repository.
type Report struct {
	Repository string   `json:"repository"`
	Answers    []Answer `json:"answers"`
}

// turnDeadline is the deadline of a turn: response times are not measured here.
const turnDeadline = 10 * time.Second

// Run indexes the repository in root, with its state in a temporary folder, and asks every
// question of s in a separate turn. cfg is not changed. progress may be nil.
func Run(ctx context.Context, s *Set, root string, cfg config.Config, progress func(stage string, done, total int)) (r Report, err error) {
	r.Repository = s.Repository
	state, err := os.MkdirTemp("", "ken-code-")
	if err != nil {
		return r, fmt.Errorf("make a folder for the state: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	cfg.Knowledge.DBPath, cfg.Retrieval.Deadline = state, turnDeadline
	cfg.Middleware.Events, cfg.Middleware.Journal = false, false
	l, err := middleware.Open(ctx, middleware.Options{Root: root, Config: &cfg, Strict: true, Foreground: true, Progress: progress})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if _, err := l.Refresh(ctx, ken.DefaultOwner); err != nil {
		return r, fmt.Errorf("index %s: %w", root, err)
	}
	for i := range s.Questions {
		q := s.Questions[i]
		t := ken.Turn{Owner: ken.DefaultOwner, Session: "question-" + strconv.Itoa(i), Messages: []ken.Message{{Role: "user", Text: q.Ask}}}
		in := l.Assemble(ctx, t)
		if err := ctx.Err(); err != nil {
			return r, err
		}
		r.Answers = append(r.Answers, judge(q, root, &in.Receipt))
	}
	return r, nil
}

// judge finds the positions of the answer in a turn's items.
func judge(q Question, root string, r *ken.Receipt) Answer {
	a := Answer{Question: q, Chars: r.Chars, MS: r.MS["total"], Mode: r.Mode}
	declared := map[string]bool{}
	if q.Kind == What {
		declared = markedLines(&q, root)
	}
	for i := range r.Items {
		it := &r.Items[i]
		a.Items = append(a.Items, it.Source)
		a.Headers += it.Chars - utf8.RuneCountInString(it.Text)
		path := analysis.SourcePath(it.Source)
		code := q.marker != nil && path == q.Code && (q.marker.MatchString(it.Text) || it.Kind == budgeter.KindSymbol && declared[it.Source])
		answers := code
		for _, also := range q.also {
			answers = answers || also[0].MatchString(path) && also[1].MatchString(it.Text)
		}
		if code && a.CodeAt == 0 {
			a.CodeAt = i + 1
		}
		if answers && a.First == 0 {
			a.First = i + 1
		}
	}
	return a
}

// markedLines returns the places that the marker matches, in the form of the source of a
// symbol's item.
func markedLines(q *Question, root string) map[string]bool {
	out := map[string]bool{}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(q.Code)))
	if err != nil || q.marker == nil {
		return out
	}
	for _, at := range q.marker.FindAllIndex(data, -1) {
		out[q.Code+":"+strconv.Itoa(1+bytes.Count(data[:at[0]], []byte("\n")))] = true
	}
	return out
}
