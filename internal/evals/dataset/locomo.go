package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

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

// said is one turn of a session.
type said struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"` // of an image that was sent with it
}

// evidence is the ids of turns: a list of strings, some of which hold several.
type evidence []string

var dialogueID = lazyregexp.New(`D\d+:\d+`)

// UnmarshalJSON finds the ids in whatever strings there are.
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
		var err error
		s.Queries, err = Questions(ctx, o.Questions)
		return s, err
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

// convOf names the conversation; one that has no name is named by its place.
func convOf(e *element[conversation]) string {
	if e.value.ID != "" {
		return e.value.ID
	}
	return "conv-" + strconv.Itoa(e.index)
}

// turnsOf lists what was said, session by session. An image counts by its caption,
// in brackets behind the text.
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
		var spoken []said
		if err := json.Unmarshal(c.Conversation[name], &spoken); err != nil {
			field, msg := explain(err)
			return nil, e.fault("conversation."+name+dotted(field), msg, "Give a list of turns.")
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

func dotted(field string) string {
	if field == "" {
		return ""
	}
	return "." + field
}
