package memory

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/store/foreign"
	"github.com/kenlayer/ken/internal/store/jsonl"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type importOptions struct {
	from, rejects         string
	dryRun, schema, vouch bool

	seen map[string]bool // keys read so far
}

func (a *commands) importCommand() *cobra.Command {
	o := importOptions{seen: map[string]bool{}}
	cmd := &cobra.Command{
		Use:   "import FILE|FOLDER|-…",
		Short: "Import claims as JSON lines, and the memory of other tools",
		Long: "Read claims from JSON lines, as ken export writes them, and the memory of other tools: exports of mem0, Zep, Letta and " +
			"ChatGPT, the rule files of Claude Code, Codex and Cursor, folders of Markdown notes, and CSV. The format is detected from the " +
			"file; --from overrides that. Importing the same file again changes nothing. The claims become the owner's.\n\n" +
			"What is imported reads as facts and candidate rules; ken memory review approves those. Your own rule files, such as " +
			"~/.claude/CLAUDE.md, count as your own word, and --vouch does so for any file: their rules are rules at once. " +
			"Files of ken export are imported completely, with their rules.\n\n" +
			"Lines that can't be read are reported, each kind of problem once, and the rest is imported; the exit status is then 1. If it is stopped, " +
			"complete batches are imported and the rest is not.",
		Example: `  ken import claims.jsonl
  ken import --dry-run ~/notes
  ken import --from claude-code --vouch CLAUDE.md AGENTS.md
  ken import --rejects bad.jsonl conversations.json
  ken export --owner alice | ken import --owner bob -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.schema {
				return nil
			}
			return cli.AtLeastOne("import: FILE is missing; - is standard input")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.schema {
				b, err := jsonl.Schema()
				if err == nil {
					_, err = a.Out.Write(b)
				}
				return err
			}
			return a.importFiles(cmd.Context(), args, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "the `FORMAT`: "+formatNames())
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be imported, and write nothing")
	f.StringVar(&o.rejects, "rejects", "", "write what was refused into `FILE`, as JSON lines to mend")
	f.BoolVar(&o.vouch, "vouch", false, "what the files say is your own word, rules included")
	f.BoolVar(&o.schema, "schema", false, "print the JSON schema of a claim")
	cli.CompleteWords(cmd, "from", cli.Words(foreign.Formats())...)
	return cmd
}

func formatNames() string { return strings.Join(cli.Words(foreign.Formats()), ", ") }

type importSource struct {
	path   string
	name   string // for messages and sources, see sourceName
	format foreign.Format
}

func (a *commands) importFiles(ctx context.Context, files []string, o *importOptions) error {
	sources, err := a.importSources(files, o)
	if err != nil {
		return err
	}
	return a.WithStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		p := a.Progress()
		defer p.Done()
		im := &importer{s: s, tell: a.Err, progress: p, keepRejects: o.rejects != ""}
		if o.dryRun {
			im.dry = a.showClaim
		}
		im.sum.Owner, im.sum.DryRun = s.Owner(), o.dryRun
		before, err := im.candidates(ctx)
		if err != nil {
			return err
		}
		err = a.importAll(ctx, im, sources, o)
		for len(im.flight) > 0 {
			im.settle()
		}
		err = errors.Join(im.stopped, err)
		if after, err := im.candidates(context.WithoutCancel(ctx)); err == nil && !o.dryRun {
			im.sum.Candidates = max(after-before, 0)
		}
		p.Done()
		if err == nil && ctx.Err() == nil && !o.dryRun {
			im.embed(ctx)
		}
		err = errors.Join(err, im.writeRejects(o.rejects))
		if a.JSON {
			err = errors.Join(err, a.PrintJSON(im.sum))
		} else {
			im.explain()
			fmt.Fprintln(a.Err, im.sum)
		}
		switch {
		case err != nil:
			return err
		case im.sum.Failed > 0:
			try := "Put those lines into a file with --rejects FILE, correct them there, and import that."
			if o.rejects != "" {
				try = "Correct the lines in " + o.rejects + ", and import that."
			}
			were := " were not imported"
			if im.sum.Failed == 1 {
				were = " was not imported"
			}
			return &ken.Error{Code: ken.CodeInvalid, Msg: cli.Count(im.sum.Failed, "line") + were, Try: try}
		}
		return ctx.Err()
	})
}

func (a *commands) showClaim(c *ken.Claim) {
	if a.JSON {
		return
	}
	what := claimKind(c)
	if c.Constraint {
		what = "rule"
	}
	a.PrintTable([]string{"", ""}, [][]string{{what, cli.Headline(c)}})
}

// importSources checks the files, so that a misspelled name is reported before anything is written.
func (a *commands) importSources(files []string, o *importOptions) (out []importSource, err error) {
	given := foreign.Format(o.from)
	if o.from != "" && !slices.Contains(foreign.Formats(), given) {
		return nil, cli.Invalid("--from", fmt.Sprintf("unknown format %q", o.from), "Use one of "+formatNames()+".")
	}
	root, err := a.Project()
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if fi, err := os.Stat(file); err == nil && fi.IsDir() {
			in, err := folderSources(root, file, given)
			if err != nil {
				return nil, err
			}
			out = append(out, in...)
			continue
		}
		if err := a.CheckInput(file); err != nil {
			return nil, err
		}
		name := file
		if file != "-" {
			name = sourceName(root, file)
		}
		out = append(out, importSource{file, name, given})
	}
	return out, nil
}

// sourceName returns the name that tells a file or folder from others: its path in the project, or
// outside of it its own name after that of the folder that holds it.
func sourceName(root, file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	dir, base := trust.Real(filepath.Dir(abs)), filepath.Base(abs)
	if rel, err := filepath.Rel(trust.Real(root), dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(filepath.Join(rel, base))
	}
	return path.Join(filepath.Base(dir), base)
}

// folderSources lists the files of a folder that can be imported.
func folderSources(root, dir string, format foreign.Format) (out []importSource, err error) {
	const most = 50_000
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	name := sourceName(root, dir)
	if trust.Real(root) == trust.Real(dir) {
		name = "."
	}
	var names []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == ".trash"):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if names = append(names, filepath.ToSlash(rel)); len(names) > most {
			err = &ken.Error{Code: ken.CodeRefused, Msg: fmt.Sprintf("%s holds more than %d files", dir, most), Try: "Name a folder further in."}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if format == "" {
		if format, err = foreign.GuessFolder(names); err != nil {
			return nil, &ken.Error{Code: ken.CodeNotFound, Msg: dir + " is a folder that can't be imported", Err: err}
		}
	}
	for _, file := range names {
		if foreign.Wanted(format, file) {
			out = append(out, importSource{filepath.Join(dir, filepath.FromSlash(file)), path.Join(name, file), format})
		}
	}
	if len(out) == 0 {
		return nil, &ken.Error{Code: ken.CodeNotFound, Msg: fmt.Sprintf("%s is a folder without files of the format %s", dir, format), Try: "Name the files."}
	}
	return out, nil
}

// importAll reads the files until they or ctx end. If ctx ends, an incomplete last batch is dropped.
func (a *commands) importAll(ctx context.Context, im *importer, sources []importSource, o *importOptions) error {
	for _, src := range sources {
		if err := a.importFile(ctx, im, src, o); err != nil {
			im.flush(ctx) // the files before it are valid
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	im.flush(ctx)
	return nil
}

func (a *commands) importFile(ctx context.Context, im *importer, src importSource, o *importOptions) error {
	in, err := a.OpenInput(ctx, src.path)
	if err != nil {
		return err
	}
	defer in.Close()
	var unknown error
	var looks foreign.Format
	var entries []foreign.Item // without an id
	read := false
	add := func(it *foreign.Item) {
		read = true
		if it.Unvouched {
			im.sum.Unvouched++
		}
		if it.Err == nil && it.History == nil && !o.vouch {
			it.Err = im.checkPersonsKey(ctx, &it.Claim)
		}
		if ctx.Err() != nil {
			return // the error is no fault of the line
		}
		im.add(ctx, src.path, it.Line)
	}
	for it := range untilDone(ctx, readSource(in, src, o, &looks, &unknown)) {
		switch {
		case im.stopped != nil:
			return nil
		case it.Skip != "":
			im.skip(it.Skip)
		case it.Err == nil && it.ByWords:
			entries = append(entries, it)
		default:
			add(&it)
		}
	}
	if ctx.Err() != nil {
		return nil // the reader may still write to unknown
	}
	if len(entries) > 0 && im.versions == nil {
		if im.versions, err = im.loadVersions(ctx); err != nil {
			return err
		}
	}
	if len(entries) > 0 {
		im.versions.match(entries)
	}
	for i := range entries {
		if im.stopped == nil {
			add(&entries[i])
		}
	}
	if unknown == nil && !read && looks != "" && looks != src.format {
		return cli.Invalid("--from", fmt.Sprintf("%s has no memory of the format %s", src.path, src.format), fmt.Sprintf("It looks like --from %s.", looks))
	}
	return unknown
}

// readSource yields a file's entries. It sets looks to the format that the first bytes have, if that
// can be told, and reads the file as that if none was named.
func readSource(in io.Reader, src importSource, o *importOptions, looks *foreign.Format, unknown *error) iter.Seq[foreign.Item] {
	return func(yield func(foreign.Item) bool) {
		br := bufio.NewReaderSize(in, foreign.Head)
		_, _ = br.Peek(1) // read one buffer; an error occurs again at the next read
		head, _ := br.Peek(br.Buffered())
		format, err := foreign.Guess(src.name, head)
		if src.format == "" {
			if src.format = format; err != nil {
				*unknown = err
				return
			}
		} else if len(head) > 0 {
			*looks = format
		}
		name := src.name
		if !src.format.Instructs() && src.format != foreign.Obsidian {
			name = path.Base(name) // an export is the same wherever it lies
		}
		options := foreign.Options{Name: name, Vouched: o.vouch, Seen: o.seen}
		if o.vouch || src.format == foreign.ChatGPT || src.format.Instructs() && ownRules(src.path) {
			options.Word = ken.FromHumanAssertion(cli.CurrentUser(), time.Time{}, "")
		}
		foreign.Read(br, src.format, options)(yield)
	}
}

// ownRules reports whether path is one of the files with the user's instructions for an agent in all
// projects. Only those are known to be the user's own words. A project's files may be anybody's, and
// agents, extensions and cloned repositories write to the other folders of an agent.
func ownRules(path string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	path = trust.Real(path)
	for _, file := range []string{".claude/CLAUDE.md", ".codex/AGENTS.md", ".codex/AGENTS.override.md", ".gemini/GEMINI.md"} {
		if trust.Real(filepath.Join(home, file)) == path {
			return true
		}
	}
	for _, folder := range []string{".claude/rules", ".cursor/rules"} {
		folder = trust.Real(filepath.Join(home, folder))
		if trust.Inside(folder, path) && !cloned(folder, path) {
			return true
		}
	}
	return false
}

// cloned reports whether folder, or a folder in it that contains path, is the root of a git repository.
// Both must be real paths.
func cloned(folder, path string) bool {
	for dir := filepath.Dir(path); trust.Inside(folder, dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
	}
	return false
}
