package attention_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/attention"
	"github.com/kenlayer/ken/store"
)

func (k *kit) mark(e attention.Event, id, reason string) (fresh bool) {
	k.Helper()
	fresh, err := attention.PutMark(context.Background(), k.Shelf(), attention.Mark{Event: e, Claim: id, Reason: reason, Session: "s1",
		Actor: ken.Actor{Type: "agent", ID: "helper"}, At: k.now()})
	if err != nil {
		k.Fatal(err)
	}
	return fresh
}

func (k *kit) marked(o attention.Options) []attention.Item {
	k.Helper()
	items, err := attention.List(context.Background(), k, k.Shelf(), o)
	if err != nil {
		k.Fatal(err)
	}
	return items
}

func (k *kit) fact(text string) string {
	k.Helper()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		k.Fatal(err)
	}
	id, err := k.WriteClaim(context.Background(), c)
	if err != nil {
		k.Fatal(err)
	}
	return id
}

// What an agent asks for is in the queue with the command that does it, once, and gone
// when it is settled.
func TestMarks(t *testing.T) {
	each(t, func(k *kit) {
		ctx := context.Background()
		id, rule := k.fact("Ada's birthday is in May."), k.fact("Never deploy on a Friday.")
		if !k.mark(attention.ForgetRequested, id, "the user asked, token=ghp_16C7e42F292c6912E7710c838347Ae178B4a") || !k.mark(attention.DisputeRequested, rule, "") {
			k.Error("a first request is not new")
		}
		k.advance(time.Hour)
		if k.mark(attention.ForgetRequested, id, "again") {
			k.Error("asked for again it is new")
		}
		items := k.marked(attention.Options{Now: k.now()})
		if len(items) != 2 {
			k.Fatalf("queue %+v", items)
		}
		var forget attention.Item
		for _, it := range items {
			if it.Severity != attention.Warning || it.Action == "" || it.Commands[len(it.Commands)-1] != "ken attention dismiss "+it.ID {
				k.Errorf("item %+v", it)
			}
			if it.Event == attention.ForgetRequested {
				forget = it
			}
		}
		if forget.Commands[0] != "ken forget "+id || strings.Contains(forget.Text, "ghp_") || !strings.HasPrefix(forget.Text, "agent helper asks to forget: “Ada's birthday") {
			k.Errorf("item %+v", forget)
		}
		// A dismissed request stays so, however often the agent repeats it.
		if err := attention.Dismiss(ctx, k.Shelf(), forget.ID); err != nil {
			k.Fatal(err)
		}
		k.mark(attention.ForgetRequested, id, "please")
		if items = k.marked(attention.Options{Now: k.now()}); len(items) != 1 || items[0].Event != attention.DisputeRequested {
			k.Errorf("queue %+v", items)
		}
		if err := k.Transition(ctx, ken.Transition{ID: rule, To: ken.StatusDisputed, Reason: "no"}); err != nil {
			k.Fatal(err)
		}
		if items = k.marked(attention.Options{Now: k.now(), All: true}); len(items) != 1 {
			k.Errorf("queue with dismissed ones: %+v", items)
		}
		if n, err := attention.Forget(ctx, k.Shelf(), attention.Traces{Claims: []string{id, rule, "nobody"}}); err != nil || n != 2 {
			k.Fatalf("%d, %v", n, err)
		}
		if items = k.marked(attention.Options{Now: k.now(), All: true}); len(items) != 0 {
			k.Errorf("queue %+v", items)
		}
	})
}

func TestMarksOfNothing(t *testing.T) {
	each(t, func(k *kit) {
		k.mark(attention.ForgetRequested, "0198a000-0000-7000-8000-000000000001", "")
		if items := k.marked(attention.Options{}); len(items) != 0 {
			k.Errorf("queue %+v", items)
		}
		for _, m := range []attention.Mark{{Event: attention.Disputed, Claim: "x"}, {Event: attention.ForgetRequested}} {
			if _, err := attention.PutMark(context.Background(), k.Shelf(), m); !errors.Is(err, ken.ErrInvalid) {
				k.Errorf("%+v: %v", m, err)
			}
		}
	})
}

// An agent that marks everything must not fill the shelf.
func TestMarksAreBounded(t *testing.T) {
	each(t, func(k *kit) {
		for i := range 510 {
			k.advance(time.Second)
			k.mark(attention.ForgetRequested, fmt.Sprintf("0198a000-0000-7000-8000-%012d", i), "")
		}
		n, first := 0, ""
		err := k.Shelf().View(context.Background(), func(r store.ShelfReader) error {
			for key := range r.Scan("attention/mark/") {
				if n++; first == "" {
					first = key
				}
			}
			return nil
		})
		if err != nil || n != 500 || !strings.HasSuffix(first, "000000000010") {
			k.Errorf("%d marks from %s on, %v", n, first, err)
		}
	})
}
