package analysis_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/analysis"
)

func TestFormOf(t *testing.T) {
	const asks, dated, instructs, once, twice = analysis.Asks, analysis.Dated, analysis.Instructs, analysis.FirstPerson, analysis.FirstPersonOften
	for text, want := range map[string]analysis.Form{
		"":                                      {},
		"Caroline: I went there yesterday.":     {Speaker: analysis.Name("caroline"), Words: 4, Traits: dated | once},
		"Ada Byron: What did you do?":           {Speaker: analysis.Name("ada"), Words: 4, Traits: asks},
		"TODO: fix it":                          {Speaker: analysis.Name("todo"), Words: 2},
		"note: fix it":                          {Words: 3},
		"See https://a.io/?q=1 for more":        {Words: 4},
		"I told my sister that we moved":        {Words: 7, Traits: once | twice},
		"We moved our things":                   {Words: 4, Traits: twice},
		"Always name the version.":              {Words: 4, Traits: instructs},
		"It is always late":                     {Words: 4},
		"Please never deploy on Fridays":        {Words: 5, Traits: instructs},
		"I’d prefer tabs":                       {Words: 3, Traits: instructs | once},
		"Do not push to main":                   {Words: 5, Traits: instructs},
		"released in 2023":                      {Words: 3, Traits: dated},
		"port 20xx":                             {Words: 2},
		"We met last summer":                    {Words: 4, Traits: dated | once},
		"summer dresses":                        {Words: 2},
		"the meeting is on Friday, 3 pm":        {Words: 7, Traits: dated},
		"Zoë: salut":                            {Speaker: analysis.Name("ZOË"), Words: 1},
		"def f(x): return x":                    {Words: 4},
		"A very long line that has a colon: no": {Words: 9},
	} {
		if got := analysis.FormOf(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestSelf(t *testing.T) {
	for text, want := range map[string]float64{"nobody": 0, "I do": 1. / 3, "I and my": 2. / 3, "I, me, my, us": 1} {
		if got := analysis.FormOf(text).Traits.Self(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestAsksWhen(t *testing.T) {
	for q, want := range map[string]bool{
		"When did Mel move?": true, "how long have they been married": true, "In which year was it?": true,
		"How many weeks are left?": true, "How many cats are there?": false, "How does it work?": false, "what time is it": true,
		"whenever": false, "": false,
	} {
		if got := analysis.AsksWhen(q); got != want {
			t.Errorf("%q: %v", q, got)
		}
	}
}

func TestDefinitions(t *testing.T) {
	for text, want := range map[string]string{
		"def write_boolean(self, n):\n    pass":                 "write_boolean",
		"func (s *Store) Open(ctx context.Context) error {":     "Open",
		"// doc\nfunc Open[T any](x T) {}\n\nfunc close() {}":   "Open|close",
		"class HttpClient(object):\n    def get(self):":         "HttpClient|get",
		"export async function loadUser(id) {":                  "loadUser",
		"pub fn read_line(&mut self) -> Result<()> {":           "read_line",
		"type Reader interface {":                               "Reader",
		"We define a class of problems and function as a team.": "",
		"the class struggles":                                   "",
		"public static int countWords(String s) {":              "countWords",
		"if (x) {":                                   "",
		"return compute(x) {":                        "",
		"else if (a == b) {":                         "",
		"Remember: call init() {first}":              "",
		"    @staticmethod\n    def _parse_int (s):": "_parse_int",
		"struct Point { int x; };":                   "Point",
		"const fetchAll = async (ids) => {":          "fetchAll",
		"interface Shape {":                          "Shape",
		"func main() {}\nfunc main() {}":             "main",
		"impl Parser {\n    fn next(&mut self) {":    "Parser|next",
	} {
		got := ""
		for i, d := range analysis.Definitions(text) {
			if i > 0 {
				got += "|"
			}
			got += d
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzFormOf(f *testing.F) {
	f.Add("Ada: when? I always… 2023")
	f.Add("def f(x):\n\treturn")
	f.Fuzz(func(t *testing.T, text string) {
		a := analysis.FormOf(text)
		if a != analysis.FormOf(text) || a.Traits.Self() < 0 || a.Traits.Self() > 1 {
			t.Errorf("%+v", a)
		}
		if n := len(analysis.Definitions(text)); n > analysis.MaxDefinitions {
			t.Errorf("%d definitions", n)
		}
	})
}
