package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/knowledge/skill"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what every command shares: streams and the global flags.
type app struct {
	streams
	dir   string // --dir
	owner string // --owner
	json  bool   // --json
	quiet bool   // --quiet

	noticed  bool // what of the project does not count was said
	readable bool // the folder's files may be read
}

// run runs one command line and returns its exit status.
func run(ctx context.Context, args []string, s streams) int {
	a := &app{streams: s}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	return a.fail(err)
}

// usage marks an error as the caller's: exit status 2.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// silent is a failure that the command has already told about.
var errTold = errors.New("told already")

// fail prints an error, and what to try, and returns the exit status.
func (a *app) fail(err error) int {
	var u usage
	var other exitStatus
	switch {
	case errors.As(err, &other):
		return int(other)
	case errors.Is(err, errTold):
		return exitFailed
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.err, "ken: stopped")
		return exitFailed
	}
	fmt.Fprintf(a.err, "ken: %v\n", err)
	isUsage := errors.As(err, &u)
	switch hint := ken.Hint(err); {
	case hint != "":
		fmt.Fprintf(a.err, "Try: %s\n", hint)
	case isUsage:
		fmt.Fprintln(a.err, "Try: ken help, or the command with --help.")
	case errors.Is(err, os.ErrPermission):
		fmt.Fprintln(a.err, "Try: check the permissions of that path.")
	default:
		fmt.Fprintln(a.err, "Try: ken doctor.")
	}
	if isUsage {
		return exitUsage
	}
	return exitFailed
}

// root builds the command tree.
func (a *app) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "ken",
		Short:         "The knowledge layer for LLM agents",
		Long:          "Ken decides before every model call what the agent should know for this turn, and keeps what was learned.",
		Version:       readBuild().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	f := cmd.PersistentFlags()
	f.StringVarP(&a.dir, "dir", "C", ".", "work in this folder's project")
	f.StringVar(&a.owner, "owner", "", "whose knowledge; default from the configuration")
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage{err} })
	cmd.AddCommand(a.commands()...)
	addCompletion(cmd)
	for _, c := range cmd.Commands() {
		wrapArgs(c)
	}
	return cmd
}

// onlySubcommands is for commands that take no arguments of their own: what is none
// of their subcommands is misspelled.
func onlySubcommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown command %q for %s", args[0], cmd.Name())
	}
	return nil
}

// wrapArgs makes complaints about arguments usage errors, for c and below.
func wrapArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage{err}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrapArgs(sub)
	}
}

// project is the root of the project that the command works in.
func (a *app) project() (string, error) {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return "", err
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return "", usagef("--dir: %s is not a folder", a.dir)
	}
	return repository.FindRoot(dir)
}

// layer opens the project's layer for one command: nothing runs in the
// background, and a store that can't be opened is an error.
func (a *app) layer(ctx context.Context, p *progress, change ...func(*middleware.Options)) (*middleware.Layer, error) {
	root, err := a.project()
	if err != nil {
		return nil, err
	}
	o := middleware.Options{Root: root, Strict: true, Foreground: true, Progress: p.update,
		Log: slog.New(logLines{a.err})}
	for _, f := range change {
		f(&o)
	}
	if o.Config == nil {
		r, err := a.resolve()
		if err != nil {
			return nil, err
		}
		a.notice(r)
		if !a.readable && tooWide(r) != nil {
			r.Config.Repository.Index, r.Config.Middleware.Graph = false, false
		}
		o.Config = &r.Config
	}
	return middleware.Open(ctx, o)
}

// withStore runs fn on the owner's store.
func (a *app) withStore(ctx context.Context, fn func(*middleware.Layer, store.Engine) error) error {
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p)
	if err != nil {
		return err
	}
	s, release, err := l.Store(ctx, a.owner)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	p.done()
	err = fn(l, s)
	release()
	return errors.Join(err, l.Close())
}

// printJSON writes v as indented JSON, without escaping what HTML would need.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// text is the command's text: its arguments, or standard input when there are
// none or the only one is "-".
func (a *app) text(args []string) (string, error) {
	s := strings.Join(args, " ")
	if len(args) == 0 || s == "-" {
		if len(args) == 0 && isTerminal(a.in) {
			return "", usagef("say what, or give - and write to standard input")
		}
		b, err := io.ReadAll(a.in)
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		s = string(b)
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", usagef("the text is empty")
	}
	return s, nil
}

// isTerminal reports whether a stream is a person's.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// shortest is how many characters of an id tables show, where its beginning
// names it.
const shortest = 8

// beginnings shortens ids to beginnings that tell each from all the others.
func beginnings(ids []string) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		n := min(shortest, len(id))
		for j, other := range ids {
			for i != j && n < len(id) && strings.HasPrefix(other, id[:n]) {
				n++
			}
		}
		out[i] = id[:n]
	}
	return out
}

// choices lists what may stand for a command's argument: a word, and after a tab
// what it is.
type choices func(ctx context.Context, l *middleware.Layer, s store.Engine) ([]string, error)

// completes completes a command's arguments, each from its own list. Without a store
// there is nothing to choose from, and none is made.
func (a *app) completes(lists ...choices) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		const noFiles = cobra.ShellCompDirectiveNoFileComp
		cfg, _, err := a.configuration()
		root, rootErr := a.project()
		if len(args) >= len(lists) || err != nil || rootErr != nil {
			return nil, noFiles
		}
		if _, err := os.Stat(filepath.Join(cfg.State(root), bolt.FolderName(cmp.Or(a.owner, cfg.Knowledge.Owner)))); err != nil {
			return nil, noFiles
		}
		quiet := &app{streams: streams{in: a.in, out: a.out, err: io.Discard}, dir: a.dir, owner: a.owner, quiet: true}
		var all []string
		err = quiet.withStore(cmd.Context(), func(l *middleware.Layer, s store.Engine) (err error) {
			all, err = lists[len(args)](cmd.Context(), l, s)
			return err
		})
		if err != nil {
			return nil, noFiles
		}
		var out []string
		for _, c := range all {
			if strings.HasPrefix(c, begun) {
				out = append(out, c)
			}
		}
		return out, noFiles
	}
}

func sessionIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := l.Journal(s.Owner()).List(ctx)
	for i := range all {
		out = append(out, all[i].ID+"\t"+all[i].Active.UTC().Format(minute)+", "+string(all[i].State))
	}
	return out, err
}

func jobIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := l.Jobs(s.Owner()).List(ctx)
	for i := range all {
		out = append(out, all[i].ID+"\t"+all[i].Kind+", "+string(all[i].State))
	}
	return out, err
}

func attentionIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, _, err := myDesk(l, s).Attention(ctx, false)
	for i := range all {
		out = append(out, all[i].ID+"\t"+all[i].Action)
	}
	return out, err
}

func playbookNames(ctx context.Context, _ *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := playbooks(ctx, s, ken.RecallStatuses())
	for i := range all {
		if name, ok := strings.CutPrefix(all[i].Key, skill.KeyPrefix); ok {
			out = append(out, name+"\t"+cell(all[i].Heading))
		}
	}
	return out, err
}

// memoryIDs are the claims that MEMORY.md is about.
func memoryIDs(ctx context.Context, l *middleware.Layer, s store.Engine) (out []string, err error) {
	all, err := myDesk(l, s).Memory(ctx, true)
	for i := range all {
		out = append(out, all[i].ID+"\t"+fit(cell(all[i].Text), 60))
	}
	return out, err
}

// manyFiles is how many files of a folder that is no project are read without asking.
const manyFiles = 2000

// tooWide says why the files of the folder at hand are not read without a word from the
// user; nil when they are. What is no project may be all that somebody has.
func tooWide(r *config.Resolved) *ken.Error {
	if _, err := os.Lstat(filepath.Join(r.Root, ".ken", "config.yaml")); err == nil {
		return nil // ken init wrote it, or a repository has it
	}
	const try = "Go to a project's folder, or run ken init here to make this one."
	if trust.IsHome(r.Root) {
		return &ken.Error{Code: ken.CodeRefused, Msg: r.Root + " is a home folder, or holds one: Ken does not read its files by itself", Try: try}
	}
	if repository.IsProject(r.Root) || files(r.Root) <= manyFiles {
		return nil
	}
	return &ken.Error{Code: ken.CodeRefused, Msg: fmt.Sprintf("%s is no project, and has more than %d files", r.Root, manyFiles), Try: try}
}

// mayRead returns an error unless the files of the folder at hand may be read. On a
// terminal it asks where that is in doubt; a home folder is not read for a "yes" alone.
func (a *app) mayRead() error {
	r, err := a.resolve()
	if err != nil || a.readable || !r.Config.Repository.Index && !r.Config.Middleware.Graph {
		return err
	}
	wide := tooWide(r)
	if wide != nil && (trust.IsHome(r.Root) || !isTerminal(a.in)) {
		return wide
	}
	if wide != nil {
		fmt.Fprintf(a.err, "%s.\n", cell(wide.Msg))
		if err := a.agree("Read them all?", "Nothing was read."); err != nil {
			return err
		}
	}
	a.readable = true
	return nil
}

// readNothing is for processes that stay and can't ask: where mayRead would refuse, they
// work without the folder's files, keep their state elsewhere, and say so.
func readNothing(r *config.Resolved, say func(string)) error {
	wide := tooWide(r)
	if wide == nil {
		return nil
	}
	say(wide.Msg + ", so its files are not read. " + wide.Try)
	r.Config.Repository.Index, r.Config.Middleware.Graph = false, false
	return r.Elsewhere()
}

// files counts the files below a folder, as far as it matters whether there are many.
func files(root string) int {
	n, seen := 0, 0
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // what can't be read is not counted
		seen++
		switch {
		case n > manyFiles || seen > 20*manyFiles:
			n = max(n, manyFiles+1)
			return fs.SkipAll
		case err != nil:
			return nil
		case e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case e.Type().IsRegular():
			n++
		}
		return nil
	})
	return n
}
