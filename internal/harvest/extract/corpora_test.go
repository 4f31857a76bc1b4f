package extract_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/run/session"
)

// corpus is conversations that questions are asked about. An owner remembers the
// sessions of one store: a question searches its owner's alone.
type corpus struct {
	name      string
	owners    []string
	sessions  map[string][]session.Transcript // by owner, in the order in which they were held
	questions []question
}

// question is one that is answered by what was said in some sessions.
type question struct {
	owner, text string
	category    string
	sessions    map[string]bool   // that hold the evidence
	messages    map[string]uint64 // of the evidence: session and Seq as "session#seq"
	answer      string            // "" where the set gives none
}

// transcripts collects messages into sessions.
type transcripts struct {
	c   *corpus
	at  map[string]int // of owner and session
	ids map[string]string
}

func newTranscripts(name string) *transcripts {
	return &transcripts{c: &corpus{name: name, sessions: map[string][]session.Transcript{}}, at: map[string]int{}, ids: map[string]string{}}
}

// add appends a message, and remembers under which name questions refer to it.
func (t *transcripts) add(owner, id, record string, at time.Time, m ken.Message) {
	key := owner + "\x00" + id
	i, ok := t.at[key]
	if !ok {
		if _, known := t.c.sessions[owner]; !known {
			t.c.owners = append(t.c.owners, owner)
		}
		i = len(t.c.sessions[owner])
		t.at[key] = i
		t.c.sessions[owner] = append(t.c.sessions[owner], session.Transcript{Info: session.Info{About: session.About{ID: id}, Started: at}})
	}
	tr := &t.c.sessions[owner][i]
	seq := uint64(len(tr.Entries) + 1)
	tr.Entries = append(tr.Entries, session.Entry{Seq: seq, At: at, Message: m})
	tr.Info.Messages, tr.Info.Last, tr.Info.Active, tr.Info.Ended = len(tr.Entries), seq, at, at
	t.ids[record] = evidenceKey(id, seq)
}

func evidenceKey(id string, seq uint64) string { return id + "#" + strconv.FormatUint(seq, 10) }

func (q *question) needs(key string) {
	id, seq, _ := strings.Cut(key, "#")
	n, _ := strconv.ParseUint(seq, 10, 64)
	q.sessions[id] = true
	q.messages[key] = n
}

// locomo is conversations between two people. Adversarial questions are left
// out: what they ask about was never said.
func locomo(t testing.TB) *corpus {
	dir := evaldata.Dir(t, "locomo-dev")
	set, err := dataset.Open(t.Context(), filepath.Join(dir, "raw", "locomo3.json"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := newTranscripts("locomo")
	roles := map[string]string{}
	for r, err := range set.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		who := r.Conv + "/" + r.Speaker
		if roles[who] == "" {
			roles[who] = "user"
			if roles[r.Conv] != "" {
				roles[who] = "assistant"
			}
			roles[r.Conv] = "taken"
		}
		text := strings.TrimPrefix(r.Text, r.Speaker+": ")
		out.add(r.Conv, r.Session, r.ID, r.At, ken.Message{Role: roles[who], Name: r.Speaker, Text: text})
	}
	answers := locomoAnswers(t, filepath.Join(dir, "raw", "locomo3.json"))
	for _, q := range set.Queries {
		if q.Category == "5" || !q.Answerable() {
			continue
		}
		asked := question{owner: q.Conv, text: q.Text, category: q.Category, sessions: map[string]bool{}, messages: map[string]uint64{}, answer: answers[q.Text]}
		for id := range q.Relevant {
			asked.needs(out.ids[id])
		}
		out.c.questions = append(out.c.questions, asked)
	}
	return out.c
}

func locomoAnswers(t testing.TB, path string) map[string]string {
	var file []struct {
		QA []struct {
			Question string
			Answer   any
		}
	}
	readJSON(t, path, &file)
	out := map[string]string{}
	for _, c := range file {
		for _, qa := range c.QA {
			if qa.Answer != nil {
				out[qa.Question] = fmt.Sprint(qa.Answer)
			}
		}
	}
	return out
}

// longmemeval is chats of a user with an assistant. All are remembered by one
// owner, and every session of a question's own chat is evidence: the sample has no
// other, and doesn't say which.
func longmemeval(t testing.TB) *corpus {
	path := filepath.Join(evaldata.Dir(t, "longmemeval"), "longmemeval_oracle_sample.json")
	var file struct {
		Data []struct {
			ID           string
			Type         string `json:"question_type"`
			Conversation []struct{ Role, Content, Date string }
			Questions    []struct{ Question string }
			Answer       any
		}
	}
	readJSON(t, path, &file)
	var answers struct {
		Data []struct {
			Questions []struct{ Answer any }
		}
	}
	readJSON(t, path, &answers)
	out := newTranscripts("longmemeval")
	for i, d := range file.Data {
		q := question{owner: "all", text: d.Questions[0].Question, category: d.Type, sessions: map[string]bool{}, messages: map[string]uint64{},
			answer: fmt.Sprint(answers.Data[i].Questions[0].Answer)}
		n, last := 0, ""
		for j, m := range d.Conversation {
			if m.Date != last {
				n, last = n+1, m.Date
			}
			at, err := dataset.ParseTime(m.Date)
			if err != nil {
				t.Fatal(err)
			}
			id := fmt.Sprintf("%s/%d", d.ID, n)
			out.add("all", id, fmt.Sprintf("%s/%d", id, j), at, ken.Message{Role: m.Role, Text: m.Content})
			q.sessions[id] = true
		}
		out.c.questions = append(out.c.questions, q)
	}
	return out.c
}

// beam is long technical chats of a user with an assistant, three sessions each.
func beam(t testing.TB) *corpus {
	dir := evaldata.Dir(t, "beam-dev")
	set, err := dataset.Open(t.Context(), dir, dataset.Options{Judged: true})
	if err != nil {
		t.Fatal(err)
	}
	out := newTranscripts("beam")
	dates := map[string]time.Time{}
	raw, err := os.ReadFile(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var r struct {
			ID       string `json:"_id"`
			Text     string
			Metadata struct {
				Conv, Role, Date string
				Batch            int
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("%s/%d", r.Metadata.Conv, r.Metadata.Batch)
		if r.Metadata.Date != "" {
			if dates[id], err = dataset.ParseTime(r.Metadata.Date); err != nil {
				t.Fatal(err)
			}
		}
		out.add(r.Metadata.Conv, id, r.ID, dates[id], ken.Message{Role: r.Metadata.Role, Text: r.Text})
	}
	kind := regexp.MustCompile(`^[^-]+-\d+-(\w+)-`)
	for _, q := range set.Queries {
		asked := question{owner: q.Conv, text: q.Text, category: q.Category, sessions: map[string]bool{}, messages: map[string]uint64{}}
		if m := kind.FindStringSubmatch(q.ID); asked.category == "" && m != nil {
			asked.category = m[1]
		}
		for id := range q.Relevant {
			asked.needs(out.ids[id])
		}
		out.c.questions = append(out.c.questions, asked)
	}
	return out.c
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// hermes is a real session with an agent, from the longest of its requests: each
// repeats the messages of those before. A line that starts anew is a session of its own.
func hermes(t testing.TB) *corpus {
	raw, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "session"), "hermes_session_2026-05-15_en.txt"))
	if err != nil {
		t.Fatal(err)
	}
	type said struct{ Role, Content, Timestamp string }
	out := newTranscripts("hermes")
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(raw)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var turns [][]said
		if err := json.Unmarshal([]byte(line), &turns); err != nil {
			t.Fatal(err)
		}
		if len(turns) == 1 {
			n++
		}
		for _, turn := range turns {
			for _, m := range turn {
				if key := m.Timestamp + m.Role + m.Content; seen[key] {
					continue
				} else {
					seen[key] = true
				}
				at, err := dataset.ParseTime(m.Timestamp)
				if err != nil {
					t.Fatal(err)
				}
				out.add("hermes", fmt.Sprintf("line-%d", n), m.Timestamp, at, ken.Message{Role: m.Role, Text: m.Content})
			}
		}
	}
	return out.c
}
