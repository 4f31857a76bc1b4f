package consoletest

import (
	"context"
	"fmt"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/internal/knowledge/structure/task"
	"github.com/kenlayer/ken/store"
)

// things are the entities that claims are about, what they depend on, their other names,
// rules about them, and tasks.
func (f *furnisher) things() []step {
	steps := []step{f.edits(70*day, "describe entities", describe), f.edits(69*day, "depend", depend), f.edits(68*day, "rules", rules), f.edits(5*day, "tasks", f.tasks)}
	return steps
}

// edits is a step that a person takes with the editor of the structure.
func (f *furnisher) edits(ago time.Duration, name string, do func(context.Context, *edit.Editor) error) step {
	return f.change(ago, name, func(ctx context.Context, s store.Engine) error {
		return do(ctx, edit.New(s, edit.Options{Now: f.clock.Now, NewID: func() string { return f.ids.next(f.clock.Now()) }, Actor: ana, Project: "payments",
			Evidence: []ken.Evidence{ken.FromHumanAssertion("ana", f.clock.Now(), "drew it on the board")}, Source: "ana", SourceType: "edit"}))
	})
}

func describe(ctx context.Context, e *edit.Editor) error {
	for _, d := range [][3]string{
		{"payments", "project", "Payments: moves money between accounts"}, {"ledger", "system", "Ledger: the books, in double entry"},
		{"bank", "system", "Bank: the partner's API"}, {"retry", "system", "Retry: repeats calls to the bank"}, {"handler", "system", "Handler: the HTTP API"},
		{"postgres", "tool", "PostgreSQL: where the ledger lies"}, {"notify", "system", "Notify: letters to people"}, {"settlement", "concept", "Settlement: what goes to the bank, once a night"},
		{"exporter", "system", "Exporter: writes the settlement's file"}, {"ana", "person", "Ana: owns payments"}, {"tom", "person", "Tom: owns the letters"},
		{"auditors", "person", "Auditors: look at the books once a year"}, {"refunds", "concept", "Refunds: transfers that go back"}, {"on call", "concept", "On call: who answers at night"},
		{"vault", "tool", "Vault: where keys lie"},
	} {
		if _, err := e.Describe(ctx, d[0], d[1], d[2]); err != nil {
			return fmt.Errorf("%s: %w", d[0], err)
		}
	}
	_, err := e.Alias(ctx, "payments", "paymentsd", "that is what the binary is called")
	return err
}

func depend(ctx context.Context, e *edit.Editor) error {
	for _, d := range []struct {
		from, how, to string
		strength      float64
	}{
		{"payments", "uses", "ledger", .9}, {"payments", "uses", "bank", .9}, {"payments", "uses", "retry", .7}, {"payments", "uses", "handler", .8}, {"payments", "owned_by", "ana", .9},
		{"handler", "requires", "ledger", .8}, {"handler", "uses", "retry", .6}, {"retry", "uses", "bank", .8}, {"ledger", "requires", "postgres", 1}, {"ledger", "uses", "notify", .3},
		{"notify", "owned_by", "tom", .8}, {"settlement", "uses", "exporter", .7}, {"settlement", "requires", "bank", .9}, {"exporter", "requires", "ledger", .9},
		{"auditors", "blocks", "settlement", .5}, {"refunds", "requires", "ledger", .8}, {"refunds", "informs", "auditors", .2}, {"bank", "requires", "vault", .4}, {"on call", "owned_by", "ana", .5},
	} {
		if _, err := e.AddDependency(ctx, d.from, d.how, d.to, d.strength); err != nil {
			return fmt.Errorf("%s %s %s: %w", d.from, d.how, d.to, err)
		}
	}
	return nil
}

func rules(ctx context.Context, e *edit.Editor) error {
	for _, r := range []edit.NewConstraint{
		{Text: "Never write to the ledger but through ledger.Post.", Entities: []string{"ledger"}, Aspect: "design"},
		{Text: "Never call the bank without a reference.", Entities: []string{"bank"}, Aspect: "api"},
		{Text: "Refunds of more than 1,000 euros must be approved by Ana.", Entities: []string{"refunds", "ana"}, Aspect: "policy"},
	} {
		if _, err := e.AddConstraint(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.Text, err)
		}
	}
	return nil
}

// tasks are one of each state.
func (f *furnisher) tasks(ctx context.Context, e *edit.Editor) error {
	for i, t := range []struct {
		title string
		about []string
		to    []task.Status
	}{
		{"Reconcile a week of hourly settlement", []string{"settlement", "bank"}, nil},
		{"Enlarge the pool of connections before month's end", []string{"postgres"}, []task.Status{task.InProgress}},
		{"Ask the bank about Sundays", []string{"bank"}, []task.Status{task.InProgress, task.Blocked}},
		{"Queue letters in the transaction", []string{"notify"}, []task.Status{task.InProgress, task.Done}},
		{"Pay out in Swiss francs", []string{"payments"}, []task.Status{task.Cancelled}},
	} {
		made, err := e.CreateTask(ctx, edit.NewTask{Title: t.title, About: t.about})
		if err != nil {
			return fmt.Errorf("task %d: %w", i+1, err)
		}
		for _, to := range t.to {
			if _, err := e.UpdateTask(ctx, made.ID, edit.TaskChange{Status: &to}); err != nil {
				return fmt.Errorf("task %d: %w", i+1, err)
			}
		}
	}
	return nil
}
