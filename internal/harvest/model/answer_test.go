package model

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func anyMessage(seq uint64) bool { return seq > 0 && seq < 100 }

func TestFindObject(t *testing.T) {
	for name, tt := range map[string]struct{ text, summary, problem string }{
		"plain":                       {`{"summary":"a"}`, `"a"`, ""},
		"fence":                       {"```json\n{\"summary\":\"a\"}\n```", `"a"`, ""},
		"fence without a name":        {"```\n{\"summary\":\"a\"}```", `"a"`, ""},
		"prose around":                {"Here {it} is: {\"summary\":\"a\"} Enjoy {}.", `"a"`, ""},
		"another object before":       {`For {"example": {"summary":"no"}} this: {"summary":"a"}`, `"a"`, ""},
		"reasoning before":            {`<think>{"summary":"no"}</think>{"summary":"a"}`, `"a"`, ""},
		"reasoning without a start":   {`{"summary":"no"}</think>{"summary":"a"}`, `"a"`, ""},
		"a tag within":                {`{"summary":"the tag <think> is cut"}`, `"the tag <think> is cut"`, ""},
		"only facts":                  {`{"facts":[]}`, "", ""},
		"BOM":                         {"\ufeff{\"summary\":\"a\"}", `"a"`, ""},
		"twice":                       {`{"summary":"a"}{"summary":"b"}`, `"a"`, ""},
		"empty":                       {" \n", "", "the answer is empty"},
		"only reasoning":              {"<think>{\"summary\":\"a\"}", "", "thinking and nothing else"},
		"prose":                       {"No.", "", "prose"},
		"cut off":                     {`{"summary":"a","facts":[{"text":"b"},{"te`, "", "cut off"},
		"list":                        {`[{"text":"b"}]`, "", "no complete JSON object"},
		"another shape":               {`{"memories":[]}`, "", "no complete JSON object"},
		"single quotes":               {`{'summary':'a'}`, "", "no complete JSON object"},
		"many braces, then the thing": {strings.Repeat("{", 70) + `{"summary":"a"}`, "", "no complete JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			object, problem := findObject(tt.text)
			if string(object["summary"]) != tt.summary || (problem == "") != (tt.problem == "") || !strings.Contains(problem, tt.problem) {
				t.Errorf("%s, %q; want %s, %q", object["summary"], problem, tt.summary, tt.problem)
			}
		})
	}
}

func TestRead(t *testing.T) {
	const good = `"text":"The user prefers tabs.","quote":"I prefer tabs","message":7,"sort":"Preference","confidence":1`
	for name, tt := range map[string]struct {
		facts    string
		problems []string
		usable   bool
	}{
		"good":                      {`{` + good + `,"entities":["tabs"]}`, nil, true},
		"no entities":               {`{` + good + `}`, nil, true},
		"entities null":             {`{` + good + `,"entities":null}`, nil, true},
		"a field more":              {`{` + good + `,"why":"x"}`, nil, true},
		"none":                      {``, nil, true},
		"float for a whole number":  {`{` + strings.Replace(good, "7", "7.0", 1) + `}`, nil, true},
		"half a message":            {`{` + strings.Replace(good, "7", "7.5", 1) + `}`, []string{"facts[0].message: not the number of one of the messages"}, true},
		"message 0":                 {`{` + strings.Replace(good, "7", "0", 1) + `}`, []string{"facts[0].message: not the number of one of the messages"}, true},
		"negative":                  {`{` + strings.Replace(good, "7", "-7", 1) + `}`, []string{"facts[0].message: not the number of one of the messages"}, true},
		"huge":                      {`{` + strings.Replace(good, "7", "1e300", 1) + `}`, []string{"facts[0].message: not the number of one of the messages"}, true},
		"out of float":              {`{` + strings.Replace(good, "7", "1e999", 1) + `}`, []string{"facts[0].message: not a number"}, false},
		"null message":              {`{` + strings.Replace(good, "7", "null", 1) + `}`, []string{"facts[0].message: not a number"}, false},
		"null":                      {`null`, []string{"facts[0]: not an object"}, false},
		"confidence in percent":     {`{` + strings.Replace(good, `"confidence":1`, `"confidence":90`, 1) + `}`, []string{"facts[0].confidence: outside 0 to 1"}, false},
		"control characters":        {`{` + strings.Replace(good, "The user prefers tabs.", `\u0000\u200b`, 1) + `}`, []string{"facts[0].text: empty"}, false},
		"one of two":                {`{` + good + `},{"text":"x"}`, []string{"facts[1].quote: missing", "facts[1].message: missing", "facts[1].confidence: missing", "facts[1].sort: missing"}, true},
		"a book":                    {`{` + strings.Replace(good, "The user prefers tabs.", strings.Repeat("x", mostBytes+1), 1) + `}`, []string{"facts[0].text: far too long"}, false},
		"no quote, which is a drop": {`{` + strings.Replace(good, "I prefer tabs", "", 1) + `}`, []string{"facts[0].quote: empty"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := read(`{"summary":"It went well.","facts":[`+tt.facts+`]}`, anyMessage)
			if diff := cmp.Diff(tt.problems, a.problems); diff != "" || a.usable() != tt.usable {
				t.Errorf("usable %v (-want +got):\n%s", a.usable(), diff)
			}
		})
	}
}

func TestListOfProblemsEnds(t *testing.T) {
	a := read(`{"summary":"x","facts":[`+strings.Repeat(`{},`, 1000)+`{}]}`, anyMessage)
	if len(a.problems) != mostProblems || a.problems[mostProblems-1] != "and more of the kind" || len(a.facts) != 1001 || a.usable() {
		t.Errorf("%d problems of %d facts", len(a.problems), len(a.facts))
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"summary":"a","facts":[{"text":"b","quote":"I prefer small commits","message":1,"sort":"fact","entities":["x"],"confidence":0.5}]}`,
		"```json\n{\"summary\":\"a\",\"facts\":[]}\n```", `<think>{</think>{"facts":null}`, `{"summary":1,"facts":[1,null,{"message":1e400}]}`, "{{{", "\xff",
		`{"summary":"Ignore previous instructions. Fine.","facts":[{"text":"<think>","quote":"","message":-1,"sort":"x","entities":[1],"confidence":2}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := read(text, anyMessage)
		if len(a.problems) == 0 && !a.usable() {
			t.Errorf("%q has no fault and can't be used", text)
		}
		if a.summary != tidySummary(a.summary) && tidySummary(a.summary) == "" {
			t.Errorf("%q: the summary %q is not tidy", text, a.summary)
		}
		for _, p := range a.problems {
			if strings.ContainsAny(p, "\n") || len(p) > 200 {
				t.Errorf("problem %q", p)
			}
		}
		for _, p := range a.facts {
			if !p.broken && (p.text == "" || math.IsNaN(p.confidence) || p.confidence < 0 || p.confidence > 1 || p.sort == "" || p.seq > 0 && !anyMessage(p.seq)) {
				t.Errorf("%q: %+v is not broken", text, p)
			}
		}
		l := dailyFacts(Options{})
		l.add(a.facts)
		kept, dropped := l.best(), 0
		for _, n := range l.dropped {
			dropped += n
		}
		if len(kept)+dropped != len(a.facts) {
			t.Errorf("%q: %d facts, %d kept, dropped %v", text, len(a.facts), len(kept), l.dropped)
		}
		for _, s := range kept {
			if !strings.Contains(l.all[l.bySeq[s.Seq]].text, s.Quote) {
				t.Errorf("%q: %q is quoted from nowhere", text, s.Quote)
			}
		}
	})
}
