package console_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// A replay has the bytes of then, and what of them would be otherwise now: a claim with
// other words, one that is disputed by now, and one that is new.
func TestReplay(t *testing.T) {
	var passed atomic.Int64 // hours since now
	later := func() time.Time { return now.Add(time.Duration(passed.Load()) * time.Hour) }
	c := open(t, bare, patient, func(s *setup) { s.layer.Now, s.console.Now = later, later })
	keyed := func(k *ken.Claim) { k.Key = "port" } // what is written under it again has the old one's place
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
	p.says("Exact: its hash is the one that was noted", "2 unchanged")
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
	p.says("Exact: its hash is the one that was noted", "1 with other words", "1 gone", "1 new", "disputed, superseded or a hypothesis")
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

// A turn whose messages nobody kept has its bytes, and says why it can't be asked again.
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
