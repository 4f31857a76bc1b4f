package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// conversation is one element of a LoCoMo file (Maharana et al. 2024).
type conversation struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"` // session_N, session_N_date_time, speaker_a, speaker_b
	QA           []struct {
		Question string   `json:"question"`
		Category word     `json:"category"`
		Evidence evidence `json:"evidence"`
	} `json:"qa"`
}

// locomoTurn is one turn of a session.
type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"` // of an image in the message
}

// evidence holds ids of turns: a list of strings, some of which contain several ids.
type evidence []string

var dialogueID = lazyregexp.New(`D\d+:\d+`)

// UnmarshalJSON extracts the ids from all strings.
func (e *evidence) UnmarshalJSON(b []byte) error {
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		var one string
		if json.Unmarshal(b, &one) != nil {
			return err
		}
		list = []string{one}
	}
	for _, s := range list {
		*e = append(*e, dialogueID.FindAllString(s, -1)...)
	}
	return nil
}

func openLoCoMo(ctx context.Context, path string, o Options) (*Set, error) {
	s := &Set{Format: FormatLoCoMo, records: func(ctx context.Context) iter.Seq2[Record, error] { return turns(ctx, path, turnsOf) }}
	if o.Questions != "" {
		return s.asking(ctx, o.Questions)
	}
	lost := 0
	for e, err := range elements[conversation](ctx, path) {
		if err != nil {
			return nil, err
		}
		turns, err := turnsOf(&e)
		if err != nil {
			return nil, err
		}
		known := make(map[string]bool, len(turns))
		for _, t := range turns {
			known[t.ID] = true
		}
		conv := convOf(&e)
		for i, qa := range e.value.QA {
			if strings.TrimSpace(qa.Question) == "" {
				return nil, e.fault(fmt.Sprintf("qa[%d].question", i), "is empty", "Say what is asked.")
			}
			q := Query{ID: fmt.Sprintf("locomo_%d_qa%d", e.index, i), Text: qa.Question, Conv: conv, Category: string(qa.Category),
				Judged: true, Level: LevelRecord, Relevant: map[string]int{}}
			for _, id := range qa.Evidence {
				if known[conv+"/"+id] {
					q.Relevant[conv+"/"+id] = 1
				} else {
					lost++
				}
			}
			s.Queries = append(s.Queries, q)
		}
	}
	if lost > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d pieces of evidence name turns that no conversation has; they were left out", lost))
	}
	return s, nil
}

// convOf returns the name of the conversation, or its index if it has no name.
func convOf(e *element[conversation]) string {
	return cmp.Or(e.value.ID, "conv-"+strconv.Itoa(e.index))
}

// turnsOf returns the turns of all sessions. An image is represented by its caption, in
// brackets after the text.
func turnsOf(e *element[conversation]) ([]Record, error) {
	c := &e.value
	var sessions []int
	for name := range c.Conversation {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, "session_")); err == nil && strings.HasPrefix(name, "session_") {
			sessions = append(sessions, n)
		}
	}
	slices.Sort(sessions)
	var out []Record
	for _, n := range sessions {
		name := "session_" + strconv.Itoa(n)
		var spoken []locomoTurn
		if err := json.Unmarshal(c.Conversation[name], &spoken); err != nil {
			field, msg := explain(err)
			return nil, e.fault(strings.TrimSuffix("conversation."+name+"."+field, "."), msg, "Give a list of turns.")
		}
		var date string
		if raw := c.Conversation[name+"_date_time"]; raw != nil {
			if err := json.Unmarshal(raw, &date); err != nil {
				return nil, e.fault("conversation."+name+"_date_time", "not text", "Write it as 1:56 pm on 8 May, 2023.")
			}
		}
		when, err := ParseTime(date)
		if err != nil {
			return nil, e.fault("conversation."+name+"_date_time", err.Error(), "Write it as 1:56 pm on 8 May, 2023.")
		}
		for i, t := range spoken {
			if t.ID == "" {
				return nil, e.fault(fmt.Sprintf("conversation.%s[%d].dia_id", name, i), "is missing", "Give every turn an id, such as D1:1.")
			}
			text := t.Text
			if t.Caption != "" {
				text = strings.TrimSpace(text + " [image: " + t.Caption + "]")
			}
			if t.Speaker != "" {
				text = t.Speaker + ": " + text
			}
			out = append(out, Record{ID: convOf(e) + "/" + t.ID, Conv: convOf(e), Session: name, Text: text, Speaker: t.Speaker, At: when,
				Place: fmt.Sprintf("%s [%d].conversation.%s[%d]", e.file, e.index, name, i)})
		}
	}
	return out, nil
}

// longMemQuestion is one element of a LongMemEval file (Wu et al. 2024): a question with the
// sessions of its memory. Some samples of the set have one conversation for several
// questions, without the relevant turns.
type longMemQuestion struct {
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
		return s.asking(ctx, o.Questions)
	}
	unjudged := 0
	for e, err := range elements[longMemQuestion](ctx, path) {
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

// query determines what is relevant: the turns with has_answer if there are any, else
// whole sessions. A question that is marked as unanswerable has no relevant turns,
// although the set names the sessions that it was derived from.
func (a *longMemQuestion) query(conv string, want Level) Query {
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

// session returns the name of the i-th session; the set may list a session several
// times.
func (a *longMemQuestion) session(i int) string {
	if i < len(a.SessionIDs) {
		return a.SessionIDs[i]
	}
	return "session_" + strconv.Itoa(i+1)
}

// turnID includes the index of the session, because names of sessions may repeat.
func (a *longMemQuestion) turnID(i, j int) string { return fmt.Sprintf("%s/%d/%d", a.session(i), i, j) }

func haystackOf(e *element[longMemQuestion]) (string, error) {
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

// remembered returns the turns of one question's sessions. Turns without words are left
// out, because no search can find them.
func remembered(e *element[longMemQuestion]) ([]Record, error) {
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
		if i == 0 || t.Date != a.Conversation[i-1].Date { // each date is a session
			sessions++
		}
		if err := add(fmt.Sprintf("conversation[%d].date", i), strconv.Itoa(i), "session_"+strconv.Itoa(sessions), t.Date, t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// elements yields the objects of a file that is a JSON array, or an object with the
// array under "data". Only one object is in memory at a time. The index starts at 0.
func elements[T any](ctx context.Context, path string) iter.Seq2[element[T], error] {
	return reading(ctx, path, elementsIn[T])
}

// element is one object of the array, with its index.
type element[T any] struct {
	file  string
	index int
	value T
}

// fault returns an error about this element.
func (e *element[T]) fault(field, msg, try string) error {
	if field != "" {
		field = "." + field
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "[" + strconv.Itoa(e.index) + "]" + field, Msg: e.file + ": " + msg, Try: try}
}

// turns yields the records that of returns for each object of such a file.
func turns[T any](ctx context.Context, path string, of func(*element[T]) ([]Record, error)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for e, err := range elements[T](ctx, path) {
			var records []Record
			if err == nil {
				records, err = of(&e)
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

func elementsIn[T any](r io.Reader, name string) iter.Seq2[element[T], error] {
	return func(yield func(element[T], error) bool) {
		d := json.NewDecoder(r)
		if err := enter(d); err != nil {
			yield(element[T]{}, broken(name, d, err))
			return
		}
		for i := 0; d.More(); i++ {
			e := element[T]{file: name, index: i}
			if err := d.Decode(&e.value); err != nil {
				field, msg := explain(err)
				yield(e, e.fault(field, msg+" (byte "+strconv.FormatInt(d.InputOffset(), 10)+")", "Check that the file is complete."))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if _, err := d.Token(); err != nil { // the array's end: the file may be truncated
			yield(element[T]{}, broken(name, d, err))
		}
	}
}

// enter advances to the first element of the array.
func enter(d *json.Decoder) error {
	tok, err := d.Token()
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('['):
		return nil
	case json.Delim('{'):
	default:
		return errNoArray
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "data" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		if tok, err = d.Token(); err != nil {
			return err
		}
		if tok == json.Delim('[') {
			return nil
		}
		return errNoArray
	}
	return errNoArray
}

var errNoArray = errors.New("there is no array of objects")

func broken(name string, d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: "data", Msg: fmt.Sprintf("%s, byte %d: not a JSON array of objects", name, d.InputOffset()), Err: err,
		Try: "Check that this is the right file, and that it is complete."}
}
