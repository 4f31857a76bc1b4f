package classify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/classify"
	"github.com/kenlayer/ken/internal/run/jobs"
)

// One request asks about all facts of a batch: each thing with its type and aspects, the facts
// numbered, cold, with a schema.
func TestModelFilesFactsOfManyThingsInOneRequest(t *testing.T) {
	r := newRig(t, says(func(text string) string {
		if strings.Contains(text, "frozen") {
			return ruled("Release Policy")
		}
		return under("Release Policy")
	}))
	e := fact(t, "payments", "payments")
	e.Kind, e.Key, e.Aspect = ken.KindEntity, "entity:payments", "system"
	r.write(e)
	var claims []ken.Claim
	for i := range 11 {
		claims = append(claims, fact(t, fmt.Sprintf("Batch %d of the payments runs at night", i), "payments"))
	}
	claims = append(claims, fact(t, "The payments are frozen over the weekend", "payments"), fact(t, "The gateway answers in JSON", "gateway"))
	ids := r.write(claims...)
	r.run()

	asked := r.model.asked()
	if len(asked) != 1 || len(asked[0].Facts) != 13 || len(asked[0].Things) != 2 {
		t.Fatalf("asked %+v", asked)
	}
	if p := asked[0].thing("payments"); p.Type != "system" || len(p.Suggested) == 0 {
		t.Errorf("payments is shown as %+v", p)
	}
	for i, id := range ids {
		c := r.get(id)
		if c.Aspect != "release policy" || c.AssignedBy != ken.AssignedByModel || c.Constraint != (i == 11) {
			t.Errorf("%q is filed under %q by %q, constraint %v", c.Text, c.Aspect, c.AssignedBy, c.Constraint)
		}
	}
	req := r.model.requests[0]
	if req.Temperature != 0.1 || !json.Valid(req.Schema) || req.System == "" || strings.Contains(req.User, "no_think") {
		t.Errorf("%+v", req)
	}
	if n := r.counts(); n.Model != uint64(len(ids)) || n.Left != 0 {
		t.Errorf("%+v", n)
	}
}

// What sessions leave is asked about when they end: one request a session, whatever was
// learned while it went on; what was there before the model is asked about in batches.
func TestOneRequestASession(t *testing.T) {
	r := newRig(t, filer("schedule"))
	harvested := func(n int, session string) (out []ken.Claim) {
		for i := range n {
			c := fact(t, fmt.Sprintf("In %s, batch %d of service%d runs at night", session, i, i), fmt.Sprintf("service%d", i))
			c.SourceType, c.Session = "harvest", session
			out = append(out, c)
		}
		return out
	}
	old := r.write(append(harvested(20, "old 1"), harvested(20, "old 2")...)...)
	must(t, r.Begin(t.Context()))
	now := r.write(harvested(25, "now")...)
	f := harvested(1, "now")[0]
	f.Kind, f.Text = ken.KindFinding, "main.go has changed"
	must(t, r.AddSession(t.Context(), append(now, r.write(f)...)))
	r.run()
	if n := len(r.model.asked()); n != 2 {
		t.Errorf("%d requests", n)
	}
	for _, id := range append(old, now...) {
		if c := r.get(id); c.AssignedBy != ken.AssignedByModel {
			t.Errorf("%q is filed by %q", c.Text, c.AssignedBy)
		}
	}
}

// What is learned in a session before anything else is in the store is asked about with its
// session, too.
func TestFirstSessionOfAnEmptyStoreIsAskedAboutOnce(t *testing.T) {
	r := newRig(t, filer("schedule"))
	must(t, r.CatchUp(t.Context()))
	c := fact(t, "The payments run at night", "payments")
	c.SourceType, c.Session = "harvest", "s"
	r.write(c)
	r.run()
	if n := len(r.model.asked()); n != 0 {
		t.Errorf("%d requests before the session has ended", n)
	}
}

// Where the model must not be asked any more, claims stay as the rules filed them, and no job
// waits or fails.
func TestClaimsAreLeftToTheRulesWhereTheModelMustNotBeAsked(t *testing.T) {
	r := newRig(t, func(input) (string, error) { return "", fmt.Errorf("%w: the day is over", classify.ErrLeave) })
	id := r.write(fact(t, "The payments run at night", "payments"))[0]
	rep := r.run()
	if c := r.get(id); rep.Done != 1 || rep.Retried+rep.Dead > 0 || c.AssignedBy != ken.AssignedByRules || c.Aspect == "" {
		t.Errorf("%+v, filed by %q", rep, c.AssignedBy)
	}
	if n := r.counts(); n.Left != 1 {
		t.Errorf("%+v", n)
	}
}

func TestThinkingIsSwitchedOffWhereTheModelKnowsTheSwitch(t *testing.T) {
	for name, want := range map[string]bool{
		"qwen3": true, "qwen3:4b": true, "Qwen/Qwen3-4B": true, "qwen3-30b-a3b": true, "ollama/qwen3:0.6b-q4": true, "Qwen/Qwen3-0.6B": true, "smollm3": true, "HuggingFaceTB/SmolLM3-3B": true,
		"qwen2.5": false, "qwen3-coder:30b": false, "Qwen3-4B-Instruct-2507": false, "Qwen3-4B-Thinking-2507": false, "qwen3-embedding": false, "gpt-4o-mini": false, "llama3.1": false, "": false, "myqwen3": false,
	} {
		if got := classify.NoThink(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	r := newRig(t, filer("schedule"))
	r.o.Model = "qwen3:4b"
	r.Classifier = classify.New(r.s, r.o)
	r.write(fact(t, "The payments run at night", "payments"))
	r.run()
	if req := r.model.requests[0]; !strings.HasSuffix(req.User, "\n/no_think") {
		t.Errorf("asked %q", req.User)
	}
}

// A model that refuses, as for a wrong key, is asked once, and the rest is left to the rules at
// once.
func TestModelThatRefusesIsAskedOnce(t *testing.T) {
	r := newRig(t, func(input) (string, error) {
		return "", &ken.Error{Code: ken.CodeInvalid, Field: "harvest.api_key_env", Msg: "refused the key"}
	})
	r.o.Facts = 1
	r.Classifier = classify.New(r.s, r.o)
	for i := range 5 {
		r.write(fact(t, fmt.Sprintf("Batch %d of the payments runs at night", i), "payments"))
	}
	rep := r.run()
	if n := len(r.model.requests); n != 1 || rep.Done != 5 || rep.Retried+rep.Dead > 0 {
		t.Errorf("asked %d times: %+v", n, rep)
	}
}

// What a model drops stays as the rules had it, and nobody asks again.
func TestDroppedFactsAreLeftToTheRules(t *testing.T) {
	r := newRig(t, says(func(text string) string {
		if strings.Contains(text, "slow") {
			return ""
		}
		return under("schedule")
	}))
	ids := r.write(fact(t, "The payments run at night", "payments"), fact(t, "The payments are slow", "payments"), fact(t, "The payments take an hour", "payments"))
	before := r.get(ids[1])
	r.run()
	for i, id := range ids {
		c := r.get(id)
		if i == 1 {
			if c.AssignedBy != before.AssignedBy || c.Aspect != before.Aspect || c.Aspect == "" {
				t.Errorf("left to the rules, it is under %q by %q", c.Aspect, c.AssignedBy)
			}
		} else if c.Aspect != "schedule" || c.AssignedBy != ken.AssignedByModel {
			t.Errorf("%q is under %q by %q", c.Text, c.Aspect, c.AssignedBy)
		}
	}
	if n := r.counts(); n.Left != 1 || n.Model != 2 || n.Requests != 1 {
		t.Errorf("%+v", n)
	}
}

// Malformed answers lose nothing: the facts are there, as the rules have filed them,
// and the job ends.
func TestGarbageLosesNothing(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing": "", "prose": "I think these are mostly about deployment.", "null": "null", "a number": "7", "another shape": `{"result":{"ok":true}}`,
		"rows of another shape": `{"facts":[1,"x",null,[],{"i":"one"},{"aspect":"a"}]}`, "rows out of range": `{"facts":[{"i":0,"aspect":"x","kind":"attribute"},{"i":99,"aspect":"x","kind":"attribute"},{"i":-1,"aspect":"x","kind":"attribute"}]}`,
		"a kind that is none": `{"facts":[{"i":1,"aspect":"schedule","kind":"law","new":true}]}`, "an open thought": "<think>facts one is", "control characters": "\x00\x01{",
		"deep": strings.Repeat("{", 10_000), "contradicting rows": `{"facts":[{"i":1,"aspect":"a","kind":"attribute"},{"i":1,"aspect":"b","kind":"constraint"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(input) (string, error) { return answer, nil })
			ids := r.write(fact(t, "The payments run at night on ledger", "payments", "ledger"))
			before := r.get(ids[0])
			rep := r.run()
			if rep.Done == 0 || rep.Retried+rep.Dead > 0 {
				t.Errorf("jobs: %+v", rep)
			}
			if c := r.get(ids[0]); c.Text != before.Text || c.Aspect != before.Aspect || c.Constraint != before.Constraint || c.AssignedBy != before.AssignedBy {
				t.Errorf("%+v, was %+v", c, before)
			}
			if n := r.counts(); n.Left != 1 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// What is whole in an answer counts: in a fence, behind reasoning, cut off half-way.
func TestUsableRowsAreTakenOutOfFaultyAnswers(t *testing.T) {
	row := `{"i":1,"aspect":"schedule","kind":"attribute","new":true}`
	for name, answer := range map[string]string{
		"fenced": "Here:\n```json\n{\"facts\":[" + row + "]}\n```\nDone.", "thinking": "<think>{\"facts\":[]}</think>{\"facts\":[" + row + "]}",
		"a bare list": "[" + row + "]", "a bare row": row, "cut off": `{"facts":[` + row + `,{"i":2,"asp`, "numbers as strings": `{"facts":[{"i":"1","aspect":"schedule","kind":"Attribute"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(input) (string, error) { return answer, nil })
			ids := r.write(fact(t, "The payments run at night", "payments"))
			r.run()
			if c := r.get(ids[0]); c.Aspect != "schedule" || c.AssignedBy != ken.AssignedByModel {
				t.Errorf("under %q by %q", c.Aspect, c.AssignedBy)
			}
		})
	}
}

// Jobs run twice, and in any order, and end the same; a fact that is filed is not
// asked about again.
func TestJobsRunTwiceInAnyOrder(t *testing.T) {
	texts := []string{"The payments run at night", "The payments require the ledger", "The payments are written in Go", "The ledger uses PostgreSQL", "The ledger keeps seven years"}
	answer := says(func(text string) string {
		if strings.Contains(text, "require") {
			return tied(strings.Fields(text)[2]+" side", "ledger", "requires")
		}
		return under(strings.Fields(text)[2] + " side")
	})
	end := func(order func([]jobs.Job), twice bool) (out []string) {
		r := newRig(t, answer)
		r.o.Facts = 2
		r.Classifier = classify.New(r.s, r.o)
		r.know("ledger")
		var claims []ken.Claim
		for _, text := range texts {
			entity := strings.ToLower(strings.Fields(text)[1])
			claims = append(claims, fact(t, text, entity))
		}
		ids := r.write(claims...)
		must(t, r.CatchUp(t.Context()))
		list, err := r.q.List(t.Context())
		must(t, err)
		if len(list) < 3 {
			t.Fatalf("only %d jobs", len(list))
		}
		order(list)
		if twice {
			list = append(list, list...)
		}
		for _, j := range list {
			if _, err := r.Handlers()[j.Kind](t.Context(), j, func(string, int, int) {}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range ids {
			c := r.get(id)
			out = append(out, c.Text+"|"+c.Aspect+"|"+string(c.AssignedBy))
		}
		return append(out, dependencies(t, r.s)...)
	}
	want := end(func([]jobs.Job) {}, false)
	same(t, "twice", end(func([]jobs.Job) {}, true), want)
	same(t, "backwards", end(slices.Reverse[[]jobs.Job], true), want)
}

func TestTheSameBatchIsOneJob(t *testing.T) {
	r := newRig(t, filer("schedule"))
	r.write(fact(t, "The payments run at night", "payments"), fact(t, "The payments take an hour", "payments"))
	r.run()
	n := len(r.model.requests)
	// Somebody who has lost the mark goes over the whole log again.
	must(t, r.s.Shelf().Update(t.Context(), dropMarks))
	other := classify.New(r.s, r.o)
	must(t, other.CatchUp(t.Context()))
	if _, err := other.Drain(t.Context(), r.q); err != nil {
		t.Fatal(err)
	}
	if got := len(r.model.requests); got != n {
		t.Errorf("%d requests, then %d", n, got)
	}
}

// A job whose process was killed asks again about what is not filed yet.
func TestKilledJobRunsAgain(t *testing.T) {
	r := newRig(t, nil)
	ctx, kill := context.WithCancel(t.Context())
	r.model.then(func(input) (string, error) {
		kill()
		return "", context.Canceled
	})
	ids := r.write(fact(t, "The payments run at night", "payments"), fact(t, "The payments take an hour", "payments"))
	must(t, r.CatchUp(t.Context()))
	if _, err := r.Drain(ctx, r.q); err == nil {
		t.Fatal("nothing was killed")
	}
	r.model.then(filer("schedule"))
	if rep := r.run(); rep.Done == 0 {
		t.Errorf("%+v", rep)
	}
	for _, id := range ids {
		if c := r.get(id); c.AssignedBy != ken.AssignedByModel {
			t.Errorf("%q is filed by %q", c.Text, c.AssignedBy)
		}
	}
}
