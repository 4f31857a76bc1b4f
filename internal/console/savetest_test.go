package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/evals/cases"
)

const testsFile = ".ken/memory-tests.yaml"

// A turn is saved as a case that the file's own reader takes, with what was chosen, and a second
// one is added behind it.
func TestSaveAsMemoryTest(t *testing.T) {
	c := open(t, bare, patient)
	id := c.learn("", "The ledger: \"port\" 8071.\n# not a comment: [x]")
	r := c.turn("On which port does the ledger listen?\n- name: x: '\"{}")
	quiet := c.turn("thanks!")
	path := "/console/turns/" + r.Turn + "/test"
	_, p := get(t, c, path)
	status, shown := submit(t, c, p, `form[action="`+path+`"]`, map[string]string{"item-1": "must"})
	if status != http.StatusOK || c.file(testsFile) != "" || !strings.Contains(shown.text(), `must_inject: - {id: "`+id+`"}`) {
		t.Fatalf("%d: %s", status, shown.text())
	}
	save := func(path string, more url.Values) (int, *page) {
		t.Helper()
		form := url.Values{"do": {"save"}, "name": {"the port\nis known"}}
		maps.Copy(form, more)
		return post(t, c, path, form)
	}
	if status, p := save(path, nil); status != http.StatusOK || !p.has(".note.danger") || c.file(testsFile) != "" {
		t.Errorf("nothing is expected: %d %s", status, p.text())
	}
	if status, p := save(path, url.Values{"item-1": {"must"}}); status != http.StatusSeeOther || p.location != path+"?did=tested" {
		t.Fatalf("%d %s: %s", status, p.location, p.text())
	}
	if status, p := save(path, url.Values{"item-1": {"must"}}); status != http.StatusOK || !p.has(".note.danger") {
		t.Errorf("a name that is there already: %d %s", status, p.text())
	}
	if status, p := save("/console/turns/"+quiet.Turn+"/test", url.Values{"name": {"small talk"}}); status != http.StatusSeeOther {
		t.Fatalf("%d: %s", status, p.text())
	}
	f, err := cases.Parse(testsFile, []byte(c.file(testsFile)))
	if err != nil || len(f.Cases) != 2 {
		t.Fatalf("%v in %s", err, c.file(testsFile))
	}
	one, two := f.Cases[0], f.Cases[1]
	if one.Name != "the port is known" || one.Messages[0].Text != "On which port does the ledger listen?\n- name: x: '\"{}" || len(one.Want.Inject) != 1 || one.Want.BlockEmpty != nil {
		t.Errorf("%q: %+v", one.Messages[0].Text, one)
	}
	if two.Name != "small talk" || two.Messages[0].Text != "thanks!" || two.Want.BlockEmpty == nil || !*two.Want.BlockEmpty {
		t.Errorf("%+v", two)
	}
	// A file that is no file of cases stays as it is.
	c.write(testsFile, "cases: 7\n")
	if status, p := save(path, url.Values{"item-1": {"must"}}); status != http.StatusOK || !p.has(".note.danger") || c.file(testsFile) != "cases: 7\n" {
		t.Errorf("%d %s", status, p.text())
	}
}

// Only operators save turns, and into files of their own owner.
func TestWhoSavesMemoryTests(t *testing.T) {
	c := open(t)
	path := "/console/turns/" + c.project.Turns["today 2"] + "/test"
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		send := func() (int, *page) { return get(t, c, path, reader) }
		if method == http.MethodPost {
			send = func() (int, *page) { return post(t, c, path, url.Values{"do": {"save"}}, reader) }
		}
		if status, _ := send(); status != http.StatusForbidden {
			t.Errorf("%s by a reader: %d", method, status)
		}
	}
	if status, _ := get(t, c, path, bob); status != http.StatusNotFound {
		t.Errorf("Bob gets another's turn: %d", status)
	}
	own := "/console/turns/" + c.project.Turns["bob 1"] + "/test"
	_, p := get(t, c, own, bob)
	if p.has(`button[value="save"]`) || !p.has(`button[value="show"]`) {
		t.Error("Bob may write into the project")
	}
	if status, _ := post(t, c, own, url.Values{"do": {"save"}, "name": {"x"}, "item-1": {"must"}}, bob); status == http.StatusSeeOther || c.file(testsFile) != "" {
		t.Errorf("Bob writes into the project: %d", status)
	}
}
