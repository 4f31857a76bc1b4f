package classify_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/harvest"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/session"
)

// conversations are the sessions of one real conversation, in order.
func conversations(t *testing.T) (out []session.Transcript) {
	t.Helper()
	set, err := dataset.Open(t.Context(), filepath.Join(evaldata.Dir(t, "locomo-dev"), "raw", "locomo3.json"), dataset.Options{})
	must(t, err)
	first, speaker := "", ""
	at := map[string]int{}
	for r, err := range set.Records(t.Context()) {
		must(t, err)
		if first == "" {
			first, speaker = r.Conv, r.Speaker
		}
		if r.Conv != first {
			continue
		}
		i, ok := at[r.Session]
		if !ok {
			i = len(out)
			at[r.Session] = i
			out = append(out, session.Transcript{Info: session.Info{About: session.About{ID: r.Session}, Started: r.At}})
		}
		role := "user"
		if r.Speaker != speaker {
			role = "assistant"
		}
		tr := &out[i]
		tr.Entries = append(tr.Entries, session.Entry{Seq: uint64(len(tr.Entries) + 1), At: r.At,
			Message: ken.Message{Role: role, Name: r.Speaker, Text: strings.TrimPrefix(r.Text, r.Speaker+": ")}})
		tr.Info.Messages, tr.Info.Last, tr.Info.Active, tr.Info.Ended = len(tr.Entries), uint64(len(tr.Entries)), r.At, r.At
	}
	return out
}

// At least nine of ten facts that a harvest of a real conversation leaves standing have
// an entity, an aspect and a kind: by rules alone, and with a model.
func TestHarvestedFactsAreFiled(t *testing.T) {
	race.SkipLong(t)
	for _, with := range []string{"rules", "model"} {
		t.Run(with, func(t *testing.T) {
			sessions := conversations(t)
			s := newStore(t, true)
			o := harvest.Options{Store: s, Log: slog.New(slog.DiscardHandler)}
			c := classify.Options{}
			if with == "model" {
				server := modeltest.Serve(t)
				m := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model, Log: o.Log})
				t.Cleanup(func() { _ = m.Close() })
				o.Model, c.Model = m, m.Model()
				c.Ask = func(ctx context.Context, r classify.Request) (string, error) {
					return m.Ask(ctx, model.Question{Name: r.Name, System: r.System, User: r.User, Schema: r.Schema, Temperature: r.Temperature})
				}
			}
			h := harvest.New(o)
			for i := range min(len(sessions), 8) {
				_, err := h.Harvest(t.Context(), &sessions[i], nil)
				must(t, err)
			}
			q := jobs.NewQueue(s.Shelf(), jobs.Options{})
			f := classify.New(s, c)
			must(t, f.CatchUp(t.Context()))
			rep, err := f.Drain(t.Context(), q)
			must(t, err)
			if rep.Retried+rep.Dead > 0 {
				t.Errorf("jobs: %+v", rep)
			}
			v, err := classify.Cover(t.Context(), s, nil)
			must(t, err)
			st, err := classify.Status(t.Context(), s.Shelf())
			must(t, err)
			t.Logf("%d facts: %.1f %% filed (%d with an entity, %d by rules, %d by the model); %d requests, %d facts left to the rules, refused %v",
				v.Claims, 100*v.Share(), v.Entities, v.Rules, v.Model, st.Counts.Requests, st.Counts.Left, st.Counts.Refused)
			if v.Claims < 20 || v.Share() < 0.9 {
				t.Errorf("%.1f %% of %d facts are filed", 100*v.Share(), v.Claims)
			}
			if with == "model" && v.Model*10 < v.Claims*9 {
				t.Errorf("the model filed %d of %d", v.Model, v.Claims)
			}
		})
	}
}
