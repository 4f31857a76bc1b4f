package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/harvest/observe"
	"github.com/kenlayer/ken/internal/knowledge/provenance"
	"github.com/kenlayer/ken/internal/store/clean"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

func (a *commands) provenanceCommand() *cobra.Command {
	var q provenance.Query
	cmd := &cobra.Command{
		Use:   "provenance TARGET",
		Short: "Show the claims and evidence about a file, a symbol, a test or a claim",
		Long: "Show the claims that are about a thing or rest on it: a path, a symbol or another entity, the name of a test, a command, an " +
			"artifact, an address, a commit, or a claim or an item of a block by its id or key. Of each, the tier that it has by now and why, its status, when it " +
			"ends, and every piece of evidence: what it points at, when it was collected, and whether the file is still what it was.\n\n" +
			"Expired and superseded claims are counted, and shown where they are asked for.",
		Example: `  ken provenance pay/retry.go
  ken provenance TestRetry --json
  ken provenance 3f9a2c71 --superseded`,
		Args:              cli.ExactArgs("TARGET"),
		ValidArgsFunction: a.Complete(cli.EntityNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Target = args[0]
			return a.provenance(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&q.Expired, "expired", false, "also claims that have expired")
	f.BoolVar(&q.Superseded, "superseded", false, "also claims that were superseded")
	f.IntVar(&q.Limit, "limit", provenance.DefaultLimit, "list at most `N` claims, up to 1000")
	f.IntVar(&q.Offset, "offset", 0, "leave out the first `N` claims")
	return cmd
}

func (a *commands) provenance(ctx context.Context, q provenance.Query) error {
	if err := cli.Between("--limit", q.Limit, 1, provenance.MaxLimit); err != nil {
		return err
	}
	if q.Offset < 0 {
		return cli.Usagef("--offset: %d is negative", q.Offset)
	}
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		if p, ok := fromRoot(l.Root(), a.Dir, q.Target); ok {
			q.Names = append(q.Names, p)
		}
		v, err := provenance.Of(ctx, s, q, provenance.Options{DecayDays: l.Config().Knowledge.DecayDays, Root: l.Root()})
		if err != nil {
			return cli.AsUsageError(err)
		}
		return a.Show(v, func() { a.printProvenance(&v) })
	})
}

// fromRoot returns the name of an existing file or folder as claims have it: relative to
// the project's root, with slashes. It returns false for any other name.
func fromRoot(root, dir, name string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", false
	}
	if _, err := os.Lstat(abs); err != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, abs)
	return filepath.ToSlash(rel), err == nil && rel != "." && filepath.IsLocal(rel)
}

func (a *commands) printProvenance(v *provenance.View) {
	for i := range v.Claims {
		c := &v.Claims[i]
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		text := c.Text
		if c.Heading != "" {
			text = c.Heading + ": " + text
		}
		fmt.Fprintf(a.Out, "%s  %s, %s  %s\n", a.ShortID(c.ID), c.Tier, c.Status, cli.Cell(text))
		fmt.Fprintf(a.Out, "  why: %s\n", cli.Cell(c.Why))
		if !c.ExpiresAt.IsZero() {
			word := "expires"
			if c.Expired {
				word = "expired"
			}
			fmt.Fprintf(a.Out, "  %s: %s\n", word, c.ExpiresAt.UTC().Format(cli.TimeFormat))
		}
		if c.SupersededBy != "" {
			fmt.Fprintf(a.Out, "  superseded by: %s\n", a.ShortID(c.SupersededBy))
		}
		for j := range c.Evidence {
			fmt.Fprintf(a.Out, "  - %s\n", pieceLine(&c.Evidence[j]))
		}
	}
	a.noteOmitted(v)
}

func pieceLine(p *provenance.Piece) string {
	line := string(p.Kind) + " " + cli.Cell(p.Reference)
	if p.ExitCode != nil {
		line += fmt.Sprintf(" = %d", *p.ExitCode)
	}
	if !p.At.IsZero() {
		line += ", " + p.At.UTC().Format(cli.TimeFormat)
	}
	switch p.State {
	case provenance.Changed:
		line += ": the file has changed"
	case provenance.Gone:
		line += ": the file is gone"
	case provenance.Unread:
		line += ": the file can't be compared"
	case provenance.Stands:
		if p.Hash != "" {
			line += ": unchanged"
		}
	}
	if p.Detail != "" {
		line += " (" + cli.Cell(p.Detail) + ")"
	}
	return line
}

func (a *commands) noteOmitted(v *provenance.View) {
	var rest []string
	if n := v.Total - v.Offset - len(v.Claims); n > 0 {
		rest = append(rest, fmt.Sprintf("%d more (--offset %d)", n, v.Offset+len(v.Claims)))
	}
	if n := v.LeftOut.Expired; n > 0 {
		rest = append(rest, fmt.Sprintf("%d expired (--expired)", n))
	}
	if n := v.LeftOut.Superseded; n > 0 {
		rest = append(rest, fmt.Sprintf("%d superseded (--superseded)", n))
	}
	switch {
	case len(rest) > 0:
		fmt.Fprintf(a.Err, "ken: not shown: %s\n", strings.Join(rest, ", "))
	case v.Total == 0:
		fmt.Fprintf(a.Err, "ken: there are no claims about %s\n", cli.Cell(v.Target))
	}
}

type runOptions struct {
	about    []string
	expires  string
	file     string
	noRecord bool
	direct   bool
}

func (a *commands) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT …]",
		Short: "Run a command and record its result",
		Long: "Run a command and record as evidence how it ended, which tests its output tells of, and which files of the project it changed. " +
			"Its input and output are passed on, signals too, and its exit status is that of ken; 127 when there is no such command. What it " +
			"printed is not kept, but for the names of tests.\n\n" +
			"The claims are about the command, its tests, the files that it names and those that it changed: ken provenance shows what stands " +
			"behind each. The same run again adds its evidence to the claim that is there, and a run that ends otherwise supersedes it. Secrets " +
			"in the command line are left out. Whatever goes wrong with the recording, the command runs.\n\n" +
			"Test results are read from go test, pytest, jest, vitest, cargo test, rspec and TAP, and how many there were from the summary of the runner. For that, the command writes to a pipe; " +
			"--direct gives it the terminal itself.",
		Example: `  ken run -- go test ./...
  ken run --about payments --expires 30d -- make integration
  ken run --record-file run.json -- pytest -q`,
		DisableFlagsInUseLine: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return fmt.Errorf("run: COMMAND is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runAndRecord(cmd.Context(), args, &o) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringArrayVar(&o.about, "about", nil, "a named `THING` that this is about: a path, a symbol, an entity (repeatable)")
	f.StringVar(&o.expires, "expires", "", "the `TIME` when what is recorded ends: a length such as 12h or 30d, or a date")
	f.StringVar(&o.file, "record-file", "", "write what was recorded to this `FILE`, as JSON")
	f.BoolVar(&o.noRecord, "no-record", false, "run the command and record nothing")
	f.BoolVar(&o.direct, "direct", false, "give the command the terminal itself; its output is not looked at")
	a.CompleteFlag(cmd, "about", cli.EntityNames)
	return cmd
}

// runView is the record of a run, in JSON. It goes to standard error, because standard
// output belongs to the command.
type runView struct {
	Command     string          `json:"command"`
	ExitCode    int             `json:"exit_code"`
	Interrupted string          `json:"interrupted,omitempty"` // name of the signal
	DurationMS  int64           `json:"duration_ms"`
	Tests       runTests        `json:"tests"`
	Groups      runTests        `json:"groups"` // packages and files of tests
	Changed     observe.Changes `json:"changed"`
	Claims      []runClaim      `json:"claims"`
	Warning     string          `json:"warning,omitempty"` // why the record is incomplete
}

type runTests struct {
	Passed   int      `json:"passed"`
	Failed   int      `json:"failed"`
	Failing  []string `json:"failing,omitempty"`
	Complete bool     `json:"complete"` // the output names each of them
}

type runClaim struct {
	provenance.Recorded
	Text string `json:"text"`
}

func (a *commands) runAndRecord(ctx context.Context, args []string, o *runOptions) error {
	// A signal is meant for the command; the run is recorded even after one.
	ctx = context.WithoutCancel(ctx)
	root, err := a.Project()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return err
	}
	started := time.Now()
	var until time.Time
	if o.expires != "" {
		if until, err = cli.ParseExpiry(o.expires, started.UTC()); err != nil {
			return err
		}
	}
	var before *observe.Snapshot
	if !o.noRecord {
		before = observe.TakeSnapshot(ctx, root)
	}
	out := a.Out
	if w, ok := out.(interface{ Unwrap() io.Writer }); ok {
		out = w.Unwrap() // the program gets the file itself
	}
	signals, stop := observe.Signals()
	defer stop()
	s := observe.Report{Root: root, Dir: dir, About: o.targets(root, dir), ExpiresAt: until, Actor: ken.Actor{Type: "user", ID: cli.CurrentUser()},
		Result: observe.Run(observe.Command{Args: args, Dir: dir, Stdin: a.In, Stdout: out, Stderr: a.Err, Direct: o.direct, Signals: signals})}
	if s.Err != nil {
		fmt.Fprintf(a.Err, "ken: %s: %v\n", args[0], startError(s.Err))
	}
	if !o.noRecord {
		s.Changes = before.Changed(ctx)
		a.record(ctx, &s, o)
	}
	if s.Exit != 0 {
		return cli.ExitStatus(s.Exit)
	}
	return nil
}

// startError returns why a command could not be started, without the prefix that Go adds.
func startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return errors.New("command not found")
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// targets returns the names given by flags, with paths relative to the root.
func (o *runOptions) targets(root, dir string) (out []string) {
	for _, t := range o.about {
		if p, ok := fromRoot(root, dir, t); ok {
			t = p
		}
		out = append(out, t)
	}
	return out
}

// recordFor is the longest time that a recording takes.
const recordFor = time.Minute

// record stores the observed run and prints a summary. It prints errors and never fails.
func (a *commands) record(ctx context.Context, s *observe.Report, o *runOptions) {
	ctx, cancel := context.WithTimeout(ctx, recordFor)
	defer cancel()
	v := runView{Command: observe.Line(s.Args), ExitCode: s.Exit, DurationMS: s.Took.Milliseconds(), Changed: s.Changes, Claims: []runClaim{},
		Tests: runTests{Passed: s.Counts.Passed, Failed: s.Counts.Failed, Complete: s.Counts.Complete}, Groups: runTests{Complete: true}}
	if s.Interrupted != nil {
		v.Interrupted = s.Interrupted.String()
	}
	for _, t := range s.Tests {
		switch {
		case !t.Group && !t.Passed:
			v.Tests.Failing = append(v.Tests.Failing, clean.Text(t.Name))
		case !t.Group:
		case t.Passed:
			v.Groups.Passed++
		default:
			v.Groups.Failed++
			v.Groups.Failing = append(v.Groups.Failing, clean.Text(t.Name))
		}
	}
	var problems []string
	if s.Changes.Err != nil {
		problems = append(problems, fmt.Sprintf("which files were changed is not known: %v", s.Changes.Err))
	}
	if v.Changed.Files == nil {
		v.Changed.Files = []observe.File{}
	}
	quiet := *a.App
	quiet.Quiet = true // the command's output must not be mixed with progress
	err := quiet.WithStore(ctx, func(_ *middleware.Layer, st store.Engine) error {
		now := time.Now()
		for _, c := range s.Checks() {
			r, err := provenance.Record(ctx, st, c, now)
			if err != nil {
				return err
			}
			if r.Outcome != provenance.Nothing {
				v.Claims = append(v.Claims, runClaim{r, clean.Text(c.Statement)})
			}
		}
		return nil
	})
	if err != nil {
		problems = append(problems, fmt.Sprintf("not recorded: %v", err))
	}
	v.Warning = strings.Join(problems, "; ")
	if o.file != "" {
		if err := writeRecord(o.file, &v); err != nil {
			problems = append(problems, fmt.Sprintf("--record-file: %v", err))
		}
	}
	for _, p := range problems {
		fmt.Fprintf(a.Err, "ken: %s\n", p)
	}
	a.printRecorded(&v)
}

func writeRecord(name string, v *runView) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}

// summary says how many passed: ", 2 of 3 tests passed"; "" if there are none.
func (t *runTests) summary(what string) string {
	switch n := t.Passed + t.Failed; {
	case n == 0:
		return ""
	case t.Passed == 0 && !t.Complete: // those that passed have no name
		return fmt.Sprintf(", %s failed", cli.Count(n, what))
	default:
		return fmt.Sprintf(", %d of %s passed", t.Passed, cli.Count(n, what))
	}
}

// printRecorded prints what was recorded, on one line of standard error.
func (a *commands) printRecorded(v *runView) {
	if a.JSON {
		if b, err := json.Marshal(v); err == nil {
			fmt.Fprintf(a.Err, "%s\n", b)
		}
		return
	}
	if a.Quiet || len(v.Claims) == 0 {
		return
	}
	said := fmt.Sprintf("exit status %d", v.ExitCode)
	if v.Interrupted != "" {
		said = "interrupted (" + v.Interrupted + ")"
	}
	said += v.Tests.summary("test")
	if v.Tests.Passed == 0 && !v.Tests.Complete {
		said += v.Groups.summary("test group")
	}
	if n := len(v.Changed.Files) + v.Changed.More; n > 0 {
		said += ", " + cli.Count(n, "file") + " changed"
	}
	fmt.Fprintf(a.Err, "ken: recorded: %s; %s\n", said, cli.Count(len(v.Claims), "claim"))
}
