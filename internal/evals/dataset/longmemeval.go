package dataset

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// asked is one element of a LongMemEval file (Wu et al. 2024): a question with the
// sessions that its memory is made of. Samples of the set also come with one
// conversation for several questions, and then without what is relevant.
type asked struct {
	QuestionID     string     `json:"question_id"`
	QuestionType   string     `json:"question_type"`
	Question       string     `json:"question"`
	QuestionDate   string     `json:"question_date"`
	SessionIDs     []string   `json:"haystack_session_ids"`
	Dates          []string   `json:"haystack_dates"`
	Sessions       [][]spoken `json:"haystack_sessions"`
	AnswerSessions []string   `json:"answer_session_ids"`

	ID           string   `json:"id"`
	Conversation []spoken `json:"conversation"`
	Questions    []struct {
		ID       string `json:"id"`
		Question string `json:"question"`
	} `json:"questions"`
}

type spoken struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	HasAnswer bool   `json:"has_answer"`
	Date      string `json:"date"`
}

// abstention marks the ids of questions that the sessions don't answer.
const abstention = "_abs"

func openLongMemEval(ctx context.Context, path string, o Options) (*Set, error) {
	s := &Set{Format: FormatLongMemEval, records: func(ctx context.Context) iter.Seq2[Record, error] { return turns(ctx, path, remembered) }}
	if o.Questions != "" {
		var err error
		s.Queries, err = Questions(ctx, o.Questions)
		return s, err
	}
	unjudged := 0
	for e, err := range elements[asked](ctx, path) {
		if err != nil {
			return nil, err
		}
		conv, err := haystackOf(&e)
		if err != nil {
			return nil, err
		}
		a := &e.value
		if len(a.Questions) > 0 {
			for i, q := range a.Questions {
				if strings.TrimSpace(q.Question) == "" {
					return nil, e.fault(fmt.Sprintf("questions[%d].question", i), "is empty", "Say what is asked.")
				}
				s.Queries = append(s.Queries, Query{ID: conv + "/" + cmp.Or(q.ID, strconv.Itoa(i)), Text: q.Question, Conv: conv,
					Category: a.QuestionType, Level: LevelRecord})
				unjudged++
			}
			continue
		}
		if strings.TrimSpace(a.Question) == "" {
			return nil, e.fault("question", "is empty", "Say what is asked.")
		}
		q := e.value.query(conv, o.Level)
		if !q.Judged {
			unjudged++
		}
		s.Queries = append(s.Queries, q)
	}
	if unjudged > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d questions come without what is relevant: they are asked, and only their latency counts", unjudged))
	}
	return s, nil
}

// query finds what is relevant: the turns with has_answer where there are some,
// else whole sessions. A question that is marked as unanswerable has nothing,
// although the set names the sessions that it was derived from.
func (a *asked) query(conv string, want Level) Query {
	q := Query{ID: conv, Text: a.Question, Conv: conv, Category: a.QuestionType, Level: LevelRecord}
	if strings.HasSuffix(a.QuestionID, abstention) {
		q.Judged = true
		return q
	}
	turns, sessions := map[string]int{}, map[string]int{}
	for i, session := range a.Sessions {
		for j, t := range session {
			if t.HasAnswer {
				turns[a.turnID(i, j)] = 1
			}
		}
	}
	for _, id := range a.AnswerSessions {
		sessions[id] = 1
	}
	switch {
	case len(turns) > 0 && (want != LevelSession || len(sessions) == 0):
		q.Relevant = turns
	case len(sessions) > 0:
		q.Relevant, q.Level = sessions, LevelSession
	}
	q.Judged = q.Relevant != nil
	return q
}

// session names the i-th session; the set may list one session several times.
func (a *asked) session(i int) string {
	if i < len(a.SessionIDs) {
		return a.SessionIDs[i]
	}
	return "session_" + strconv.Itoa(i+1)
}

// turnID counts sessions too, because their names may repeat.
func (a *asked) turnID(i, j int) string { return fmt.Sprintf("%s/%d/%d", a.session(i), i, j) }

func haystackOf(e *element[asked]) (string, error) {
	a := &e.value
	id := cmp.Or(a.QuestionID, a.ID)
	if id == "" {
		return "", e.fault("question_id", "is missing", "Give every question an id.")
	}
	if len(a.Sessions) == 0 && len(a.Conversation) == 0 {
		return "", e.fault("haystack_sessions", "is missing", "Give the sessions that the question is asked over.")
	}
	return id, nil
}

// remembered lists the turns of one question's sessions. Turns without words are
// left out, as nobody could find them.
func remembered(e *element[asked]) ([]Record, error) {
	conv, err := haystackOf(e)
	if err != nil {
		return nil, err
	}
	a := &e.value
	var out []Record
	add := func(field, id, session, date string, t *spoken) error {
		when, err := ParseTime(date)
		if err != nil {
			return e.fault(field, err.Error(), "Write it as 2023/05/30 (Tue) 21:48.")
		}
		if strings.TrimSpace(t.Content) != "" {
			out = append(out, Record{ID: id, Conv: conv, Session: session, Text: t.Content, Role: t.Role, At: when,
				Place: fmt.Sprintf("%s [%d].%s", e.file, e.index, field)})
		}
		return nil
	}
	for i := range a.Sessions {
		date := ""
		if i < len(a.Dates) {
			date = a.Dates[i]
		}
		for j := range a.Sessions[i] {
			if err := add(fmt.Sprintf("haystack_dates[%d]", i), a.turnID(i, j), a.session(i), date, &a.Sessions[i][j]); err != nil {
				return nil, err
			}
		}
	}
	sessions := 0
	for i := range a.Conversation {
		t := &a.Conversation[i]
		if i == 0 || t.Date != a.Conversation[i-1].Date { // a session is what has one date
			sessions++
		}
		if err := add(fmt.Sprintf("conversation[%d].date", i), strconv.Itoa(i), "session_"+strconv.Itoa(sessions), t.Date, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}
