package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console/consoletest"
)

// named are the entities or symbols that a list has, by their links' texts.
func named(p *page) []string { return p.texts("tr[data-item] th a") }

func TestEntitiesAreListed(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities")
	if have := named(p); len(have) < 20 || !slices.Contains(have, "Payments") || !slices.Contains(have, "On call") {
		t.Errorf("listed: %q", have)
	}
	if !p.links("/console/entities/on%20call") || !p.links("/console/tasks") {
		t.Errorf("no links to entities or tasks: %s", p.body)
	}
	for _, row := range p.texts("tr[data-item]") {
		if strings.HasPrefix(row, "Ledger ") && !strings.HasPrefix(row, "Ledger system 15 2") {
			t.Errorf("the ledger's row is %q", row)
		}
	}
	if slices.ContainsFunc(named(p), func(s string) bool { return strings.HasPrefix(s, "T-0") }) {
		t.Errorf("tasks are among the entities: %q", named(p))
	}
}

func TestEntitiesAreFound(t *testing.T) {
	c := open(t)
	for _, tc := range []struct {
		query, first, says string
		many               bool
	}{
		{"q=pay", "Payments", "another name of payments", true},
		{"q=paymentsd", "paymentsd", "another name of payments", true},
		{"q=setlement", "Settlement", "spelled much like it", true},
		{"q=xylophone", "", "No entity has such a name", false},
		{"q=" + strings.Repeat("%E2%80%AE", 9), "", "No entity has such a name", false},
		{"type=person", "Ana", "3 entities", true},
		{"type=person&q=Tom", "Tom", "1 entity", false},
		{"type=skill", "", "Nothing was described as being of this type", false},
		{"type=<script>", "Bank", "entities", true},
	} {
		status, p := get(t, c, "/console/entities?"+tc.query)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", tc.query, status, p.text())
		}
		p.says(tc.says)
		have := named(p)
		if tc.first == "" && len(have) > 0 || tc.first != "" && (len(have) == 0 || have[0] != tc.first) {
			t.Errorf("%s finds %q, want first %q", tc.query, have, tc.first)
		}
		p.hides("<script>alert")
	}
	status, p := get(t, c, "/console/entities?q="+strings.Repeat("long", 100))
	if status != http.StatusBadRequest {
		t.Errorf("a name that is too long: %d %s", status, p.text())
	}
}

// A list of several pages has each entity once.
func TestEntitiesHavePages(t *testing.T) {
	c := open(t, bare)
	for i := range 60 {
		c.learn("", fmt.Sprintf("Gadget %d works.", i), func(k *ken.Claim) { k.Entities = []string{fmt.Sprintf("gadget %d", i)} })
	}
	seen := map[string]int{}
	pages := 0
	for at := "/console/entities?q=gadget"; at != "" && pages < 5; pages++ {
		_, p := get(t, c, at)
		p.says("60 entities")
		for _, n := range named(p) {
			seen[n]++
		}
		at = ""
		if more := p.all(".more a"); len(more) == 1 {
			at = attr(more[0], "href")
		}
	}
	if len(seen) != 60 || pages != 2 {
		t.Errorf("%d entities on %d pages", len(seen), pages)
	}
	for n, times := range seen {
		if times != 1 {
			t.Errorf("%s is there %d times", n, times)
		}
	}
}

func TestNoEntities(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/entities")
	p.says("Nothing is known of anything yet")
	_, p = get(t, c, "/console/tasks")
	p.says("There is no such task")
}

func TestEntitiesAreTheOwners(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities", bob)
	p.hides(consoletest.OwnWord, "Settlement")
	if !p.links("/console/entities/" + consoletest.BobWord) {
		t.Errorf("bob does not see his own: %q", named(p))
	}
	_, p = get(t, c, "/console/entities")
	p.hides(consoletest.BobWord)
	if status, p := get(t, c, "/console/entities/"+consoletest.BobWord); status != http.StatusNotFound {
		t.Errorf("an entity of bob's: %d %s", status, p.text())
	}
	_, p = get(t, c, "/console/entities/payments", bob)
	p.hides(consoletest.OwnWord, "moves money")
	_, p = get(t, c, "/console/tasks", bob)
	p.says("There is no such task")
}

func TestANewEntityIsDescribed(t *testing.T) {
	c := open(t, bare)
	_, p := get(t, c, "/console/entities")
	status, p := submit(t, c, p, `form[action="/console/entities"][method="post"]`, map[string]string{"name": "Money Mover", "type": "system", "text": "Money Mover: moves it"})
	if status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/console/entities/Money%20Mover?did=") {
		t.Fatalf("%d to %q: %s", status, p.location, p.text())
	}
	_, p = get(t, c, p.location)
	p.says("Money Mover", "moves it", "system", "Described, on your word.")
	if status, p := post(t, c, "/console/entities", url.Values{"name": {"x"}, "type": {"spaceship"}}); status != http.StatusBadRequest {
		t.Errorf("a type that there is not: %d %s", status, p.text())
	}
	if _, p := get(t, c, "/console/entities", reader); p.has(`main form[method="post"]`) {
		t.Error("who may only read has a form that changes something")
	}
}

func TestTasksAreListed(t *testing.T) {
	c := open(t)
	for query, want := range map[string][]string{
		"":                 {"T-0003", "T-0002", "T-0001"},
		"?state=all":       {"T-0005", "T-0004", "T-0003", "T-0002", "T-0001"},
		"?state=done":      {"T-0004"},
		"?state=blocked":   {"T-0003"},
		"?state=cancelled": {"T-0005"},
		"?state=nonsense":  {"T-0003", "T-0002", "T-0001"},
		"?before=3":        {"T-0002", "T-0001"},
	} {
		_, p := get(t, c, "/console/tasks"+query)
		if have := p.texts("li[data-item] h2 code"); !slices.Equal(have, want) {
			t.Errorf("%q lists %q, want %q", query, have, want)
		}
	}
	_, p := get(t, c, "/console/tasks")
	p.says("in progress", "blocked", "settlement", "Ask the bank about Sundays")
	if !p.links("/console/entities/postgres") {
		t.Error("a task does not lead to what it is about")
	}
}

func TestEntityPageTellsAll(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/entities/ledger")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("Ledger", "the books, in double entry", "system", "Rules one dependency away", "human assertion")
	sections := p.texts("main h2")
	for _, pair := range [][2]string{{"Rules", "Rules one dependency away"}, {"Rules one dependency away", "What depends on what"}, {"What depends on what", "Depends on"}} {
		if a, b := slices.Index(sections, pair[0]), slices.Index(sections, pair[1]); a < 0 || b < a {
			t.Errorf("%q does not come before %q: %q", pair[0], pair[1], sections)
		}
	}
	rules := p.texts("main .rows article")
	if len(rules) < 4 || !strings.HasPrefix(rules[0], "Never write to the ledger but through ledger.Post.") || !slices.ContainsFunc(rules, func(s string) bool {
		return strings.HasPrefix(s, "Refunds of more than 1,000 euros") && strings.Contains(s, "by way of refunds")
	}) {
		t.Errorf("rules: %q", rules)
	}
	rows := strings.Join(p.texts("tbody tr"), "\n")
	for _, want := range []string{"postgres requires 1.00", "notify uses 0.30", "exporter requires 0.90"} {
		if !strings.Contains(rows, want) {
			t.Errorf("no dependency %q in: %s", want, rows)
		}
	}
	if !p.links("/console/claims?entity=ledger") {
		t.Error("no link to all claims about it")
	}
	_, p = get(t, c, "/console/entities/bank")
	p.says("T-0003", "blocked")
}

// The picture is one that can be walked, as far as one asks, and a list says the same.
func TestAroundAnEntity(t *testing.T) {
	c := open(t)
	_, near := get(t, c, "/console/entities/ledger")
	_, far := get(t, c, "/console/entities/ledger?depth=2")
	count := func(p *page) int { return len(p.all(".drawn-graph svg a")) }
	if count(near) < 4 || count(far) <= count(near) {
		t.Errorf("%d links one step away, %d within two", count(near), count(far))
	}
	if !near.links("/console/entities/exporter?depth=1") || !far.links("/console/entities/bank?depth=2") {
		t.Errorf("nodes do not lead to their pages")
	}
	if !near.has(".chart-list a") {
		t.Error("there is no list of the same")
	}
	for _, odd := range []string{"0", "9", "-1", "x"} {
		if _, p := get(t, c, "/console/entities/ledger?depth="+odd); count(p) != count(near) {
			t.Errorf("depth %s draws %d links", odd, count(p))
		}
	}
}

func TestEntityByAnotherName(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities/PaymentsD")
	p.says("Payments", "also called paymentsd", "moves money between accounts")
	for name, path := range map[string]string{"a slash": "github.com%2Fx%2Fy", "two slashes": "a%2F%2Fb", "dots": "a%2F..%2Fb", "a percent": "100%25", "a question": "why%3F"} {
		raw, err := url.PathUnescape(path)
		if err != nil {
			t.Fatal(err)
		}
		c.learn("", "There is "+raw+", says "+name+".", func(k *ken.Claim) { k.Entities = []string{raw} })
		if status, p := get(t, c, "/console/entities/"+path); status != http.StatusOK || !strings.Contains(p.text(), name) {
			t.Errorf("a name with %s: %d %q %s", name, status, p.location, p.text())
		}
	}
}

func TestUnknownEntity(t *testing.T) {
	c := open(t)
	status, p := get(t, c, "/console/entities/paymnets")
	if status != http.StatusNotFound {
		t.Fatalf("%d %s", status, p.text())
	}
	p.says("payments")
	if status, _ := get(t, c, "/console/entities/%E2%80%AE"); status != http.StatusBadRequest {
		t.Errorf("what is no name: %d", status)
	}
}

func TestReplacedClaimsOnDemand(t *testing.T) {
	c := open(t)
	old := "/console/claims/" + c.project.Claims["retry five"]
	_, p := get(t, c, "/console/entities/retry")
	if p.links(old) {
		t.Error("a claim that was replaced shows")
	}
	if !p.links("/console/entities/retry?old=yes#old") {
		t.Fatal("no way to what was replaced")
	}
	_, p = get(t, c, "/console/entities/retry?old=yes")
	if !p.links(old) {
		t.Errorf("what was replaced does not show: %s", p.text())
	}
}

func TestHostileEntity(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities/"+url.PathEscape(c.project.Hostile.Entity))
	p.says("<script>window.pwned=1</script>")
	p.hides("<script>window", "<img src=x", "<svg onload")
	_, p = get(t, c, "/console/entities")
	p.hides("<script>window", "<img src=x", "<svg onload", "\u202e")
	_, p = get(t, c, "/console/entities/"+url.PathEscape(strings.Repeat("e", 119)))
	if !p.has(".cut-off") {
		t.Error("a word without an end is not cut")
	}
}

func TestEntityIsChanged(t *testing.T) {
	for _, tc := range []struct {
		what, entity, form string
		fields             map[string]string
		to, did            string
		says               []string
	}{
		{"rename", "exporter", "rename", map[string]string{"to": "file writer"}, "/console/entities/file%20writer", "renamed", []string{"exporter", "writes the settlement"}},
		{"merge", "exporter", "merge", map[string]string{"into": "settlement", "reason": "one thing"}, "/console/entities/exporter", "merged", []string{"Settlement", "also called exporter"}},
		{"alias", "exporter", "alias", map[string]string{"other": "dumper"}, "/console/entities/exporter", "named", []string{"also called dumper"}},
		{"split", "payments", "split", map[string]string{"alias": "paymentsd", "reason": "two things"}, "/console/entities/payments", "split", []string{"Payments"}},
		{"describe", "exporter", "describe", map[string]string{"type": "tool", "text": "Exporter: a script"}, "/console/entities/exporter", "described", []string{"a script", "tool"}},
		{"rule", "exporter", "rule", map[string]string{"text": "The exporter must never run twice a night."}, "/console/entities/exporter", "ruled", []string{"The exporter must never run twice a night."}},
		{"link", "exporter", "link", map[string]string{"way": "on", "other": "vault", "type": "requires", "strength": "0.6"}, "/console/entities/exporter", "linked", []string{"vault requires 0.60"}},
		{"link back", "exporter", "link", map[string]string{"way": "by", "other": "vault", "type": "blocks"}, "/console/entities/exporter", "linked", []string{"Needed by", "vault blocks 0.50"}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			c := open(t)
			_, p := get(t, c, "/console/entities/"+tc.entity)
			status, p := submit(t, c, p, `form[action="/console/entities/`+tc.entity+"/"+tc.form+`"]`, tc.fields)
			if status != http.StatusSeeOther || p.location != tc.to+"?did="+tc.did {
				t.Fatalf("%d to %q: %s", status, p.location, p.text())
			}
			_, p = get(t, c, p.location)
			p.says(tc.says...)
			if !p.has(".did") {
				t.Error("the page does not say what was done")
			}
			if list := "/console/claims?entity=settlement&entity=exporter"; tc.what == "merge" && !p.links(list) {
				t.Error("the list of its claims leaves out those of the other name")
			}
			if all := p.text(); tc.what == "link back" && strings.Index(all, "vault blocks") < strings.Index(all, "Needed by") {
				t.Errorf("it leads the wrong way: %s", all)
			}
		})
	}
}

func TestDependencyIsTakenOut(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities/ledger")
	if !strings.Contains(strings.Join(p.texts("tbody tr"), "\n"), "notify uses 0.30") {
		t.Fatal("there is no such dependency")
	}
	// Each row has its own form; a browser sends the one that is pressed.
	status, p := post(t, c, "/console/entities/ledger/unlink", url.Values{"source": {"ledger"}, "type": {"uses"}, "target": {"notify"}, "reason": {"queued by now"}, "back": {"/console/entities/ledger?depth=2"}})
	if status != http.StatusSeeOther || p.location != "/console/entities/ledger?depth=2&did=unlinked" {
		t.Fatalf("%d to %q: %s", status, p.location, p.text())
	}
	_, p = get(t, c, p.location)
	if strings.Contains(strings.Join(p.texts("tbody tr"), "\n"), "notify uses") {
		t.Error("the dependency is still there")
	}
	forms := 0
	for _, f := range p.all(`form[action="/console/entities/ledger/unlink"]`) {
		if sent := fieldsOf(f); sent.Get("source") == "exporter" && sent.Get("target") == "ledger" && sent.Get("type") == "requires" {
			forms++
		}
	}
	if forms != 1 {
		t.Errorf("%d forms take out what the exporter requires", forms)
	}
}

func TestEntityRefusesWhatIsWrong(t *testing.T) {
	c := open(t)
	for name, tc := range map[string]struct {
		verb   string
		form   url.Values
		status int
	}{
		"a way that there is not": {"link", url.Values{"way": {"up"}, "other": {"vault"}, "type": {"uses"}}, http.StatusBadRequest},
		"a strength of words":     {"link", url.Values{"way": {"on"}, "other": {"vault"}, "type": {"uses"}, "strength": {"much"}}, http.StatusBadRequest},
		"too strong":              {"link", url.Values{"way": {"on"}, "other": {"vault"}, "type": {"uses"}, "strength": {"7"}}, http.StatusBadRequest},
		"a type of its own":       {"link", url.Values{"way": {"on"}, "other": {"vault"}, "type": {"likes"}}, http.StatusBadRequest},
		"itself":                  {"link", url.Values{"way": {"on"}, "other": {"Ledger"}, "type": {"uses"}}, http.StatusBadRequest},
		"nothing to merge into":   {"merge", url.Values{"into": {"nowhere at all"}}, http.StatusNotFound},
		"no new name":             {"rename", url.Values{"to": {" "}}, http.StatusBadRequest},
		"a name that is taken":    {"rename", url.Values{"to": {"bank"}}, http.StatusConflict},
		"no alias":                {"split", url.Values{"alias": {"bank"}}, http.StatusNotFound},
		"an empty rule":           {"rule", url.Values{"text": {""}}, http.StatusBadRequest},
		"no such dependency":      {"unlink", url.Values{"source": {"ledger"}, "type": {"uses"}, "target": {"vault"}}, http.StatusNotFound},
	} {
		if status, p := post(t, c, "/console/entities/ledger/"+tc.verb, tc.form); status != tc.status {
			t.Errorf("%s: %d, want %d: %s", name, status, tc.status, p.text())
		}
	}
}

func TestEntityForReaders(t *testing.T) {
	c := open(t)
	_, p := get(t, c, "/console/entities/ledger", reader)
	if p.has(`main form`) {
		t.Error("who may only read has a form")
	}
	p.says("Never write to the ledger")
	if status, _ := post(t, c, "/console/entities/ledger/rename", url.Values{"to": {"book"}}, reader); status != http.StatusForbidden {
		t.Errorf("who may only read renames: %d", status)
	}
	// Another owner changes their own.
	if status, _ := post(t, c, "/console/entities/ledger/describe", url.Values{"text": {"Ledger: of " + consoletest.BobWord}}, bob); status != http.StatusSeeOther {
		t.Errorf("bob can't describe what he knows: %d", status)
	}
	_, p = get(t, c, "/console/entities/ledger")
	p.hides(consoletest.BobWord)
}

// The links of an entity's page lead to that page, even if its name contains a slash.
func TestLinksKeepASlashInAName(t *testing.T) {
	c := open(t, bare)
	c.learn("", "Acme's payments move the money.", func(k *ken.Claim) { k.Entities = []string{"acme/payments"} })
	const path = "/console/entities/acme%2Fpayments"
	if status, p := get(t, c, path); status != http.StatusOK || !p.links(path+"?depth=2#around") || !p.links(path+"?old=yes#old") {
		t.Errorf("%d %s", status, p.body)
	}
}
