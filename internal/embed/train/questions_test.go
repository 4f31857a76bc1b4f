package train

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken/internal/embed/table"
)

func TestQuestionsAskAboutTheSpeaker(t *testing.T) {
	for _, tt := range []struct {
		turn   string
		passes []string // one of these comes, whatever is drawn, up to words that are left out
	}{
		{"Elena: My favorite food is sushi.", []string{"What is Elena's favorite food?", "Who or what is Elena's favorite food?"}},
		{"Raj: We went to Boston", []string{"When did Raj go to boston?", "Where did Raj go to boston?", "Who did Raj go to boston with?",
			"What did Raj go?", "Why did Raj go to boston?", "How did Raj feel about to boston?"}},
		{"Mia: I'm a nurse", []string{"Is Mia nurse?", "What is Mia?", "Who is nurse?", "How long has Mia been nurse?"}},
	} {
		for seed := range uint64(20) {
			got, err := Questions(t.Context(), []Pair{{Q: "Hello there", P: tt.turn, Src: "qmsum"}}, seed)
			if err != nil || len(got) != 1 {
				t.Fatalf("%q: %d questions, error %v; want 1", tt.turn, len(got), err)
			}
			if !slices.Contains(tt.passes, got[0].Q) || got[0].P != tt.turn || got[0].Src != "question:qmsum" {
				t.Errorf("%q gave %+v", tt.turn, got[0])
			}
		}
	}
}

func TestQuestions(t *testing.T) {
	pairs := []Pair{
		{Q: "I love my job at the hospital", P: "I moved to Oslo in 2019. My dog is called Rex.", Src: "synthetic-persona-chat"},
		{Q: "When did Raj move?", P: "I moved to Oslo in 2019. My dog is called Rex.", Src: "pseudo:synthetic-persona-chat"}, // the same turn
		{Q: "What is a mutex?", P: "I moved a mutex", Src: "medquad"},                                                        // nobody speaks here
		{Q: "How are you?", P: "Fine, thanks!", Src: "qmsum"},                                                                // nothing to ask
	}
	got, err := Questions(t.Context(), pairs, 1)
	if err != nil || len(got) != 3 {
		t.Fatalf("%d questions, error %v; want 3: %q", len(got), err, got)
	}
	for _, p := range got {
		name, text := speaker(p.P)
		if !slices.Contains(names, name) || text != pairs[0].P && text != pairs[0].Q {
			t.Errorf("%q has the speaker %q", p.P, name)
		}
		if !strings.HasSuffix(p.Q, "?") || !strings.Contains(p.Q, name) && !strings.HasPrefix(p.Q, "Who ") {
			t.Errorf("%q does not ask about %s", p.Q, name)
		}
	}
	again, err := Questions(t.Context(), pairs, 1)
	if diff := cmp.Diff(got, again); diff != "" || err != nil {
		t.Errorf("the same seed asks otherwise, error %v:\n%s", err, diff)
	}
}

func TestLemma(t *testing.T) {
	for verb, want := range map[string]string{"went": "go", "tried": "try", "stopped": "stop", "called": "call", "moved": "move",
		"painted": "paint", "created": "create", "walk": "walk", "red": "red"} {
		if got, past := lemma(verb); got != want || past != (verb != "walk" && verb != "red") {
			t.Errorf("lemma(%q) = %q, %v; want %q", verb, got, past, want)
		}
	}
}

func FuzzAbout(f *testing.F) {
	f.Add("I'm going home. We have two cats, and my sister's dog is old!")
	f.Add("my is is is")
	f.Fuzz(func(t *testing.T, text string) {
		if n := len(about(draw(1, 1), "Ana", text)); n > 2 {
			t.Errorf("%d questions", n)
		}
	})
}

func TestMix(t *testing.T) {
	for src, want := range map[string]float64{"wordnet": 0.4, "numpy-code": 1.5, "python-stdlib": 1.5, "react-docs": 1, "question:qmsum": 1, "own": 1} {
		if got := Mix(src); got != want {
			t.Errorf("Mix(%q) = %v, want %v", src, got, want)
		}
	}
}

func TestHoldOut(t *testing.T) {
	var pairs []Pair
	for i := range 3000 {
		pairs = append(pairs, Pair{Q: fmt.Sprint(i), P: fmt.Sprint("passage ", i/2)})
	}
	rest, held := HoldOut(pairs, 10)
	if len(rest)+len(held) != 3000 || len(held) < 200 || len(held) > 400 {
		t.Errorf("%d held out of 3000, want about 300", len(held))
	}
	sides := map[string]int{}
	for _, p := range rest {
		sides[p.P] |= 1
	}
	for _, p := range held {
		sides[p.P] |= 2
	}
	for p, side := range sides {
		if side == 3 {
			t.Fatalf("%q is on both sides", p)
		}
	}
	if rest, held := HoldOut(pairs, 0); len(rest) != 3000 || len(held) != 0 {
		t.Errorf("%d held out, want none", len(held))
	}
}

func TestMeasure(t *testing.T) {
	m, err := table.New([]string{"a", "b", "c"}, []float32{1, 0, 0, 1, 0.6, 0.8}, 2, table.Info{})
	if err != nil {
		t.Fatal(err)
	}
	// a finds a first, c second (behind itself), and ? has no vector.
	s, err := Measure(t.Context(), m, []Pair{{Q: "a", P: "a"}, {Q: "c", P: "b"}, {Q: "?", P: "c"}}, Options{})
	if err != nil || s.Pairs != 3 || math.Abs(s.MRR-0.5) > 1e-9 || math.Abs(s.Recall10-2.0/3) > 1e-9 {
		t.Errorf("%+v, error %v; want MRR 0.5", s, err)
	}
}
