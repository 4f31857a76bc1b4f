package model

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/session"
)

// chats are the LongMemEval conversations, as transcripts.
func chats(t *testing.T) []*session.Transcript {
	raw, err := os.ReadFile(filepath.Join(evaldata.Dir(t, "longmemeval"), "longmemeval_oracle_sample.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Data []struct {
			Conversation []struct{ Role, Content string }
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var all []*session.Transcript
	for _, d := range file.Data {
		tr := &session.Transcript{}
		for i, m := range d.Conversation {
			tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(i + 1), Message: ken.Message{Role: m.Role, Text: m.Content}})
		}
		all = append(all, tr)
	}
	return all
}

// records are the texts of a data set's records: what people and assistants said.
func records(t *testing.T, set string) []string {
	raw, err := os.ReadFile(filepath.Join(evaldata.Dir(t, set), "corpus.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(raw)) {
		var r struct{ Text string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, cleaned(r.Text))
	}
	return all
}

// A guard against planted orders is worth nothing if it loses what people say.
func TestPeopleAreNotTakenForAttackers(t *testing.T) {
	race.SkipLong(t)
	for _, set := range []string{"locomo-dev", "beam-dev"} {
		t.Run(set, func(t *testing.T) {
			said, taken := 0, 0
			for i, text := range records(t, set) {
				if i%6 > 0 { // a sample is enough, and all of it takes seconds
					continue
				}
				for s := range sentences(text) {
					said++
					if givesOrders(s) {
						taken++
						t.Logf("taken for an order: %q", s)
					}
				}
			}
			t.Logf("%d of %d sentences are taken for orders", taken, said)
			if said < 500 || taken*2000 > said {
				t.Errorf("%d of %d sentences are taken for orders, want at most one in 2,000", taken, said)
			}
		})
	}
}

// Facts that quote users word by word survive: what a good model says is not lost
// to the checks.
func TestGoodQuotesSurvive(t *testing.T) {
	server := modeltest.Serve(t)
	c := New(Options{BaseURL: server.URL, Model: modeltest.Model, Log: slog.New(slog.DiscardHandler), Window: 100_000, MaxFacts: 1000, FactChars: 1000})
	defer c.Close()
	kept, dropped := 0, map[string]int{}
	all := chats(t)
	for _, tr := range all[:min(len(all), 10)] {
		d, err := c.Draft(t.Context(), tr, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept += len(d.Statements)
		for reason, n := range d.Dropped {
			dropped[reason] += n
		}
	}
	lost := 0
	for _, n := range dropped {
		lost += n
	}
	lost -= dropped[DropDuplicate]
	t.Logf("%d kept, dropped %v", kept, dropped)
	if kept < 30 || lost*100 > kept {
		t.Errorf("%d kept, dropped %v, want at most 1 in 100 lost", kept, dropped)
	}
}
