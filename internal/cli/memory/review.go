package memory

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func memoryIDs(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error) {
	all, err := cli.Desk(l, s).Memory(ctx, true)
	return cli.Map(all, func(c *ken.Claim) string { return c.ID + "\t" + cli.Truncate(cli.Cell(c.Text), 60) }), err
}

// memoryCommand groups the commands that decide about candidates.
func (a *commands) memoryCommand() *cobra.Command {
	return cli.WithSubcommands(&cobra.Command{
		Use:   "memory",
		Short: "Decide which claims are part of every turn",
		Example: `  ken memory review
  ken memory approve 0d7fe1a2`,
		Long: "Decide which claims are part of every turn. Patterns that recur across sessions are candidates and reach no model until a person " +
			"approves them; hot facts and approved patterns do. A rule that somebody stated in a session is a candidate rule: matching turns get it as " +
			"a candidate, until a person makes it a constraint. MEMORY.md in .ken/knowledge shows patterns and hot facts, and may be edited: these commands " +
			"read its changes first, and stop if they can't be parsed.",
	}, a.memoryReviewCommand(), a.memorySyncCommand(),
		&cobra.Command{
			Use: "approve ID", Short: "Make a candidate part of every turn",
			Example: `  ken memory review --list
  ken memory approve 0d7fe1a2`,
			Long:              "Make a candidate part of every turn, on the current user's word. One that was approved before stays so.",
			Args:              cli.ExactArgs("ID"),
			ValidArgsFunction: a.Complete(memoryIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.decide(cmd.Context(), operator.Verdict{ID: args[0], Decision: operator.Approve})
			},
		},
		&cobra.Command{
			Use: "reject ID", Short: "Take a claim out of every turn, and keep it from coming back",
			Example: `  ken memory reject 0d7fe1a2`,
			Long: "Take a candidate, an approved pattern or a hot fact out, and keep it from coming back when it is seen again. It stays in " +
				"the store, disputed; ken verify brings it back.",
			Args:              cli.ExactArgs("ID"),
			ValidArgsFunction: a.Complete(memoryIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				return a.decide(cmd.Context(), operator.Verdict{ID: args[0], Decision: operator.Reject})
			},
		},
		&cobra.Command{
			Use: "edit ID [TEXT|-]", Short: "Replace a claim's text, and approve it",
			Long: "Replace the text of a candidate, an approved pattern or a hot fact by one of your own, and make that part of every turn. " +
				"The old claim is superseded by the new one, whose id is printed.",
			Example:           `  ken memory edit 3f9a2c71 "Run go test ./... with -count=1"`,
			Args:              cli.AtLeastOne("edit: ID is missing"),
			ValidArgsFunction: a.Complete(memoryIDs),
			RunE: func(cmd *cobra.Command, args []string) error {
				text, err := a.ReadText(cmd.Context(), args[1:])
				if err != nil {
					return err
				}
				return a.decide(cmd.Context(), operator.Verdict{ID: args[0], Decision: operator.Rewrite, Text: text})
			},
		})
}

func (a *commands) decide(ctx context.Context, v operator.Verdict) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		c, err := operator.Living(ctx, s, v.ID)
		if err != nil {
			return err
		}
		if !operator.Reviewed(&c) {
			return &ken.Error{Code: ken.CodeRefused, Field: "id", Msg: "claim " + c.ID + " is of kind " + string(c.Kind) + ": memory is patterns, hot facts and candidate rules",
				Try: "Use ken verify, ken dispute or ken supersede."}
		}
		out, err := cli.Desk(l, s).Review(ctx, []operator.Verdict{v})
		return a.printStored(ctx, l, s, out[0].ID, cmp.Or(out[0].Err, err))
	})
}

func (a *commands) memorySyncCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "sync",
		Short:   "Apply the changes in MEMORY.md, and rewrite it",
		Example: `  ken memory sync`,
		Long: "Apply what was changed in .ken/knowledge/MEMORY.md by hand: ticked boxes, new texts, new lines. A file that can't be " +
			"understood is refused with the number of the line, and stays as it is.\n\n" +
			"A line counts as your word if Ken knew the file before, and neither git's last commit nor its index has the line. Every other new line " +
			"becomes a candidate, for ken memory review; what others commit approves, changes and rejects nothing.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) error {
				if owner := l.Config().Knowledge.Owner; s.Owner() != owner {
					return cli.Invalid("--owner", memoryfile.Name+" is of owner "+owner+", who is configured",
						"Leave --owner away; ken memory review --owner decides for others.")
				}
				r, err := l.Operator().SyncMemory(cmd.Context(), cli.CurrentUser())
				if err != nil {
					return err
				}
				return a.Show(r, func() { fmt.Fprintln(a.Out, syncedMemory(&r)) })
			})
		},
	}
}

// syncedMemory describes in a line what was done with the edits of MEMORY.md.
func syncedMemory(r *memoryfile.Report) string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{r.Approved, "approved"}, {r.Rejected, "rejected"}, {r.Demoted, "demoted"}, {r.Edited, "edited"}, {r.Added, "added"}, {r.Proposed, "proposed by others"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case r.Written:
		return "written; nothing was changed by hand"
	}
	return "nothing was changed"
}

// Keys that a raw terminal passes to the program.
const (
	ctrlC  = 3
	ctrlD  = 4
	escape = 0x1b
)

// noKey is a key without a meaning, such as an arrow.
const noKey = unicode.ReplacementChar

// keyReader reads single keys from a terminal. From other input it reads the first
// letter of each line.
type keyReader struct {
	in     *cli.Stoppable
	buf    *bufio.Reader
	fd     int // of the terminal; -1 without one
	escape escapes
}

func (a *commands) keyReader() *keyReader {
	k := &keyReader{in: &cli.Stoppable{R: a.In}, fd: -1}
	k.buf = bufio.NewReader(k.in)
	if f, ok := a.In.(*os.File); ok && cli.IsTerminal(a.In) {
		k.fd = int(f.Fd())
	}
	return k
}

func (k *keyReader) isTerminal() bool { return k.fd >= 0 }

// key calls ask and returns a letter in lower case, '\n' for an empty line, noKey
// for a key without a meaning, and io.EOF at the end. It makes the terminal raw
// before it calls ask; otherwise a key that is pressed early would wait for the end
// of its line.
func (k *keyReader) key(ctx context.Context, ask func()) (rune, error) {
	if !k.isTerminal() {
		ask()
		line, err := k.line(ctx)
		if err != nil {
			return 0, err
		}
		r, _ := utf8.DecodeRuneInString(strings.TrimSpace(line) + "\n")
		return unicode.ToLower(r), nil
	}
	k.in.Ctx = ctx
	old, err := term.MakeRaw(k.fd)
	if err != nil {
		return 0, fmt.Errorf("prepare terminal: %w", err)
	}
	ask()
	r, _, err := k.buf.ReadRune()
	if restored := term.Restore(k.fd, old); restored != nil {
		return 0, errors.Join(err, fmt.Errorf("restore terminal: %w", restored))
	}
	return unicode.ToLower(k.escape.next(r)), err
}

// line returns a line without its line break.
func (k *keyReader) line(ctx context.Context) (string, error) {
	k.in.Ctx = ctx
	s, err := k.buf.ReadString('\n')
	if errors.Is(err, io.EOF) && s != "" {
		err = nil
	}
	return strings.TrimRight(s, "\r\n"), err
}

// escapes parses escape sequences, which arrows and other keys send and which end
// in letters. Without it, an arrow could approve something.
type escapes int

const (
	plain    escapes = iota
	begun            // Escape
	control          // Escape [
	function         // Escape O
)

// next returns r if it was typed as a key of its own, and otherwise noKey.
func (e *escapes) next(r rune) rune {
	was := *e
	*e = plain
	switch {
	case was == plain && r != escape, r == ctrlC:
		return r
	case r == escape:
		*e = begun
	case was == begun && r == '[':
		*e = control
	case was == begun && r == 'O':
		*e = function
	case was == control && (r < '@' || r > '~'):
		*e = control // not the end of the sequence
	}
	return noKey
}

const reviewKeys = "[a]pprove  [r]eject  [e]dit  [s]kip  [q]uit"

func (a *commands) memoryReviewCommand() *cobra.Command {
	var all, list bool
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Go through the candidates, most reinforced first",
		Long: "Show the candidates, most reinforced first, and decide with one key: " + reviewKeys + ". What was approved is in " +
			"every turn from then on; what was rejected does not come back. Each decision is carried out at once. Without a terminal, each " +
			"line of standard input is a key, an empty one skips, and the line after an e is the new text.",
		Example: `  ken memory review
  ken memory review --list --all`,
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.review(cmd.Context(), all, list) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "what was approved, too")
	cmd.Flags().BoolVar(&list, "list", false, "only list them; --json does so as well")
	return cmd
}

func (a *commands) review(ctx context.Context, all, list bool) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		desk := cli.Desk(l, s)
		if !list && !a.JSON { // apply the decisions made in the file first
			if err := desk.SyncMemory(ctx); err != nil {
				return err
			}
		}
		claims, err := desk.Memory(ctx, all)
		if err != nil {
			return err
		}
		if list || a.JSON || len(claims) == 0 {
			return a.ShowTable(map[string]any{"memory": views(l, claims)}, "there is nothing to review", []string{"ID", "KIND", "STATUS", "SEEN", "TEXT"},
				cli.Map(claims, func(c *ken.Claim) []string {
					return []string{a.ShortID(c.ID), claimKind(c), string(c.Status), fmt.Sprint(c.Reinforcements + 1), c.Text}
				}))
		}
		r := reviewer{a: a, desk: desk, in: a.keyReader()}
		err = r.decideEach(ctx, claims)
		if r.changed { // also after an interruption
			err = errors.Join(err, desk.SyncMemory(context.WithoutCancel(ctx)))
		}
		return err
	})
}

type reviewer struct {
	a       *commands
	desk    *operator.Desk
	in      *keyReader
	changed bool // something was decided
}

// decideEach asks about each claim, until the input ends or the user quits.
func (r *reviewer) decideEach(ctx context.Context, claims []ken.Claim) error {
	for i := range claims {
		r.show(&claims[i], i+1, len(claims))
		for done := false; !done; {
			key, err := r.in.key(ctx, func() { fmt.Fprint(r.a.Out, reviewKeys+" › ") })
			if errors.Is(err, io.EOF) || err == nil && (key == 'q' || key == ctrlC || key == ctrlD) {
				fmt.Fprintln(r.a.Out)
				return nil
			}
			did := ""
			if err == nil {
				did, err = r.handleKey(ctx, key, &claims[i])
			}
			if err != nil {
				fmt.Fprintln(r.a.Out)
				return err
			}
			fmt.Fprintln(r.a.Out, did)
			done = did != ""
		}
	}
	return nil
}

// claimKind returns the name of the kind of a claim under review.
func claimKind(c *ken.Claim) string {
	if c.RuleCandidate {
		return "candidate rule"
	}
	return string(c.Kind)
}

func (r *reviewer) show(c *ken.Claim, n, of int) {
	fmt.Fprintf(r.a.Out, "\n%d of %d  %s, %s, seen %s\n  %s\n", n, of, claimKind(c), c.Status, seenCount(c), cli.Printable(c.Text))
	const some = 4
	for _, e := range c.Evidence[:min(len(c.Evidence), some)] {
		fmt.Fprintf(r.a.Out, "  · %s\n", cli.Cell(cli.EvidenceLabel(e)+" "+e.Detail))
	}
	if more := len(c.Evidence) - some; more > 0 {
		fmt.Fprintf(r.a.Out, "  · and %d more\n", more)
	}
}

// handleKey runs the action of a key and returns what it did; "" for a key without
// an action.
func (r *reviewer) handleKey(ctx context.Context, key rune, c *ken.Claim) (did string, err error) {
	v := operator.Verdict{ID: c.ID}
	switch key {
	case 'a':
		if did, v.Decision = "approved", operator.Approve; c.Status != ken.StatusHypothesis {
			return "was approved before", nil
		}
	case 'r':
		did, v.Decision = "rejected", operator.Reject
	case 'e':
		fmt.Fprint(r.a.Out, "\nnew text › ")
		text, err := r.in.line(ctx)
		if errors.Is(err, io.EOF) {
			err = &ken.Error{Code: ken.CodeInvalid, Msg: "the input ended where a new text was expected", Try: "Give the text on the line after the e."}
		}
		if err != nil {
			return "", err
		}
		if text = strings.TrimSpace(text); text == "" || text == c.Text {
			return "", nil // the caller asks again
		}
		did, v.Decision, v.Text = "edited and approved", operator.Rewrite, text
	case 's', '\r', '\n':
		return "skipped", nil
	default:
		if !r.in.isTerminal() { // a wrong line would shift all following decisions
			return "", cli.Invalid("", fmt.Sprintf("%q is no key", key), "Use a, r, e, s or q.")
		}
		return "", nil
	}
	if out := r.desk.Decide(ctx, v); out.Err != nil {
		return "", out.Err
	}
	r.changed = true
	return did, nil
}

// seenCount describes how often a claim was seen, and when last.
func seenCount(c *ken.Claim) string {
	last := c.UpdatedAt
	if !c.ReinforcedAt.IsZero() {
		last = c.ReinforcedAt
	}
	if c.Reinforcements == 0 {
		return "once, " + last.UTC().Format(time.DateOnly)
	}
	return fmt.Sprintf("%d times, last %s", c.Reinforcements+1, last.UTC().Format(time.DateOnly))
}
