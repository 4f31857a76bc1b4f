package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/evals/cases"
	"github.com/kenlayer/ken/internal/middleware/inspect"
	"github.com/kenlayer/ken/internal/projectfile"
)

// memoryTests is the project's file to which turns are saved as memory tests.
const memoryTests = ".ken/memory-tests.yaml"

// Expectations of an item of the block.
const (
	mayHave     = "may"
	mustHave    = "must"
	mustNotHave = "must not"
)

// testBody holds the data of the page that turns a turn into a memory test.
type testBody struct {
	Turn    inspect.Turn
	Tone    string
	Views   []choice
	Name    string
	Ask     string // the question; "" if it is not stored
	Cut     bool   // the stored question is incomplete
	Items   []testItem
	Case    string // the YAML text; "" until it is requested
	File    string // the project's file; "" if the visitor's owner has none
	Problem *errorPage
}

type testItem struct {
	Field, Label, Path string
	Expect             string
	matcher            string // the YAML of its expectation
}

// Expectations lists the choices of the form for one item.
func (b *testBody) Expectations() []string { return []string{mayHave, mustHave, mustNotHave} }

// testPage shows the form. Items that the answer used are preselected as required.
func testPage(v *visit) error {
	b, err := v.testOf()
	if err != nil {
		return err
	}
	return v.testForm(b)
}

// saveTest shows the form's test case, or appends it to the project's file.
func saveTest(v *visit) error {
	b, err := v.testOf()
	if err != nil {
		return err
	}
	b.Name = strings.Join(strings.Fields(v.param("name")), " ")
	for i := range b.Items {
		b.Items[i].Expect = v.param(b.Items[i].Field)
	}
	b.Case = v.testCase(b)
	if v.param("do") != "save" {
		_, err = cases.Parse("the case", []byte("cases:\n"+b.Case))
	} else if err = v.appendTest(b.Case); err == nil {
		return v.redirectDone(pathOf("turns", b.Turn.Turn, "test"), "tested")
	}
	if err != nil {
		p := errorPageOf(err)
		if p.Status >= http.StatusInternalServerError {
			return err
		}
		b.Problem = &p
	}
	return v.testForm(b)
}

func (v *visit) testForm(b *testBody) error {
	return v.page("savetest", page{Title: "Save as a memory test", Section: secTurns, Tab: "Live", Body: b})
}

// testOf reads the turn of the path.
func (v *visit) testOf() (*testBody, error) {
	id := v.r.PathValue("id")
	b := &testBody{Views: v.turnViews(id, "test")}
	t := turnBody{SeesMessages: true}
	var err error
	if b.Turn, err = v.con.layer.Operator().Turn(v.ctx(), v.owner(), id); err != nil {
		return nil, turnError(err)
	}
	t.Turn = b.Turn.Record
	if err := v.addExchange(&t); err != nil {
		return nil, err
	}
	b.Tone = modeTone(b.Turn.Mode)
	if t.Question != nil {
		b.Ask, b.Cut = t.Question.Message.Text, t.Question.Cut > 0
		b.Name = shortLabel("", b.Ask)
	}
	helped := map[string]bool{}
	for _, u := range b.Turn.Used {
		helped[u.ID] = u.Helped()
	}
	for i := range b.Turn.Items {
		it := &b.Turn.Items[i]
		x := testItem{Field: fmt.Sprint("item-", i+1), Label: shortLabel(it.Heading, it.Text), Expect: mayHave}
		switch _, err := uuid.Parse(it.ID); {
		case it.State == inspect.Forgotten || it.State == inspect.Made:
			continue
		case it.Kind == ken.KindDocument && it.Source != "":
			x.matcher = "{source: " + yamlText(it.Source) + "}"
		case err == nil:
			x.matcher, x.Path = "{id: "+yamlText(it.ID)+"}", pathOf("claims", it.ID)
		default:
			continue
		}
		if helped[it.ID] {
			x.Expect = mustHave
		}
		b.Items = append(b.Items, x)
	}
	if v.ownsFiles() {
		b.File = memoryTests
	}
	return b, nil
}

func (v *visit) testCase(b *testBody) string {
	var s strings.Builder
	line := func(key, value string) { fmt.Fprintf(&s, "    %s: %s\n", key, value) }
	fmt.Fprintf(&s, "  - name: %s\n", yamlText(b.Name))
	line("ask", yamlText(b.Ask))
	if owner := v.owner(); owner != v.con.layer.Config().Knowledge.Owner {
		line("owner", yamlText(owner))
	}
	if b.Turn.Project != "" {
		line("project", yamlText(b.Turn.Project))
	}
	for _, list := range []struct{ expect, key string }{{mustHave, "must_inject"}, {mustNotHave, "must_not_inject"}} {
		began := false
		for _, it := range b.Items {
			if it.Expect != list.expect {
				continue
			}
			if !began {
				began = true
				fmt.Fprintf(&s, "    %s:\n", list.key)
			}
			fmt.Fprintf(&s, "      - %s # %s\n", it.matcher, yamlComment(it.Label))
		}
	}
	if len(b.Turn.Record.Items) == 0 {
		line("block_empty", "true")
	}
	return s.String()
}

// appendTest appends a case to the project's file, if the result is a valid file of
// cases.
func (v *visit) appendTest(text string) error {
	if !v.ownsFiles() {
		return errNotOwner
	}
	files, err := projectfile.Open(v.con.layer.Root())
	if err != nil {
		return err
	}
	defer files.Close()
	change := projectfile.Change{Path: memoryTests}
	switch had, err := files.Read(memoryTests, cases.MaxBytes); {
	case err == nil:
		change.Was, change.Now = had.Bytes, append(bytes.TrimRight(had.Bytes, "\n"), "\n"+text...)
	case errors.Is(err, fs.ErrNotExist):
		change.Now = []byte("# Memory tests, see docs/memory-tests.md: ken eval test " + memoryTests + "\ncases:\n" + text)
	default:
		return err
	}
	if _, err := cases.Parse(memoryTests, change.Now); err != nil {
		return err
	}
	return files.Commit(change)
}

// yamlText returns a text as a YAML scalar. JSON strings are valid in YAML.
func yamlText(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // can't fail for a string
	return strings.TrimSpace(b.String())
}

// yamlComment returns a text without line breaks and invisible characters, for a comment.
func yamlComment(s string) string {
	return strings.Map(func(r rune) rune {
		if isInvisible(r, utf8.RuneLen(r)) || r == '\n' || r == '\u0085' || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
}
