package sweep

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

func TestGrid(t *testing.T) {
	c := config.Default()
	c.Budget.Chars = 700
	o := Options{Config: &c, Modes: []Mode{ModeKeyword, ModeRRF}, Set: []Setting{{"top_k", "5"}},
		Vary: []Axis{{"rrf_k", []string{"20", "60"}}, {"floor", []string{"0.1", "0.2", "0.3"}}}}
	all, err := variants(&o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range all {
		names = append(names, v.name)
		if v.cfg.Budget.Chars != 700 || v.cfg.Knowledge.TopK != 5 || v.cfg.Middleware.Events || v.cfg.Retrieval.Deadline != turnDeadline {
			t.Errorf("%s: %+v", v.name, v.cfg)
		}
		if rrf := v.mode == ModeRRF; rrf != (v.cfg.Retrieval.Rank == config.RankRRF) || v.cfg.Middleware.Vector != rrf || !v.cfg.Middleware.Keyword {
			t.Errorf("%s: rank %s, vector %v", v.name, v.cfg.Retrieval.Rank, v.cfg.Middleware.Vector)
		}
	}
	if len(all) != 12 || names[0] != "keyword rrf_k=20 floor=0.1" || names[11] != "rrf rrf_k=60 floor=0.3" || all[11].cfg.Retrieval.RRFK != 60 || all[11].cfg.Retrieval.Floor != .3 {
		t.Errorf("%q", names)
	}
	if c.Retrieval.RRFK != config.Default().Retrieval.RRFK {
		t.Error("the caller's configuration was changed")
	}
}

// The deadline is raised, unless the deadline is what is measured.
func TestDeadlineIsTheUsersIfAsked(t *testing.T) {
	c := config.Default()
	for want, o := range map[time.Duration]Options{
		turnDeadline:          {},
		40 * time.Millisecond: {Set: []Setting{{"deadline", "40ms"}}},
		50 * time.Millisecond: {Vary: []Axis{{"retrieval.deadline", []string{"50ms"}}}},
	} {
		o.Config, o.Modes = &c, []Mode{ModeHybrid}
		all, err := variants(&o)
		if err != nil || all[0].cfg.Retrieval.Deadline != want {
			t.Errorf("%v: %v, want %v", err, all, want)
		}
	}
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   string
	}{
		{"rrf_k", nil, "retrieval.rrf_k"},
		{"retrieval.rrf_k", []string{"x"}, "retrieval.rrf_k"},
		{"floor", []string{"0.1", "0.2"}, "retrieval.floor"},
		{"floor", []string{"true", "false"}, "middleware.floor"},
		{"legs.keyword", nil, "retrieval.legs.keyword"},
	} {
		if got, err := Resolve(tt.name, tt.values...); err != nil || got != tt.want {
			t.Errorf("%s %v: %q, %v, want %s", tt.name, tt.values, got, err, tt.want)
		}
	}
	if _, err := Resolve("floor", "a", "0.2"); err == nil || !strings.Contains(err.Error(), "none of them takes a, 0.2") {
		t.Errorf("a value for no key: %v", err)
	}
	for name, want := range map[string]string{"floor": "several keys", "rrfk": "unknown key", "": "unknown key"} {
		if got, err := Resolve(name); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), want) || ken.Hint(err) == "" {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestSettingsThatCantBe(t *testing.T) {
	c := config.Default()
	many := make([]string, 600)
	for i := range many {
		many[i] = "60"
	}
	for want, o := range map[string]Options{
		"retrieval.rrf_k: \"x\"":   {Vary: []Axis{{"rrf_k", []string{"x"}}}},
		"knowledge.owner: is set":  {Set: []Setting{{"knowledge.owner", "x"}}},
		"rrf_k: no values":         {Vary: []Axis{{"rrf_k", nil}}},
		"vary: more than 500":      {Vary: []Axis{{"rrf_k", many}}},
		"knowledge.top_k: 50 is":   {Set: []Setting{{"pool", "20"}}, Vary: []Axis{{"top_k", []string{"50"}}}},
		"unknown key":              {Set: []Setting{{"nothing.like.it", "1"}}},
		"middleware.knowledge: is": {Set: []Setting{{"middleware.knowledge", "false"}}},
	} {
		o.Config, o.Modes = &c, []Mode{ModeKeyword}
		if _, err := variants(&o); !errors.Is(err, ken.ErrInvalid) || !strings.Contains(err.Error(), want) || ken.Hint(err) == "" {
			t.Errorf("%v (try %q), want %q", err, ken.Hint(err), want)
		}
	}
}

func TestParseModes(t *testing.T) {
	got, err := ParseModes("keyword, rrf")
	if err != nil || !slices.Equal(got, []Mode{ModeKeyword, ModeRRF}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, list := range []string{"", "words", "keyword,keyword"} {
		if got, err := ParseModes(list); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
}

func TestAblation(t *testing.T) {
	c := config.Default()
	got, err := variants(&Options{Config: &c, Modes: []Mode{ModeHybrid}, Vary: []Axis{{"top_k", []string{"3", "5"}}}, Ablate: true})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * (1 + len(signals())); len(got) != want || len(signals()) < 5 {
		t.Fatalf("%d variants of %d signals, want %d", len(got), len(signals()), want)
	}
	for _, v := range got {
		off := 0
		for _, s := range v.settings {
			if value, err := v.cfg.Get(s.Key); err != nil || value != s.Value {
				t.Errorf("%s: %s is %q, %v", v.name, s.Key, value, err)
			}
			if s.Value == "0" {
				off++
			}
		}
		if off > 1 || (off == 0) != (len(v.settings) == 1) {
			t.Errorf("%s: %d signals off", v.name, off)
		}
	}
}
