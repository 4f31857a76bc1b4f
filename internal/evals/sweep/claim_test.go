package sweep

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/dataset"
)

func TestClaimOfARecord(t *testing.T) {
	when := time.Date(2024, 3, 15, 10, 0, 0, 0, time.UTC)
	var c clock
	r := dataset.Record{ID: "m1", Conv: "c", Session: "s1", Text: "Ann: hi", Role: "assistant", Speaker: "Ann", At: when}
	got := incoming(&r, &c).Claim
	if got.Key != "m1" || got.Session != "s1" || got.Text != "Ann: hi" || !got.CreatedAt.Equal(when) || got.Actor != (ken.Actor{Type: "agent", ID: "Ann"}) ||
		got.Evidence[0].Kind != ken.EvidenceMessage || got.Validate() != nil {
		t.Errorf("%+v, %v", got, got.Validate())
	}
	if again := incoming(&r, &clock{}).Claim; again.ID != got.ID {
		t.Errorf("ids %s and %s", got.ID, again.ID)
	}
	r.Conv = "d"
	if other := incoming(&r, &clock{}).Claim; other.ID == got.ID {
		t.Error("two conversations share an id")
	}
	alone := incoming(&dataset.Record{ID: "d", Text: "x"}, &clock{}).Claim
	if alone.Evidence[0].Kind != ken.EvidenceArtifact || alone.Actor != (ken.Actor{}) || alone.Validate() != nil {
		t.Errorf("%+v, %v", alone, alone.Validate())
	}
	if a := actor(&dataset.Record{Speaker: "Bob"}); a != (ken.Actor{Type: "user", ID: "Bob"}) {
		t.Errorf("%+v", a)
	}
}

// A session's records are dated one after the other, as they were said.
func TestClock(t *testing.T) {
	day := time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC)
	var c clock
	var got []time.Duration
	for _, at := range []time.Time{day, day, {}, day.Add(time.Hour), day.AddDate(0, 0, -7), {}} {
		got = append(got, c.at(at).Sub(day))
	}
	week := -7 * 24 * time.Hour
	for i, want := range []time.Duration{0, time.Second, 2 * time.Second, time.Hour, week, week + time.Second} {
		if got[i] != want {
			t.Errorf("record %d: %v, want %v", i, got[i], want)
		}
	}
	var undated clock
	if a, b := undated.at(time.Time{}), undated.at(time.Time{}); !a.Equal(epoch) || b.Sub(a) != time.Second {
		t.Errorf("without dates: %v, %v", a, b)
	}
}

// Questions about an export name its claims by id or key, and both count as one.
func TestQuestionsNameClaimsByKey(t *testing.T) {
	dir := t.TempDir()
	const lamp, boat = "01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000002"
	for name, text := range map[string]string{
		"claims.jsonl": `{"id": "` + lamp + `", "key": "lamp", "text": "The lamp in the hall needs a new bulb.", "session": "s1"}
{"id": "` + boat + `", "key": "boat", "text": "The boat is moored at the north jetty."}
`,
		"queries.jsonl": `{"_id": "q1", "text": "What does the lamp in the hall need?", "relevant": ["lamp"]}
{"_id": "q2", "text": "Where is the boat moored?", "relevant": {"boat": 1, "` + boat + `": 2}}
{"_id": "q3", "text": "Where is the boat moored at night?", "relevant": ["nowhere"]}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, level := range []dataset.Level{dataset.LevelRecord, dataset.LevelSession} {
		set, err := dataset.Open(t.Context(), dir, dataset.Options{Level: level})
		if err != nil {
			t.Fatal(err)
		}
		r := sweepOf(t, Options{Data: set, Modes: []Mode{ModeKeyword}})
		for id, want := range map[string]float64{"q1": 1, "q2": 1, "q3": 0} {
			if a := found(t, r, "keyword", id); a.Values["recall@5"] != want || a.Values["mrr"] != want || a.Values["block_recall"] != want {
				t.Errorf("%s, %s: %+v", level, id, a)
			}
		}
		if set.Queries[0].Relevant["lamp"] != 1 {
			t.Errorf("the data set was changed: %+v", set.Queries[0])
		}
	}
}
