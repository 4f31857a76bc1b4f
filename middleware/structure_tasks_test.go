package middleware_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
)

// A turn about a thing is reminded of what is to be done about it, until it is done
// or its time is over; a turn about something else is not.
func TestATurnIsRemindedOfOpenTasks(t *testing.T) {
	l := open(t, settings(patient))
	learn(t, l, fact(t, "The payments service depends on the ledger service."), fact(t, "The warehouse service has two doors."))
	s, release, err := l.Store(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	now := time.Now()
	ed := edit.New(s, edit.Options{Actor: ken.Actor{Type: "user", ID: "ada"}, Evidence: []ken.Evidence{ken.FromHumanAssertion("ada", now, "")}})
	create := func(n edit.NewTask) string {
		k, err := ed.CreateTask(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		return k.ID
	}
	rotate := create(edit.NewTask{Title: "Rotate the keys", About: []string{"payments"}})
	create(edit.NewTask{Title: "Paint a door", About: []string{"warehouse"}})
	create(edit.NewTask{Title: "Prepare the audit", About: []string{"payments"}, ExpiresAt: now.Add(-time.Hour)})
	reminded := func(question string) (titles []string) {
		for _, it := range l.Assemble(t.Context(), asked(question)).Receipt.Items {
			if it.Kind == ken.KindEntity {
				if !it.Memory || !strings.HasPrefix(it.Heading, "Task T-") {
					t.Errorf("%+v", it)
				}
				titles = append(titles, it.Text)
			}
		}
		return titles
	}
	if got := reminded("how do payments retry?"); !slices.Equal(got, []string{"Rotate the keys"}) {
		t.Errorf("about payments: %q", got)
	}
	if got := reminded("thanks!"); len(got) > 0 {
		t.Errorf("small talk: %q", got)
	}
	done := task.Done
	if _, err := ed.UpdateTask(t.Context(), rotate, edit.TaskChange{Status: &done}); err != nil {
		t.Fatal(err)
	}
	if got := reminded("how do payments retry, and when?"); len(got) > 0 {
		t.Errorf("once it is done: %q", got)
	}
}
