package structure_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/extract"
	"github.com/kenlayer/ken/internal/run/session"
)

// fact is one statement of the data, as a harvest keeps it.
type fact struct {
	source, record string // the set, and the message or the line in it
	text           string
	entities       []string // that the extraction named
	sort           draft.Sort
}

// hash names a fact's text, so that a judgement finds it without repeating it.
func (f *fact) hash() string {
	sum := sha256.Sum256([]byte(f.text))
	return hex.EncodeToString(sum[:8])
}

// claim is the fact as a person said it.
func (f *fact) claim() ken.Claim {
	c, err := ken.NewClaim(f.text, ken.Evidence{Kind: ken.EvidenceUserStatement, ID: "user"})
	if err != nil {
		panic(err) // no text is empty
	}
	return c
}

// chats collects messages into sessions, in their order.
type chats struct {
	order []string
	by    map[string]*session.Transcript
	ids   map[string]string // of session and message: the record
}

func newChats() *chats {
	return &chats{by: map[string]*session.Transcript{}, ids: map[string]string{}}
}

func (c *chats) add(id, record string, at time.Time, m ken.Message) {
	tr := c.by[id]
	if tr == nil {
		tr = &session.Transcript{Info: session.Info{About: session.About{ID: id}, Started: at}}
		c.by[id] = tr
		c.order = append(c.order, id)
	}
	seq := uint64(len(tr.Entries) + 1)
	tr.Entries = append(tr.Entries, session.Entry{Seq: seq, At: at, Message: m})
	c.ids[fmt.Sprint(id, "#", seq)] = record
}

// facts is what the extraction by rules makes of the sessions.
func (c *chats) facts(source string) []fact {
	var out []fact
	for _, id := range c.order {
		for _, s := range extract.Draft(c.by[id], extract.Options{}).Statements {
			out = append(out, fact{source, c.ids[fmt.Sprint(id, "#", s.Seq)], s.Text, s.Entities, s.Sort})
		}
	}
	return out
}

// locomoFacts are of conversations between two people.
func locomoFacts(t testing.TB) []fact {
	set, err := dataset.Open(t.Context(), filepath.Join(evaldata.Dir(t, "locomo-dev"), "raw", "locomo3.json"), dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newChats()
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
		c.add(r.Conv+"/"+r.Session, r.ID, r.At, ken.Message{Role: roles[who], Name: r.Speaker, Text: strings.TrimPrefix(r.Text, r.Speaker+": ")})
	}
	return c.facts("locomo")
}

// beamFacts are of long technical chats of a user with an assistant.
func beamFacts(t testing.TB) []fact {
	raw, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "beam-dev"), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	c := newChats()
	for line := range strings.Lines(string(raw)) {
		var r struct {
			ID       string `json:"_id"`
			Text     string
			Metadata struct {
				Conv, Role string
				Batch      int
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		c.add(fmt.Sprintf("%s/%d", r.Metadata.Conv, r.Metadata.Batch), r.ID, time.Time{}, ken.Message{Role: r.Metadata.Role, Text: r.Text})
	}
	return c.facts("beam")
}

// sessionFacts are of a real session with an agent. Each line repeats the messages of
// those before, and one of a single turn starts a session.
func sessionFacts(t testing.TB) []fact {
	raw, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "session"), "hermes_session_2026-05-15_en.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c := newChats()
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(raw)) {
		var turns [][]struct{ Role, Content, Timestamp string }
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &turns); err != nil {
			t.Fatal(err)
		}
		if len(turns) == 1 {
			n++
		}
		for _, turn := range turns {
			for _, m := range turn {
				if key := m.Timestamp + m.Role + m.Content; !seen[key] {
					seen[key] = true
					c.add(fmt.Sprint("line-", n), m.Timestamp, time.Time{}, ken.Message{Role: m.Role, Text: m.Content})
				}
			}
		}
	}
	return c.facts("session")
}

// recordFacts are the sentences of a project's decision records: prose alone, without
// headings, tables, code and lists of fields.
func recordFacts(t testing.TB) []fact {
	paths, err := filepath.Glob(filepath.Join(evaldata.Dir(t, "adr"), "[0-9]*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d records, %v", len(paths), err)
	}
	var out []fact
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code := false
		for block := range strings.SplitSeq(string(raw), "\n\n") {
			fences := strings.Count(block, "```")
			skip := code || fences > 0
			code = code != (fences%2 == 1)
			block = strings.TrimSpace(block)
			if skip || block == "" || strings.ContainsAny(block[:1], "#|>-*!<") || strings.Contains(block, "\n|") || strings.Contains(block, "\n- ") {
				continue
			}
			for i, s := range sentencesOf(block) {
				if n := utf8.RuneCountInString(s); n >= 30 && n <= 300 {
					out = append(out, fact{"adr", fmt.Sprintf("%s/%s/%d", filepath.Base(path)[:4], short(block), i), s, nil, draft.Fact})
				}
			}
		}
	}
	return out
}

func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}

// sentencesOf cuts a paragraph at full stops before a capital.
func sentencesOf(block string) []string {
	words := strings.Fields(strings.ReplaceAll(block, "**", ""))
	var out []string
	from := 0
	for i, w := range words {
		ends := strings.HasSuffix(w, ".") && len(w) > 4 && (i+1 == len(words) || words[i+1][0] >= 'A' && words[i+1][0] <= 'Z')
		if ends || i+1 == len(words) {
			out = append(out, strings.Join(words[from:i+1], " "))
			from = i + 1
		}
	}
	return out
}
