package middleware_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/objective"
	"github.com/kenlayer/ken/internal/run/session"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/retriever"
)

// rig is a layer with one switch on or off, over a store that holds something
// for every part of a turn.
type rig struct {
	*middleware.Layer
	read []ken.Message // what the stages after guard read in the last turn
}

func rigged(t *testing.T, change func(*config.Config)) *rig {
	g := &rig{}
	g.Layer = open(t, settings(recording, change), withVectors, using(func(next middleware.Handler) middleware.Handler {
		return func(ctx context.Context, st *middleware.State) error {
			err := next(ctx, st)
			g.read = st.Read
			return err
		}
	}))
	learn(t, g.Layer, fact(t, "%s", retryFact), fact(t, "The cafeteria service opens at noon."), pinned(t, "Answer in French, always."),
		episode(t, "earlier", "Goal: paint the lighthouse."), playbook(t, "polish", "Polish the brass of a telescope.\n\n1. Take a soft cloth."))
	return g
}

func (g *rig) ask(text string) middleware.Assembly {
	return g.Assemble(context.Background(), ken.Turn{Session: "s", Messages: []ken.Message{
		{Role: "assistant", Text: "<think>I wonder.</think>How can I help?"}, {Role: "user", Text: text}}})
}

// ended is the session after its end.
func (g *rig) ended(t *testing.T) (session.Info, error) {
	t.Helper()
	if err := g.End(t.Context(), "", "s"); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Harvest(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return g.Operator().Journal("").Info(t.Context(), "s")
}

// legsOf is which legs brought the items.
func legsOf(r ken.Receipt) map[string]bool {
	out := map[string]bool{}
	for _, it := range r.Items {
		for leg := range it.Legs {
			out[leg] = true
		}
	}
	return out
}

// Each middleware.* switch does what its description says, on and off.
func TestSwitches(t *testing.T) {
	type check func(t *testing.T, g *rig, on bool)
	const keyword, vector, always = retriever.SourceKeyword, retriever.SourceVector, retriever.SourcePinned
	switches := map[string]struct {
		set   func(*config.Middleware) *bool
		check check
	}{
		"knowledge": {func(m *config.Middleware) *bool { return &m.Knowledge }, func(t *testing.T, g *rig, on bool) {
			a := g.ask(question)
			if (len(a.Insertions) > 0) != on || (a.Receipt.Block != "") != on || !on && a.Receipt.Cause != "switched off: middleware.knowledge is false" {
				t.Errorf("%+v", a)
			}
		}},
		"guard": {func(m *config.Middleware) *bool { return &m.Guard }, func(t *testing.T, g *rig, on bool) {
			g.ask(question)
			if strings.Contains(g.read[0].Text, "I wonder") == on {
				t.Errorf("the stages read %q", g.read[0].Text)
			}
		}},
		"intent": {func(m *config.Middleware) *bool { return &m.Intent }, func(t *testing.T, g *rig, on bool) {
			words := g.ask("How often does the payments service retry?").Receipt.Signals.Keywords
			as := []string{"How", "often", "does", "the", "payments", "service", "retry?"}
			if reflect.DeepEqual(words, as) == on {
				t.Errorf("keywords %q", words)
			}
			if asked := g.ask("thanks!").Receipt.Mode != ken.ModeNone; asked == on {
				t.Errorf("small talk asks: %v", asked)
			}
		}},
		"keyword": {func(m *config.Middleware) *bool { return &m.Keyword }, func(t *testing.T, g *rig, on bool) {
			r := g.ask(question).Receipt
			if legs := legsOf(r); legs[keyword] != on || !legs[vector] || !legs[always] {
				t.Errorf("legs %v", legs)
			}
			if !on && (r.Mode != ken.ModeVector || r.Cause != "switched off: middleware.keyword is false") {
				t.Errorf("mode %s, cause %q", r.Mode, r.Cause)
			}
		}},
		"vector": {func(m *config.Middleware) *bool { return &m.Vector }, func(t *testing.T, g *rig, on bool) {
			r := g.ask(question).Receipt
			if legs := legsOf(r); legs[vector] != on || !legs[keyword] || !legs[always] {
				t.Errorf("legs %v", legs)
			}
			if !on && (r.Mode != ken.ModeKeyword || r.Cause != "switched off: middleware.vector is false") {
				t.Errorf("mode %s, cause %q", r.Mode, r.Cause)
			}
		}},
		"pinned": {func(m *config.Middleware) *bool { return &m.Pinned }, func(t *testing.T, g *rig, on bool) {
			if r := g.ask(question).Receipt; strings.Contains(r.Block, "in French") != on || !strings.Contains(r.Block, "three times") {
				t.Errorf("block %s", r.Block)
			}
		}},
		"sessions": {func(m *config.Middleware) *bool { return &m.Sessions }, func(t *testing.T, g *rig, on bool) {
			r := g.ask(question).Receipt
			if legs := legsOf(r); legs[retriever.SourceSessions] != on || !strings.Contains(r.Block, "three times") {
				t.Errorf("legs %v, block %s", legs, r.Block)
			}
		}},
		"playbooks": {func(m *config.Middleware) *bool { return &m.Playbooks }, func(t *testing.T, g *rig, on bool) {
			r := g.ask("How do I polish the brass of the telescope?").Receipt
			if legs := legsOf(r); legs[retriever.SourcePlaybooks] != on || !strings.Contains(r.Block, "soft cloth") { // the words find it anyway
				t.Errorf("legs %v, block %s", legs, r.Block)
			}
		}},
		"floor": {func(m *config.Middleware) *bool { return &m.Floor }, func(t *testing.T, g *rig, on bool) {
			r := g.ask("Which aspirin dosage does a vaccination service for elderly giraffes recommend?").Receipt
			if strings.Contains(r.Block, "cafeteria") == on {
				t.Errorf("block %s", r.Block)
			}
			for _, c := range r.Cut {
				if c.Reason == ken.CutFloor && !on {
					t.Errorf("cut %+v", c)
				}
			}
		}},
		"inject": {func(m *config.Middleware) *bool { return &m.Inject }, func(t *testing.T, g *rig, on bool) {
			a := g.ask(question)
			if (len(a.Insertions) > 0) != on || !strings.Contains(a.Receipt.Block, "three times") || len(a.Receipt.Items) == 0 {
				t.Errorf("%+v", a)
			}
		}},
		"graph": {func(m *config.Middleware) *bool { return &m.Graph }, func(t *testing.T, g *rig, on bool) {
			put(t, g.Root(), shopFiles)
			r := g.ask("What may I change in depot.Shelf?").Receipt
			if (cardsIn(&r)[shelfID] != nil) != on {
				t.Errorf("block %s", r.Block)
			}
		}},
		"decisions": {func(m *config.Middleware) *bool { return &m.Decisions }, func(t *testing.T, g *rig, on bool) {
			put(t, g.Root(), shopFiles)
			r := g.ask("What may I change in depot.Shelf?").Receipt
			if strings.Contains(r.Block, "in the order in which they came") != on || cardsIn(&r)[shelfID] == nil {
				t.Errorf("block %s", r.Block)
			}
		}},
		"objectives": {func(m *config.Middleware) *bool { return &m.Objectives }, func(t *testing.T, g *rig, on bool) {
			if g.Operator().Objectives() == nil {
				if on {
					t.Error("there are no objectives")
				}
				return
			}
			if _, err := g.Operator().Objectives().Create(t.Context(), objective.Draft{Title: "Reach the harbour by dawn"}); err != nil {
				t.Fatal(err)
			}
			if r := g.ask(question).Receipt; strings.Contains(r.Block, "Reach the harbour by dawn") != on {
				t.Errorf("block %s", r.Block)
			}
		}},
		"events": {func(m *config.Middleware) *bool { return &m.Events }, func(t *testing.T, g *rig, on bool) {
			g.ask(question)
			if _, err := os.Stat(filepath.Join(g.Root(), g.Config().Telemetry.Events)); (err == nil) != on {
				t.Errorf("the folder of events: %v", err)
			}
		}},
		"journal": {func(m *config.Middleware) *bool { return &m.Journal }, func(t *testing.T, g *rig, on bool) {
			g.ask(question)
			if _, err := g.ended(t); (err == nil) != on {
				t.Errorf("the session: %v", err)
			}
		}},
		"harvest": {func(m *config.Middleware) *bool { return &m.Harvest }, func(t *testing.T, g *rig, on bool) {
			g.ask(question)
			if info, err := g.ended(t); err != nil || (info.State == session.Harvested) != on {
				t.Errorf("the session %+v, %v", info, err)
			}
		}},
		"ingest": {func(m *config.Middleware) *bool { return &m.Ingest }, func(t *testing.T, g *rig, on bool) {
			page := "The lighthouse of the harbour is painted red every seven years by volunteers."
			g.Assemble(context.Background(), ken.Turn{Session: "s", Messages: []ken.Message{{Role: "user", Text: "What does the page say?"},
				{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "w", Name: "WebFetch", Arguments: `{"url": "https://example.com"}`}}},
				{Role: "tool", ToolCallID: "w", Text: page}}})
			if _, err := g.ended(t); err != nil {
				t.Fatal(err)
			}
			if r := g.ask("How often is the lighthouse of the harbour painted red?").Receipt; strings.Contains(r.Block, "seven years") != on {
				t.Errorf("block %s", r.Block)
			}
		}},
	}
	if n := reflect.TypeFor[config.Middleware]().NumField(); n != len(switches) {
		t.Errorf("%d switches have a check, the configuration has %d", len(switches), n)
	}
	for name, sw := range switches {
		for _, on := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " on", false: " off"}[on], func(t *testing.T) {
				sw.check(t, rigged(t, func(c *config.Config) { *sw.set(&c.Middleware) = on }), on)
			})
		}
	}
}

// A dry run must be what the real one would be, so that it can be trusted.
func TestDryRunComposesTheSameBlock(t *testing.T) {
	var blocks []string
	for _, inject := range []bool{true, false} {
		l := open(t, settings(func(c *config.Config) { c.Middleware.Inject = inject }))
		c := fact(t, "%s", retryFact)
		c.ID, c.CreatedAt = "0195616d-8c00-7000-8000-0000003f9a1c", monday
		learn(t, l, c)
		blocks = append(blocks, l.Assemble(context.Background(), asked(question)).Receipt.Block)
	}
	if d := cmp.Diff(blocks[0], blocks[1]); d != "" || blocks[0] == "" {
		t.Errorf("(-real +dry):\n%s", d)
	}
}

// retrieval.floor: 0 is no floor; a higher one gives fewer items.
func TestConfiguredFloor(t *testing.T) {
	shown := map[float64]int{}
	for _, floor := range []float64{0, 0.18, 1} {
		l := open(t, settings(func(c *config.Config) { c.Retrieval.Floor = floor }))
		learn(t, l, fact(t, "%s", retryFact), fact(t, "The cafeteria service opens at noon."))
		shown[floor] = len(l.Assemble(context.Background(), asked(question+" And which giraffes, elephants, rhinos and hippos are in the zoo?")).Receipt.Items)
	}
	if shown[0] != 2 || shown[0.18] != 1 || shown[1] != 0 {
		t.Errorf("items by floor: %v", shown)
	}
}
