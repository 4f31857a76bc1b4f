package edit_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/entity"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

type engine = store.Engine

func (k *kit) task(title string, about ...string) task.Task {
	k.Helper()
	return must[task.Task](k)(k.CreateTask(k.ctx, edit.NewTask{Title: title, About: about}))
}

func (k *kit) move(id string, to task.Status) task.Task {
	k.Helper()
	return must[task.Task](k)(k.UpdateTask(k.ctx, id, edit.TaskChange{Status: &to}))
}

func (k *kit) ids(want edit.TaskFilter) string {
	k.Helper()
	var out []string
	for _, t := range must[[]task.Task](k)(k.Tasks(k.ctx, want)) {
		out = append(out, t.ID)
	}
	return strings.Join(out, " ")
}

func TestTheLifeOfATask(t *testing.T) {
	k := newKit(t)
	k.fact("The ledger must stay on PostgreSQL 15.", "ledger")
	one := must[task.Task](t)(k.CreateTask(k.ctx, edit.NewTask{Title: " Move the\nledger ", ExpiresAt: day.Add(48 * time.Hour)}))
	if one.ID != "T-0001" || one.Title != "Move the ledger" || one.Status != task.Open || !slices.Equal(one.About, []string{"ledger"}) {
		t.Errorf("%+v", one)
	}
	if v := k.view("ledger"); len(v.Tasks) != 1 || v.Tasks[0].ID != "T-0001" {
		t.Errorf("tasks of the ledger: %+v", v.Tasks)
	}
	k.move("t-1", task.InProgress)
	k.move("T-0001", task.Blocked)
	k.clock.pass(72 * time.Hour)
	if got := must[task.Task](t)(k.Task(k.ctx, "1")); !got.Expired {
		t.Errorf("it is over time: %+v", got)
	}
	done := k.move("T-0001", task.Done)
	if !done.CompletedAt.Equal(day.Add(72*time.Hour)) || !done.RetentionUntil.Equal(done.CompletedAt.Add(edit.DefaultRetention)) || done.Expired {
		t.Errorf("%+v", done)
	}
	if got := k.ids(edit.TaskFilter{}); got != "" {
		t.Errorf("still to be done: %s", got)
	}
	if got := k.ids(edit.TaskFilter{Statuses: []task.Status{task.Done}, About: "the Ledger", Contains: "MOVE"}); got != "T-0001" {
		t.Errorf("done: %s", got)
	}
	// Done is not started: it is opened first.
	to := task.InProgress
	_, err := k.UpdateTask(k.ctx, "T-0001", edit.TaskChange{Status: &to})
	wantError(t, err, ken.CodeRefused, "done", "in_progress", "open")
	again := k.move("T-0001", task.Open)
	if !again.CompletedAt.IsZero() || !again.RetentionUntil.IsZero() {
		t.Errorf("%+v", again)
	}
	if h := k.history(one.ClaimID); h != "written, revised, revised, revised, revised" {
		t.Errorf("history %q", h)
	}
}

func TestHowLongATaskIsKept(t *testing.T) {
	k := newKit(t)
	week, always := 7*24*time.Hour, time.Duration(-1)
	a := must[task.Task](t)(k.CreateTask(k.ctx, edit.NewTask{Title: "a", Retention: week}))
	b := must[task.Task](t)(k.CreateTask(k.ctx, edit.NewTask{Title: "b", Retention: always}))
	c := k.task("c")
	got := k.move(a.ID, task.Done)
	if !got.RetentionUntil.Equal(day.Add(week)) || !got.Claim.ExpiresAt.Equal(got.RetentionUntil) || got.Claim.Importance != 0 {
		t.Errorf("%+v", got)
	}
	if got := k.move(a.ID, task.Open); !got.Claim.ExpiresAt.IsZero() || got.Claim.Importance == 0 {
		t.Errorf("opened again: %+v", got)
	}
	if got := k.move(b.ID, task.Cancelled); !got.RetentionUntil.IsZero() || got.CompletedAt.IsZero() {
		t.Errorf("%+v", got)
	}
	k.move(c.ID, task.Done)
	k.clock.pass(time.Hour)
	title := "c, and why"
	if got := must[task.Task](t)(k.UpdateTask(k.ctx, c.ID, edit.TaskChange{Title: &title, Retention: &week})); !got.RetentionUntil.Equal(day.Add(week)) {
		t.Errorf("it counts from when it was done: %+v", got)
	}
}

func TestTasksThatAreNone(t *testing.T) {
	k := newKit(t)
	for _, n := range []edit.NewTask{{Title: " "}, {Title: strings.Repeat("x", 1001)}, {Title: "x", About: []string{"***"}},
		{Title: "x", ExpiresAt: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), Scope: ken.Scope{Type: "planet", ID: "x"}}} {
		_, err := k.CreateTask(k.ctx, n)
		wantError(t, err, ken.CodeInvalid)
	}
	if k.s.Len() != 0 {
		t.Errorf("%d records", k.s.Len())
	}
	for _, id := range []string{"", "x", "T-", "T-0", "-1", "T-99999999999999999999999", strings.Repeat("9", 1000)} {
		_, err := k.Task(k.ctx, id)
		wantError(t, err, ken.CodeInvalid)
	}
	_, err := k.Task(k.ctx, "T-0007")
	wantError(t, err, ken.CodeNotFound, "T-0007")
	bad := task.Status("paused")
	k.task("x")
	_, err = k.UpdateTask(k.ctx, "1", edit.TaskChange{Status: &bad})
	wantError(t, err, ken.CodeInvalid, "in_progress")
	_, err = k.Tasks(k.ctx, edit.TaskFilter{Statuses: []task.Status{bad}})
	wantError(t, err, ken.CodeInvalid, "in_progress")
	_, err = k.Tasks(k.ctx, edit.TaskFilter{About: "nobody"})
	wantError(t, err, ken.CodeNotFound)
}

// Other words are another's: an agent that rewrites a person's task does not speak as
// that person.
func TestARewrittenTaskIsWhoseWordsItIs(t *testing.T) {
	k := newKit(t)
	one := k.task("Move the ledger")
	blocked, title := task.Blocked, "Delete the ledger"
	got := must[task.Task](t)(k.agent.UpdateTask(k.ctx, one.ID, edit.TaskChange{Status: &blocked}))
	if got.Claim.Support(nil).Trust != ken.TrustOperator {
		t.Errorf("its words are the person's still: %+v", got.Claim)
	}
	got = must[task.Task](t)(k.agent.UpdateTask(k.ctx, one.ID, edit.TaskChange{Title: &title}))
	if got.Claim.Support(nil).Trust != ken.TrustAgent || got.Status != task.Blocked {
		t.Errorf("%+v", got.Claim)
	}
}

// Tasks that came in by an import are not written over.
func TestNumbersGoOnBehindImportedTasks(t *testing.T) {
	from := newKit(t)
	for i := range 5 {
		from.task(fmt.Sprint("old ", i))
	}
	k := newKit(t)
	for c, err := range from.s.Claims(from.ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.s.WriteClaim(k.ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	if got := k.task("new"); got.ID != "T-0006" {
		t.Errorf("it is %s", got.ID)
	}
	if got := k.ids(edit.TaskFilter{}); got != "T-0001 T-0002 T-0003 T-0004 T-0005 T-0006" {
		t.Error(got)
	}
}

// Pain 19: seven at once, in two processes, and each has a task of its own.
func TestParallelTasksSurvive(t *testing.T) {
	a, b := processes(t)
	o := edit.Options{Actor: robot, Evidence: []ken.Evidence{ken.FromAgentAssertion("robot", "")}}
	var wg sync.WaitGroup
	for i := range 14 {
		wg.Go(func() {
			s := a
			if i%2 == 1 {
				s = b
			}
			if _, err := edit.New(s, o).CreateTask(t.Context(), edit.NewTask{Title: fmt.Sprint("task ", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	tasks := must[[]task.Task](t)(edit.New(b, o).Tasks(t.Context(), edit.TaskFilter{}))
	titles := map[string]bool{}
	for i, x := range tasks {
		titles[x.Title] = true
		if x.ID != task.ID(uint64(i+1)) {
			t.Errorf("number %d is %s", i+1, x.ID)
		}
	}
	if len(titles) != 14 {
		t.Errorf("%d of 14 survived", len(titles))
	}
}

// Two processes change two fields of one task at once: both changes are kept.
func TestParallelChangesOfOneTaskAreAllKept(t *testing.T) {
	a, b := processes(t)
	ctx := t.Context()
	o := edit.Options{Actor: robot, Evidence: []ken.Evidence{ken.FromAgentAssertion("robot", "")}}
	for range 5 {
		one := must[task.Task](t)(edit.New(a, o).CreateTask(ctx, edit.NewTask{Title: "a task"}))
		status, title, about, until := task.InProgress, "another title", []string{"ledger"}, time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
		var wg sync.WaitGroup
		for i, c := range []edit.TaskChange{{Status: &status}, {Title: &title}, {About: &about}, {ExpiresAt: &until}} {
			wg.Go(func() {
				s := a
				if i%2 == 1 {
					s = b
				}
				if _, err := edit.New(s, o).UpdateTask(ctx, one.ID, c); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got := must[task.Task](t)(edit.New(b, o).Task(ctx, one.ID))
		if got.Status != status || got.Title != title || !slices.Equal(got.About, about) || !got.ExpiresAt.Equal(until) {
			t.Fatalf("something was lost: %+v", got)
		}
	}
}

// A change that died in the middle holds up the next one for a while, not for ever.
func TestADeadProcessDoesNotLockATask(t *testing.T) {
	k := newKit(t)
	one := k.task("a task")
	err := k.s.Shelf().Update(k.ctx, func(tx store.ShelfTx) error {
		return tx.Put("structure/edit/lock/task/"+one.ID, []byte(`{"by":"dead","until":"2026-03-02T09:00:20Z"}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		to := task.Done
		_, err := k.UpdateTask(k.ctx, one.ID, edit.TaskChange{Status: &to})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	k.clock.pass(time.Minute)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A task is the owner's, within the scopes of who looks.
func TestTasksOfAnotherScopeAreNotSeen(t *testing.T) {
	k := newKit(t)
	shop, bank := ken.Scope{Type: ken.ScopeProject, ID: "shop"}, ken.Scope{Type: ken.ScopeProject, ID: "bank"}
	one := must[task.Task](t)(k.CreateTask(k.ctx, edit.NewTask{Title: "secret", About: []string{"vault"}, Scope: bank}))
	o := k.machine()
	o.Scope, o.Scopes = shop, []ken.Scope{shop}
	other := edit.New(k.s, o)
	_, err := other.Task(k.ctx, one.ID)
	wantError(t, err, ken.CodeNotFound)
	to := task.Done
	_, err = other.UpdateTask(k.ctx, one.ID, edit.TaskChange{Status: &to})
	wantError(t, err, ken.CodeNotFound)
	if got := must[[]task.Task](t)(other.Tasks(k.ctx, edit.TaskFilter{})); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	_, err = other.Merge(k.ctx, "vault", "shop", "")
	wantError(t, err, ken.CodeNotFound)
	if strings.Contains(ken.Hint(err), "vault\"") {
		t.Errorf("the hint tells: %s", ken.Hint(err))
	}
	if two := must[task.Task](t)(other.CreateTask(k.ctx, edit.NewTask{Title: "mine"})); two.ID != "T-0002" || two.Claim.Scope != shop {
		t.Errorf("%+v", two)
	}
}

// Two entities of one name under two owners are two.
func TestOwnersShareNothing(t *testing.T) {
	ada, ben := newKit(t), newKit(t)
	ada.rule(noFriday, "payments")
	ben.fact("Payments is a band.", "payments")
	ada.task("rehearse", "payments")
	if v := ben.view("payments"); len(v.Constraints)+len(v.Tasks) != 0 {
		t.Errorf("%+v", v)
	}
	if got := ben.task("mine"); got.ID != "T-0001" {
		t.Errorf("it is %s", got.ID)
	}
	_, err := entity.Show(ben.ctx, ben.s, "rehearse", nil)
	wantError(t, err, ken.CodeNotFound)
}
