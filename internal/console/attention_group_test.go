package console_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
)

// doubts writes uncertain claims, and returns the items about them.
func (c *rig) doubts(n int) (ids []string) {
	c.Helper()
	for i := range n {
		c.learn("", fmt.Sprintf("Perhaps %d penguins live on floor %d.", i, i), func(k *ken.Claim) {
			k.Confidence, k.CreatedAt = 0.4, now.AddDate(0, 0, -20)
		})
	}
	for _, it := range c.queue(false) {
		if it.Event == attention.Unsure {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// A large group is shortened in the list of all items, and complete on its own page. Chosen
// items or all of them are decided at once.
func TestAttentionByGroup(t *testing.T) {
	c := open(t)
	ids := c.doubts(12)
	n := len(ids)
	_, p := get(t, c, "/console/attention")
	shown := 0
	for _, id := range ids {
		if p.has("#i-" + id) {
			shown++
		}
	}
	if shown != 5 || !p.links("/console/attention?event=unsure") {
		t.Errorf("%d of %d are shown: %s", shown, n, p.text())
	}
	p.says(fmt.Sprintf("%d more: unsure", n-5), fmt.Sprintf("unsure %d", n))
	_, p = get(t, c, "/console/attention?event=unsure")
	if got := len(p.all("article.attention")); got != n || len(p.all(`input[name="item"]`)) != n {
		t.Errorf("%d rows of %d", got, n)
	}
	_, p = get(t, c, "/console/attention?event=unsure", reader)
	if p.has("main form") || p.has("main input") {
		t.Error("a reader is shown a form")
	}

	form := func(what string, more url.Values) url.Values {
		out := url.Values{"event": {"unsure"}, "what": {what}, "back": {"/console/attention?event=unsure"}}
		maps.Copy(out, more)
		return out
	}
	status, p := post(t, c, "/console/attention", form("verify", url.Values{"item": ids[:2]}))
	if status != http.StatusSeeOther || p.location != "/console/attention?did=decided&event=unsure" {
		t.Fatalf("%d %s: %s", status, p.location, p.text())
	}
	left := c.unsure()
	if len(left) != n-2 || slices.Contains(left, ids[0]) {
		t.Errorf("%d are left", len(left))
	}
	for name, tt := range map[string]struct {
		form url.Values
		want int
	}{
		"another number":     {form("discard", url.Values{"all": {strconv.Itoa(n)}}), http.StatusConflict},
		"not for several":    {form("correct", url.Values{"item": ids[2:4]}), http.StatusBadRequest},
		"of another event":   {url.Values{"event": {"contradicts"}, "what": {"discard"}, "item": ids[2:4]}, http.StatusBadRequest},
		"nothing chosen":     {form("discard", nil), http.StatusSeeOther},
		"no such item":       {form("discard", url.Values{"item": {"ffffffffffff"}}), http.StatusSeeOther},
		"items of elsewhere": {url.Values{"event": {"disputed"}, "what": {"dismiss"}, "item": ids[2:4]}, http.StatusSeeOther},
	} {
		if status, p := post(t, c, "/console/attention", tt.form); status != tt.want {
			t.Errorf("%s: %d %s", name, status, p.text())
		}
	}
	if status, _ := post(t, c, "/console/attention", form("discard", url.Values{"item": ids[2:4]}), reader); status != http.StatusForbidden {
		t.Errorf("a reader decides: %d", status)
	}
	if got := c.unsure(); len(got) != n-2 {
		t.Fatalf("%d are left", len(got))
	}
	if status, p := post(t, c, "/console/attention", form("discard", url.Values{"all": {strconv.Itoa(n - 2)}})); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, p.text())
	}
	if got := c.unsure(); len(got) != 0 {
		t.Errorf("%d are left of all", len(got))
	}
}

func (c *rig) unsure() (ids []string) {
	for _, it := range c.queue(false) {
		if it.Event == attention.Unsure {
			ids = append(ids, it.ID)
		}
	}
	return ids
}
