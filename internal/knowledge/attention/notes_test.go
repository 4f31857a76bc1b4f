package attention_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

func (k *kit) reject(r attention.Rejection) {
	k.Helper()
	if err := attention.Reject(k.Context(), k.Shelf(), r); err != nil {
		k.Fatal(err)
	}
}

func (k *kit) dismiss(id string) {
	k.Helper()
	if err := attention.Dismiss(k.Context(), k.Shelf(), id); err != nil {
		k.Fatal(err)
	}
}

func TestRejectedWriteIsListed(t *testing.T) {
	each(t, func(k *kit) {
		token := "ghp_" + "q7RzT1mXv8KpLw3NcYh6BdJg5FsAe2Ui9Ok4"
		k.reject(attention.Rejection{At: epoch, Session: "s-1", Actor: ken.Actor{Type: "agent", ID: "coder"},
			Text: "the <think>no</think>token is " + token, Why: "evidence: empty"})
		items := k.list()
		if len(items) != 1 {
			k.Fatalf("got %+v", items)
		}
		i := items[0]
		if i.Event != attention.Rejected || i.Severity != attention.Info || i.Action != "Agent attempted knowledge write without evidence" || len(i.Claims) != 0 ||
			!i.At.Equal(epoch) || i.Text != "agent coder wanted to write without evidence: “the token is [redacted:github-token]” Session s-1." {
			k.Errorf("got %+v", i)
		}
		err := k.Shelf().View(k.Context(), func(r store.ShelfReader) error {
			for key, v := range r.Scan("attention/") {
				if strings.Contains(string(v), token) || strings.Contains(string(v), "think") {
					t.Errorf("%s holds %s", key, v)
				}
			}
			return nil
		})
		if err != nil {
			k.Error(err)
		}
	})
}

// An agent in a loop must not push everything else out.
func TestSameRejectionAgainIsCounted(t *testing.T) {
	each(t, func(k *kit) {
		for n := range 50 {
			k.reject(attention.Rejection{At: epoch.Add(time.Duration(n) * time.Second), Session: "s-1", Why: "no evidence"})
		}
		items := k.list()
		if len(items) != 1 || !strings.Contains(items[0].Text, "50 times") || !items[0].At.Equal(epoch.Add(49*time.Second)) {
			k.Errorf("got %+v", items)
		}
		k.reject(attention.Rejection{At: epoch, Session: "s-2", Why: "no evidence"})
		if items := k.list(); len(items) != 2 {
			k.Errorf("another session: %+v", items)
		}
	})
}

func TestRejectionsAreBounded(t *testing.T) {
	each(t, func(k *kit) {
		for n := range 230 {
			k.reject(attention.Rejection{At: epoch.Add(time.Duration(n) * time.Second), Text: fmt.Sprintf("number %d %s", n, strings.Repeat("long ", 500))})
		}
		items := k.list()
		if len(items) != 200 || !strings.Contains(items[0].Text, "number 229 ") || !strings.Contains(items[199].Text, "number 30 ") {
			k.Errorf("%d items, from %.80s to %.80s", len(items), items[0].Text, items[len(items)-1].Text)
		}
		size := 0
		err := k.Shelf().View(k.Context(), func(r store.ShelfReader) error {
			for _, v := range r.Scan("attention/") {
				size += len(v)
			}
			return nil
		})
		if err != nil || size > 200*800 {
			k.Errorf("%d bytes are kept, %v", size, err)
		}
	})
}

func TestRejectWithoutATimeIsNow(t *testing.T) {
	each(t, func(k *kit) {
		before := time.Now().Add(-time.Minute)
		k.reject(attention.Rejection{Why: "no evidence"})
		if items := k.list(); len(items) != 1 || items[0].At.Before(before) {
			k.Errorf("got %+v", items)
		}
	})
}

func TestDismissedItemStaysAwayUntilItChanges(t *testing.T) {
	each(t, func(k *kit) {
		id := k.write("The sagas time out after 5 s.", is(ken.StatusVerified))
		k.move(id, ken.StatusDisputed, "it was 9 s")
		k.reject(attention.Rejection{At: epoch, Session: "s-1"})
		for _, i := range k.list() {
			k.dismiss(i.ID)
			k.dismiss(i.ID)
		}
		if got := k.events(); got != "" {
			k.Fatalf("dismissed, and still there: %s", got)
		}
		if all := k.list(attention.Options{Now: k.now(), All: true}); len(all) != 2 {
			k.Errorf("all are %+v", all)
		}
		k.move(id, ken.StatusVerified, "")
		if got := k.events(); got != "" {
			k.Errorf("verified: %s", got)
		}
		k.move(id, ken.StatusDisputed, "again")
		k.reject(attention.Rejection{At: epoch.Add(day), Session: "s-1"})
		if got := k.events(); got != "disputed rejected" {
			k.Errorf("both changed, and the queue has %q", got)
		}
	})
}

func TestDismissedAreBounded(t *testing.T) {
	each(t, func(k *kit) {
		if _, slow := k.source.(*bolt.Store); slow {
			k.Skip("the shelf in memory shows it as well, and sooner")
		}
		for n := range 1100 {
			k.dismiss(fmt.Sprintf("%012x", n))
		}
		n := 0
		err := k.Shelf().View(k.Context(), func(r store.ShelfReader) error {
			for range r.Scan("attention/") {
				n++
			}
			return nil
		})
		if err != nil || n != 1001 { // and the counter
			k.Errorf("%d keys, %v", n, err)
		}
	})
}

func TestDismissRefusesWhatIsNoID(t *testing.T) {
	each(t, func(k *kit) {
		for _, id := range []string{"", "abc", "0123456789AB", "0198a000-0000-7000-8000-000000000001", "zzzzzzzzzzzz"} {
			if err := attention.Dismiss(k.Context(), k.Shelf(), id); !errors.Is(err, ken.ErrInvalid) || ken.Hint(err) == "" {
				k.Errorf("%q: %v", id, err)
			}
		}
	})
}

// A note that can't be read is told, is not overwritten, and hides nothing.
func TestListWithANoteThatCantBeRead(t *testing.T) {
	each(t, func(k *kit) {
		k.reject(attention.Rejection{At: epoch, Session: "s-1"})
		const bad = "attention/rejected/00000000000000ff"
		if err := k.Shelf().Update(k.Context(), func(tx store.ShelfTx) error { return tx.Put(bad, []byte("{")) }); err != nil {
			k.Fatal(err)
		}
		items, err := attention.List(k.Context(), k.source, k.Shelf(), attention.Options{Now: epoch})
		if !errors.Is(err, ken.ErrCorrupt) || len(items) != 1 {
			k.Errorf("%+v, %v", items, err)
		}
		k.reject(attention.Rejection{At: epoch, Session: "s-2"})
		err = k.Shelf().View(k.Context(), func(r store.ShelfReader) error {
			if string(r.Get(bad)) != "{" {
				t.Error("what could not be read was written over")
			}
			return nil
		})
		if err != nil {
			k.Error(err)
		}
	})
}
