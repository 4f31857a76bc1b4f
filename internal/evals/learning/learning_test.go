package learning

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/evaldata"
)

const small = `{"name": "staging", "lang": "en", "domain": "ops", "sessions": [
{"at": "2026-03-02T09:00:00Z", "messages": [
{"role": "user", "say": [{"t": "The staging database listens on port 5433.", "is": "keep", "must": ["5433", "staging"], "about": ["staging database"]}, {"t": "Can you list the files?", "is": "junk", "why": "request"}]},
{"role": "assistant", "text": "There are three.", "calls": [{"name": "bash", "arguments": {"command": "ls"}}]},
{"role": "tool", "text": "a b c"},
{"role": "user", "say": [{"t": "Thanks a lot!", "is": "junk", "why": "pleasantry"}, {"t": "\nNever push to main on a Friday.", "is": "keep", "must": ["friday"], "rule": "direct"}]}]}],
"updates": [{"q": "Which port has the staging database?", "new": ["5433"], "old": ["5432"]}],
"ask": [{"q": "connect to the staging database", "all": ["5433"]}, {"q": "Who owns the moon?", "all": ["nobody"]}]}`

func line(s string) []byte { return []byte(strings.ReplaceAll(s, "\n", " ")) }

func TestRun(t *testing.T) {
	cases, err := parse(line(small))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cases[0].Sessions[0].Messages[3].text(), "Thanks a lot!\nNever push to main on a Friday."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r, err := Run(t.Context(), &cases[0], &Options{Config: config.Default(), Background: []string{"The moon is made of cheese."}, Between: cases[0].Sessions})
	if err != nil {
		t.Fatal(err)
	}
	f := Sum([]Report{r})
	if f.Keep != 2 || f.Recall != 1 || f.Junk != 0 || f.Updated != 1 || f.Asked != 2 || f.Answered != 0.5 || f.Later != 2 || f.False+f.FalseC != 0 || f.Plain != 3 {
		t.Errorf("%+v\n%+v", f, r)
	}
}

func TestJudge(t *testing.T) {
	said := []*Sentence{
		{Text: "The owner of billing is Ana.", Is: Keep, Must: []string{"ana", "billing"}, About: []string{"billing"}},
		{Text: "It listens on 5433.", Is: Keep, Must: []string{"5433", "staging"}},
		{Text: "Can you please run all tests of the importer?", Is: Junk, Why: "request"},
		{Text: "The weather in Leeds is fine.", Is: Fine},
		{Text: "数据库端口是五四三三。", Is: Keep, Must: []string{"端口"}},
	}
	for text, want := range map[string]Verdict{
		"User: The owner of billing is Ana.":                           Good,
		"Billing belongs to Ana":                                       Good,
		"It listens on 5433.":                                          Half,
		"Can you please run all tests of the importer?":                Bad,
		"The weather in Leeds is fine.":                                Spare,
		"The assistant recommends MongoDB for everything.":             Unsaid,
		"The weather in Leeds is fine. The owner of billing is Ana.":   Good,
		"User: 数据库端口是五四三三。":                                            Good,
		"Can you please run all tests of the importer? It is the last": Bad,
	} {
		if k := judge(&ken.Claim{Text: text}, said); k.Verdict != want {
			t.Errorf("%q is %s, want %s (%s)", text, k.Verdict, want, k.Sentence)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, change := range map[string][2]string{
		"field": {`"lang"`, `"language"`}, "is": {`"is": "keep"`, `"is": "maybe"`}, "must": {`"must": ["friday"]`, `"must": []`},
		"role": {`"role": "tool"`, `"role": "robot"`}, "at": {`"2026-03-02T09:00:00Z"`, `"0001-01-01T00:00:00Z"`}, "rule": {`"direct"`, `"soft"`},
		"t": {`"t": "Thanks a lot!", `, ``}, "name": {`"name": "staging", `, ``},
	} {
		text := strings.Replace(small, change[0], change[1], 1)
		if _, err := parse(line(text)); !errors.Is(err, ken.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := append(append(line(small), '\n'), line(small)...)
	if _, err := parse(twice); err == nil {
		t.Error("two cases of one name")
	}
}

func TestSentences(t *testing.T) {
	got := sentences("One. Two, v1.2 of it!\nThree? Four")
	if want := []string{"One.", "Two, v1.2 of it!", "Three?", "Four"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Every case of the folder can be read, with the texts of public conversations where they are.
func TestCases(t *testing.T) {
	cases, without, err := Load("testdata", filepath.Dir(evaldata.Dir(t, "locomo-dev")))
	if err != nil || len(cases) == 0 || without != 0 {
		t.Errorf("%d cases, %d without texts, %v", len(cases), without, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(line(small))
	f.Add([]byte("{}\n\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := parse(data)
		if err != nil {
			return
		}
		for i := range cases {
			for _, s := range cases[i].sentences() {
				judge(&ken.Claim{Text: s.Text}, cases[i].sentences())
			}
			_ = cases[i].resolve(map[string]string{"": "Ana: Hello. There."})
		}
	})
}
