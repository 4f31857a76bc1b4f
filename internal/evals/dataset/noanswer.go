package dataset

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/kenlayer/ken"
)

// Categories of questions that are added to a set.
const (
	CategorySmallTalk = "small talk"
	CategoryNoAnswer  = "no answer"
)

//go:embed smalltalk.txt
var smallTalk string

// SmallTalk returns messages that ask for nothing a memory could know: greetings,
// thanks, consent, and chat about nothing in particular. Nothing should be
// injected for them.
func SmallTalk() []Query {
	var out []Query
	for text := range strings.Lines(smallTalk) {
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			out = append(out, added(fmt.Sprintf("small-talk-%d", len(out)+1), text, CategorySmallTalk))
		}
	}
	return out
}

// NoAnswer reads questions that nothing in the set answers: plain text, one a
// line, or lines as Questions reads them, whose relevant ids don't count. Errors
// name file, line and field.
func NoAnswer(ctx context.Context, path string) ([]Query, error) {
	var out []Query
	for l, err := range linesOf(ctx, path) {
		if err != nil {
			return nil, err
		}
		n := len(out) + 1
		q := added(fmt.Sprintf("no-answer-%d", n), string(l.text), CategoryNoAnswer)
		if l.text[0] == '{' {
			read, err := l.question()
			if err != nil {
				return nil, err
			}
			q.ID, q.Text, q.Conv = read.ID, read.Text, read.Conv
			if read.Category != "" {
				q.Category = read.Category
			}
		}
		out = append(out, q)
	}
	if len(out) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "no-answer", Msg: "there are no questions in " + path, Try: "Write one question a line."}
	}
	return out, nil
}

func added(id, text, category string) Query {
	return Query{ID: id, Text: text, Category: category, Judged: true, Level: LevelRecord, Added: true}
}

// Add appends questions that nothing answers. In a scoped set, those that name no
// conversation are dealt out: the first to the first conversation, and so on.
func (s *Set) Add(queries ...Query) error {
	var convs []string
	seen := map[string]bool{}
	ids := map[string]bool{}
	for i := range s.Queries {
		ids[s.Queries[i].ID] = true
		if c := s.Queries[i].Conv; s.Scoped && !seen[c] {
			seen[c] = true
			convs = append(convs, c)
		}
	}
	for i, q := range queries {
		if ids[q.ID] {
			return &ken.Error{Code: ken.CodeInvalid, Field: "_id", Msg: fmt.Sprintf("two questions have the id %q", q.ID), Try: "Give every question an id of its own."}
		}
		ids[q.ID] = true
		switch {
		case !s.Scoped:
			q.Conv = ""
		case q.Conv == "":
			q.Conv = convs[i%len(convs)]
		case !seen[q.Conv]:
			return &ken.Error{Code: ken.CodeInvalid, Field: "metadata.conv", Msg: fmt.Sprintf("question %q is about %q, which no question of the set is about", q.ID, q.Conv),
				Try: "Leave conv out, or name a conversation of the set."}
		}
		s.Queries = append(s.Queries, q)
	}
	return nil
}
