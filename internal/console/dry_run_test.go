package console_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/store"
)

const asked = "/console/try?message=How+often+do+we+retry+calls+to+the+bank%3F"

// Trying a message shows what a turn would get, and leaves no trace.
func TestTry(t *testing.T) {
	c := open(t, patient)
	before, _, err := c.layer.Operator().Receipts("").List(context.Background(), receipt.Query{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	tried, err := c.layer.Operator().DryRun(context.Background(), ken.Turn{Messages: []ken.Message{{Role: "user", Text: "How often do we retry calls to the bank?"}}}, c.layer.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, who := range []struct {
		name  string
		sees  int // forms that change something
		asker func() (int, *page)
	}{
		{"the operator", 1, func() (int, *page) { return get(t, c, asked) }}, {"a reader", 0, func() (int, *page) { return get(t, c, asked, reader) }},
	} {
		status, p := who.asker()
		if status != http.StatusOK {
			t.Fatalf("%s: %d: %s", who.name, status, p.text())
		}
		if have, want := text(p.one(".block")), strings.Join(strings.Fields(tried.Receipt.Block), " "); have != want {
			t.Errorf("%s: the block is %s, want %s", who.name, have, want)
		}
		for _, it := range tried.Receipt.Items {
			p.one("#c-" + it.ID)
		}
		if n := len(p.all("main form[method=\"post\"]")); (n > 0) != (who.sees > 0) {
			t.Errorf("%s sees %d forms", who.name, n)
		}
	}
	after, _, err := c.layer.Operator().Receipts("").List(context.Background(), receipt.Query{Limit: 500})
	if err != nil || len(after) != len(before) {
		t.Errorf("%d turns became %d: %v", len(before), len(after), err)
	}
}

func TestTryIsOfTheVisitor(t *testing.T) {
	c := open(t, patient)
	_, p := get(t, c, "/console/try?message="+url.QueryEscape("What is known of "+c.project.Markers.Other+"?"))
	if strings.Contains(text(p.one("main")), "Seven times") || p.has("#c-"+c.project.Others[0]) {
		t.Error("Bob’s knowledge is there")
	}
	if _, p = get(t, c, asked, bob); p.has("main .rows a") && strings.Contains(p.body, c.project.Markers.Own) {
		t.Error("Bob sees what is not his")
	}
	// A session's state is shown only to visitors who may see its messages.
	const stands = "#c-checkpoint:s-today"
	if _, p = get(t, c, asked+"&session=s-today"); !p.has(stands) {
		t.Errorf("the operator is not told the state of the session: %s", p.text())
	}
	if _, p = get(t, c, asked+"&session=s-today", reader); p.has("#session") || p.has(stands) {
		t.Error("a reader may name a session")
	}
}

// With an invalid value, nothing is tried, the field says its range, and the form keeps
// its content.
func TestTryBadSettings(t *testing.T) {
	c := open(t, patient)
	for _, tt := range []struct{ key, value, says string }{
		{"retrieval.floor", "7", "retrieval.floor: \"7\" is not a number from 0 to 1"},
		{"knowledge.top_k", "many", "knowledge.top_k: \"many\" is not a whole number"},
		{"knowledge.top_k", "500", "knowledge.top_k: 500 is more than retrieval.pool"},
		{"budget.chars", "-1", "budget.chars: \"-1\" is not a whole number from 500"},
		{"retrieval.scopes", "here", "retrieval.scopes: \"here\""},
		{"mode", "<b>", "mode: unknown mode"}, {"retrieval.weight", "heavy", "retrieval.weight: \"heavy\" is not"},
	} {
		for _, path := range []string{asked + "&", "/console/turns/" + c.project.Turns["today 1"] + "/whatif?"} {
			status, p := get(t, c, path+url.Values{tt.key: {tt.value}, "budget.memory_chars": {"4321"}}.Encode())
			if status != http.StatusOK {
				t.Fatalf("%s: %d", tt.value, status)
			}
			p.says("Nothing was tried", tt.says)
			if p.has(".block") || p.has("#c-x") {
				t.Errorf("%s=%s was tried", tt.key, tt.value)
			}
			if memory := p.one("[name=\"budget.memory_chars\"]"); attr(memory, "value") != "4321" {
				t.Errorf("the other field has %q", attr(memory, "value"))
			}
			if field := p.one("[name=\"" + tt.key + "\"]"); attr(field, "aria-invalid") != "true" || field.Data == "input" && attr(field, "value") != tt.value {
				t.Errorf("%s=%s: the field has %q", tt.key, tt.value, attr(field, "value"))
			}
		}
	}
	_, p := get(t, c, "/console/try?message="+strings.Repeat("x", 7000))
	p.says("too long")
}

// What if compares the settings in force with others, from the address alone.
func TestWhatIf(t *testing.T) {
	c := open(t, patient)
	path := "/console/turns/" + c.project.Turns["today 1"] + "/whatif"
	_, p := get(t, c, path)
	if len(p.all(".block")) > 0 || attr(p.one("[name=\"knowledge.top_k\"]"), "value") != "12" {
		t.Errorf("it begins with %s", p.text())
	}
	status, p := submit(t, c, p, "main form", map[string]string{"knowledge.top_k": "1", "mode": "keyword", "budget.memory_chars": "0"})
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	cfg := c.layer.Config()
	cfg.Knowledge.TopK, cfg.Middleware.Vector, cfg.Budget.MemoryChars = 1, false, 0
	turn, err := c.layer.Operator().TurnAsked(context.Background(), "", c.project.Turns["today 1"])
	if err != nil {
		t.Fatal(err)
	}
	is, err := c.layer.Operator().DryRun(context.Background(), turn, c.layer.Config())
	if err != nil {
		t.Fatal(err)
	}
	would, err := c.layer.Operator().DryRun(context.Background(), turn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	gone := 0
	for _, a := range is.Receipt.Items {
		if !slices.ContainsFunc(would.Receipt.Items, func(b ken.Item) bool { return a.ID == b.ID }) {
			gone++
		}
	}
	p.says("middleware.vector is false", strconv.Itoa(gone)+" gone", "others matched the question better (pool)")
	if have, want := text(p.one(".block")), strings.Join(strings.Fields(would.Receipt.Block), " "); have != want {
		t.Errorf("the block is %s, want %s", have, want)
	}
	_, p = get(t, c, path+"?knowledge.top_k=12")
	p.says("These are the current settings")
}

// What the settings of a form are, they are in the configuration.
func TestTryableSettings(t *testing.T) {
	c := open(t, bare, patient, func(s *setup) { s.config.Middleware.Keyword, s.config.Retrieval.Floor = false, 0.25 })
	_, p := get(t, c, "/console/try")
	if attr(p.one("[name=\"retrieval.floor\"]"), "value") != "0.25" {
		t.Error("the floor is not the one in force")
	}
	if f := fieldsOf(p.one("main form")); f.Get("mode") != "vector" || f.Get("retrieval.weight") != config.Default().Retrieval.Weight.String() || f.Get("structure.enabled") != "true" {
		t.Errorf("the form has %v", f)
	}
	_, p = get(t, c, asked)
	p.says("What it would be given: nothing")
}

// A replay shows the original block and the differences of today: a claim with another
// text, one that is now disputed, and a new one.
func TestReplay(t *testing.T) {
	var passed atomic.Int64 // hours since now
	later := func() time.Time { return now.Add(time.Duration(passed.Load()) * time.Hour) }
	c := open(t, bare, patient, func(s *setup) { s.layer.Now, s.console.Now = later, later })
	keyed := func(k *ken.Claim) { k.Key = "port" } // a claim that is written under the same key takes the place of the old one
	c.learn("", "The ledger of payments listens on port 8071.", keyed)
	wrong := c.learn("", "The ledger of payments listens on every address.")
	r := c.turn("Where does the ledger of payments listen, and on which port?")
	if len(r.Items) != 2 {
		t.Fatalf("%d items", len(r.Items))
	}
	path := "/console/turns/" + r.Turn + "/replay"
	status, p := get(t, c, path)
	if status != http.StatusOK {
		t.Fatalf("%d: %s", status, p.text())
	}
	p.says("Exact: its hash is the recorded one", "2 unchanged")
	if p.has("del") || p.has("ins") {
		t.Error("something has changed already")
	}

	passed.Add(1)
	c.learn("", "The ledger of payments listens on port 9090.", keyed)
	c.store("", func(s store.Engine) error {
		return s.Transition(context.Background(), ken.Transition{ID: wrong, To: ken.StatusDisputed, Reason: "no", Actor: ken.Actor{Type: "user", ID: "ana"}})
	})
	c.learn("", "The ledger of payments listens on the loopback address alone.")
	_, p = get(t, c, path)
	p.says("Exact: its hash is the recorded one", "1 with other words", "1 gone", "1 new", "disputed, superseded or a hypothesis")
	if have := strings.Join(p.texts("del"), "|"); !strings.Contains(have, "8071") {
		t.Errorf("gone: %s", have)
	}
	if have := strings.Join(p.texts("ins"), "|"); !strings.Contains(have, "9090") || !strings.Contains(have, "loopback") {
		t.Errorf("new: %s", have)
	}
	if then := text(p.all(".block")[0]); !strings.Contains(then, "8071") || strings.Contains(then, "9090") {
		t.Errorf("the block of then is %s", then)
	}
}

// A turn without stored messages has its block, and the page says why it can't be repeated.
func TestReplayWithoutMessages(t *testing.T) {
	c := open(t, bare, patient)
	c.learn("", "The ledger of payments listens on port 8071.")
	r := c.turn("On which port does the ledger of payments listen?", func(t *ken.Turn) { t.Session = "" })
	for _, page := range []string{"/replay", "/whatif"} {
		status, p := get(t, c, "/console/turns/"+r.Turn+page)
		if status != http.StatusOK {
			t.Fatalf("%s: %d", page, status)
		}
		p.says("It can’t be asked again")
	}
}
