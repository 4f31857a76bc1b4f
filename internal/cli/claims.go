package cli

import (
	"context"
	"fmt"
	"os/user"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/analysis"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/knowledge/structure/edit"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// DeskOf returns the desk through which the person by decides about a store's claims.
func DeskOf(l *middleware.Layer, s store.Engine, by string) *operator.Desk {
	return operator.New(l, s, operator.Options{Name: by, Editor: CurrentUser()})
}

// Desk returns the desk of the current user.
func Desk(l *middleware.Layer, s store.Engine) *operator.Desk { return DeskOf(l, s, CurrentUser()) }

// WithEditor runs fn on the editor of the owner's entities and tasks, for the current user. An
// invalid value is a usage error.
func (a *App) WithEditor(ctx context.Context, fn func(*edit.Editor) error) error {
	return a.WithStore(ctx, func(l *middleware.Layer, s store.Engine) error { return AsUsageError(fn(Desk(l, s).Editor())) })
}

// DescribeFiled describes how a claim was filed: "constraint on payments (also: ledger);
// payments requires ledger".
func DescribeFiled(c *ken.Claim, dependencies []ken.Claim) string {
	what := string(c.Kind)
	switch {
	case c.Constraint:
		what = "constraint"
	case c.RuleCandidate:
		what = "candidate rule"
	}
	switch {
	case len(c.Entities) > 0:
		what += " on " + Cell(c.Entities[0])
	case c.Constraint:
		what += " about nothing in particular: it is in every turn"
	default:
		what += " on nothing in particular"
	}
	if len(c.Entities) > 0 && c.Aspect != "" {
		what += ", " + Cell(c.Aspect)
	}
	if len(c.Entities) > 1 {
		what += " (also: " + Cell(strings.Join(c.Entities[1:], ", ")) + ")"
	}
	if c.RuleCandidate {
		what += "; it is shown as a fact until ken memory approve makes it a rule"
	}
	for i := range dependencies {
		what += "; " + Cell(dependencies[i].Text)
	}
	return what
}

// NoteCleaned tells the user when something was removed from the text before it was stored.
func (a *App) NoteCleaned(text string, c *ken.Claim) {
	if analysis.WithoutPastNotes(c.Text) != analysis.WithoutPastNotes(text) {
		fmt.Fprintln(a.Err, "ken: what looked like a secret, a model's reasoning or a control character was taken out")
	}
}

// CurrentUser returns the name of the user who runs the command.
func CurrentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "operator"
}

// Headline returns a claim in one line.
func Headline(c *ken.Claim) string {
	if c.Heading == "" {
		return c.Text
	}
	return c.Heading + ": " + c.Text
}

// ShortID returns an ID as tables show it: short on a terminal, whole for programs.
func (a *App) ShortID(id string) string {
	if IsTerminal(a.Out) {
		return Tail(id)
	}
	return id
}

// ForgetJournal deletes the journal of a session. It then compacts the store, because
// its free pages still contain the deleted text.
func ForgetJournal(ctx context.Context, l *middleware.Layer, s store.Engine, id string) error {
	if err := l.Operator().ForgetSession(ctx, s.Owner(), id); err != nil {
		return err
	}
	if err := s.Compact(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("clear the disk of session %s: %w", id, err)
	}
	return nil
}
