package life

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/evaldata"
	"github.com/kenlayer/ken/internal/evals/dataset"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/middleware"
)

// sitting is one session of a conversation, as a client would send it.
type sitting struct {
	conv, id string
	at       time.Time
	messages []ken.Message
	records  []string // the set's id of each message
}

// sittings reads a set of conversations. In a chat between two people, the first
// speaker is the user; both have names.
func sittings(t *testing.T, set *dataset.Set) (out []*sitting) {
	roles := map[string]string{}
	byID := map[string]*sitting{}
	for r, err := range set.Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		key := r.Conv + "\x00" + r.Session
		s := byID[key]
		if s == nil {
			s = &sitting{conv: r.Conv, id: r.Session, at: r.At}
			byID[key] = s
			out = append(out, s)
		}
		role := r.Role
		if role == "" {
			who := r.Conv + "\x00" + r.Speaker
			if roles[who] == "" {
				roles[who] = "user"
				if roles[r.Conv] != "" {
					roles[who] = "assistant"
				}
				roles[r.Conv] = "taken"
			}
			role = roles[who]
		}
		s.messages = append(s.messages, ken.Message{Role: role, Name: r.Speaker, Text: strings.TrimPrefix(r.Text, r.Speaker+": ")})
		s.records = append(s.records, r.ID)
	}
	return out
}

// layer opens a layer with this clock.
func layer(t *testing.T, c *clock) *middleware.Layer {
	t.Helper()
	cfg := config.Default()
	cfg.Retrieval.Deadline = 30 * time.Second // a slow machine must not change the figures
	cfg.Repository.Index = false
	cfg.Budget.MemoryChars = 0 // pinned claims come on top of the 6,000 characters; here only the 6,000 count
	l, err := middleware.Open(t.Context(), middleware.Options{Root: t.TempDir(), Config: &cfg, Strict: true, Foreground: true,
		Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Conversations of months are held again through the layer, session by session,
// each harvested by rules when it ends. What share of the questions' evidence
// sessions does a later session's block then hold something of, with nothing but
// what was harvested? And with an index of every message?
//
//	go test -run Conversations -v ./internal/evals/life
func TestConversationsAreRememberedByWhatWasHarvested(t *testing.T) {
	race.SkipLong(t)
	path := filepath.Join(evaldata.Dir(t, "locomo-dev"), "raw", "locomo3.json")
	if testing.Short() {
		t.Skip("some thousand turns")
	}
	set, err := dataset.Open(t.Context(), path, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	held := sittings(t, set)
	var c clock
	live, index := layer(t, &c), layer(t, &c)
	for _, s := range held {
		c.set(s.at)
		hold(t, live, s, &c)
		keep(t, index, s)
	}
	at := map[string]string{} // the session of a message
	for _, s := range held {
		for _, id := range s.records {
			at[s.conv+"\x00"+id] = s.conv + "/" + s.id
		}
	}
	c.pass(30 * 24 * time.Hour)
	kept := 0
	for _, conv := range convs(held) {
		st, release, err := live.Store(t.Context(), conv)
		if err != nil {
			t.Fatal(err)
		}
		kept += st.Len()
		release()
	}
	t.Logf("%d sessions, %.1f claims each", len(held), float64(kept)/float64(len(held)))
	got, raw := brought(t, live, set, convs(held), at), brought(t, index, set, convs(held), at)
	t.Logf("evidence sessions brought back in %d characters: harvested %.1f %%, every message indexed %.1f %%", live.Config().Budget.Chars, 100*got, 100*raw)
	if got < 0.8 || kept > 22*len(held) {
		t.Errorf("%.3f of the evidence sessions with %d claims of %d sessions", got, kept, len(held))
	}
}

func convs(held []*sitting) (out []string) {
	seen := map[string]bool{}
	for _, s := range held {
		if !seen[s.conv] {
			seen[s.conv] = true
			out = append(out, s.conv)
		}
	}
	return out
}

// hold sends a session's turns through the layer, ends it and harvests it.
func hold(t *testing.T, l *middleware.Layer, s *sitting, c *clock) {
	t.Helper()
	turn := ken.Turn{Owner: s.conv, Session: s.conv + "/" + s.id}
	for i, m := range s.messages {
		if m.Role == "user" || i == len(s.messages)-1 {
			turn.Messages = s.messages[:i+1]
			l.Assemble(t.Context(), turn)
			c.pass(time.Minute)
		}
	}
	if err := l.End(t.Context(), s.conv, turn.Session); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Harvest(t.Context(), s.conv); err != nil || r.Done != 1 {
		t.Fatalf("%s: %+v, %v", turn.Session, r, err)
	}
}

// keep writes every message as a claim.
func keep(t *testing.T, l *middleware.Layer, s *sitting) {
	t.Helper()
	st, release, err := l.Store(t.Context(), s.conv)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for i, m := range s.messages {
		c, err := ken.NewClaim(m.Name+": "+m.Text, ken.FromMessage(s.id, fmt.Sprint(i), ""))
		if err != nil {
			continue // an image without words
		}
		c.Session, c.CreatedAt = s.conv+"/"+s.id, s.at.Add(time.Duration(i)*time.Second)
		if _, err := st.WriteClaim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

// brought asks every question in a separate session. It returns the mean share of
// the question's evidence sessions with a claim in the block. Adversarial questions
// (category 5) ask for what was never said, and those of a conversation that is not
// among those asked are left out.
func brought(t *testing.T, l *middleware.Layer, set *dataset.Set, asked []string, at map[string]string) float64 {
	t.Helper()
	sum, n := 0.0, 0
	for i := range set.Queries {
		q := &set.Queries[i]
		if !q.Answerable() || q.Category == "5" || !slices.Contains(asked, q.Conv) {
			continue
		}
		want := map[string]bool{}
		for id := range q.Relevant {
			want[at[q.Conv+"\x00"+id]] = false
		}
		a := l.Assemble(t.Context(), ken.Turn{Owner: q.Conv, Messages: []ken.Message{{Role: "user", Text: q.Text}}})
		for s := range sessionsIn(t.Context(), t, l, q.Conv, a.Receipt.Items) {
			if _, ok := want[s]; ok {
				want[s] = true
			}
		}
		found := 0
		for _, ok := range want {
			if ok {
				found++
			}
		}
		sum += float64(found) / float64(len(want))
		n++
	}
	return sum / float64(n)
}

// sessionsIn is the sessions that a block's items come from.
func sessionsIn(ctx context.Context, t *testing.T, l *middleware.Layer, owner string, items []ken.Item) map[string]bool {
	t.Helper()
	st, release, err := l.Store(ctx, owner)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	out := map[string]bool{}
	for _, it := range items {
		c, err := st.Get(ctx, it.ID)
		if err != nil {
			t.Fatal(err)
		}
		out[c.Session] = true
	}
	return out
}
