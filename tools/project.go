package tools

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/code/codebase"
	"github.com/kenlayer/ken/internal/code/objective"
)

// checkOwner refuses callers of an owner that does not own the project.
func (c *Call) checkOwner() error {
	if c.r.layer.Operator().RootOf(c.Owner) == "" {
		return refused("", foreignProject, "Go on without them: what is known is found by memory_recall.")
	}
	return nil
}

// codeRefresh records when the project's files were last checked for changes.
type codeRefresh struct {
	mu    sync.Mutex
	at    time.Time
	after time.Duration // minimum time from at to the next check
}

// Bounds of the pause between two checks of files that are not watched. A check that took t is
// followed by a pause of refreshShare times t, but of at least refreshMin and at most refreshMax.
const (
	refreshMin   = time.Second
	refreshShare = 20
	refreshMax   = time.Minute
)

// code returns the project's code graph. It may be behind the files by the pause between checks.
func (c *Call) code(ctx context.Context) (*codebase.Codebase, error) {
	if err := c.checkOwner(); err != nil {
		return nil, err
	}
	code, err := c.r.layer.Operator().ReadCode(ctx)
	if err != nil {
		return nil, err
	}
	l := &c.r.refresh
	if !l.mu.TryLock() {
		return code, nil // another call is checking the files
	}
	defer l.mu.Unlock()
	begun := c.Now()
	if begun.Sub(l.at) < l.after {
		return code, nil
	}
	if _, err := code.Build(ctx); err != nil {
		return nil, err
	}
	l.at = c.Now()
	l.after = min(max(refreshShare*l.at.Sub(begun), refreshMin), refreshMax)
	return code, nil
}

// decisions returns the project's code with its current decisions. Its graph may not be read yet.
func (c *Call) decisions(ctx context.Context) (*codebase.Codebase, error) {
	if err := c.checkOwner(); err != nil {
		return nil, err
	}
	code := c.r.layer.Operator().Codebase()
	if code == nil { // ReadCode returns the reason
		return c.r.layer.Operator().ReadCode(ctx)
	}
	return code, code.Govern(ctx)
}

// objectives returns the project's objectives.
func (c *Call) objectives() (*objective.Store, error) {
	if err := c.checkOwner(); err != nil {
		return nil, err
	}
	if s := c.r.layer.Operator().Objectives(); s != nil {
		return s, nil
	}
	return nil, &ken.Error{Code: ken.CodeUnavailable, Field: "middleware.objectives", Msg: "objectives are switched off, or could not be opened",
		Try: "Ask the operator to set middleware.objectives to true, and to look at ken doctor."}
}

// draft cleans an agent's texts for a file: it removes invisible characters and reasoning. It keeps
// the first error.
type draft struct {
	changed bool
	words   []string // the texts, for the search for their origin
	err     error
}

// text cleans a text. It refuses a text with a secret, because files are shared and the author must
// know about the secret.
func (d *draft) text(field, s string) string {
	clean := strings.TrimSpace(guardrail.StripReasoning(guardrail.Sanitize(s)))
	if found := guardrail.Secrets(clean); len(found) > 0 && d.err == nil {
		d.err = refused(field, "it has what looks like a secret ("+found[0].Kind+"), and files of the project are shared",
			"Leave it out, and say where it is kept instead.")
	}
	if given := strings.TrimSpace(s); clean != given {
		if clean == "" && d.err == nil {
			d.err = invalid(field, "nothing is left of it but reasoning or what can't be seen", "Say it in plain words.")
		}
		d.changed = d.changed || clean != strings.ReplaceAll(given, "\r\n", "\n")
	}
	if clean != "" {
		d.words = append(d.words, clean)
	}
	return clean
}

// line cleans a text for a single line.
func (d *draft) line(field, s string) string { return collapseSpaces(d.text(field, s)) }

func (d *draft) lines(field string, list []string) []string {
	var out []string
	for _, s := range list {
		if s = d.line(field, s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// notes says whether a text was changed.
func (d *draft) notes() []string {
	if d.changed {
		return []string{"a model's reasoning or characters that can't be seen were taken out"}
	}
	return nil
}

// externalRepeat returns the id of an external claim that a draft repeats; "" if there is none.
// Copied into a file of the project, an external text would look like the project's own.
func (c *Call) externalRepeat(ctx context.Context, d *draft) (string, error) {
	const most = 2000 // number of bytes that are compared
	for _, text := range d.words {
		if len(text) > most {
			text = strings.ToValidUTF8(text[:most], "")
		}
		if ids, err := c.externalClaimsSaying(ctx, text); err != nil || len(ids) > 0 {
			return cmp.Or(ids...), err
		}
	}
	return "", nil
}

// checkDraft refuses a draft that repeats an external claim, and returns the draft's first error.
func (c *Call) checkDraft(ctx context.Context, d *draft) error {
	if d.err != nil {
		return d.err
	}
	id, err := c.externalRepeat(ctx, d)
	if err == nil && id != "" {
		err = refused("", "claim "+shortID(id)+" of an external source says so, and nobody here has decided it",
			"Tell a person, who can write it with the ken command.")
	}
	return err
}
