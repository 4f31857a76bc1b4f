package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/code/repository"
	"github.com/kenlayer/ken/internal/plainyaml"
	"github.com/kenlayer/ken/internal/projectfile"
	"github.com/kenlayer/ken/internal/spelling"
)

// Never switches a rule of a policy off.
const Never = -1

// Policy says how many days things are kept. Never, or any value below 0, keeps them
// permanently. Default returns the usual values. The zero value is no useful policy,
// since it removes most things at once.
type Policy struct {
	MemoryReinforceWindowDays int // after this time, approved patterns that were not seen again become candidates
	ConfidenceDecayDays       int // after this time without new evidence, verified claims count as inferred; 0 leaves it to the configuration, see Decay
	ArchiveDecisionsDays      int // files of superseded decisions, counted from the last change of the file
	ArchiveSupersededDays     int // counted from the supersession of a claim
	ArchiveExpiredDays        int // counted from the expiry of a claim
	JournalGraceDays          int // messages of a session, counted from its harvest
	DoneJobsDays              int // completed jobs
	EventsDays                int // event files, counted from the last event
	SessionsDays              int // session records without messages
	EphemeralStateDays        int // state files that are marked ephemeral, counted from the last write
}

// Default returns the policy of a project without a policy file.
func Default() Policy {
	var p Policy
	for _, k := range keys {
		*k.at(&p) = k.fallback
	}
	return p
}

// JournalGrace returns how long the messages of a harvested session are kept. For a
// policy that keeps them permanently, it is a hundred years.
func (p Policy) JournalGrace() time.Duration { return days(p.JournalGraceDays) }

// Decay returns the policy with the number of days until a verified claim counts as
// inferred. It is the policy's own number or else the configured one, for which 0 means
// that nothing decays.
func (p Policy) Decay(configured int) Policy {
	if p.ConfidenceDecayDays == 0 {
		if p.ConfidenceDecayDays = configured; configured <= 0 {
			p.ConfidenceDecayDays = Never
		}
	}
	return p
}

const day = 24 * time.Hour

func days(n int) time.Duration {
	if n < 0 {
		return 100 * 365 * day
	}
	return time.Duration(n) * day
}

// cutoff returns the time that something must be older than. on is false for a rule that
// is switched off.
func cutoff(now time.Time, n int) (time.Time, bool) { return now.Add(-days(n)), n >= 0 }

// key is one setting of the file.
type key struct {
	name     string
	fallback int
	least    int // minimum value other than Never
	doc      string
	at       func(*Policy) *int
}

// maxDays is the maximum of every key: a hundred years.
const maxDays = 36500

var keys = []key{
	{"memory_reinforce_window_days", 90, 1, "An approved pattern that no session has seen again for so long becomes a candidate, to be reviewed anew. " +
		"Candidates stay as they are.", func(p *Policy) *int { return &p.MemoryReinforceWindowDays }},
	{"confidence_decay_days", 0, 0, "A verified claim without new evidence for so long counts as inferred. Nothing is written: a tier is computed when " +
		"it is needed. 0: as knowledge.decay_days in config.yaml says, which is 90 by default.",
		func(p *Policy) *int { return &p.ConfidenceDecayDays }},
	{"archive_decisions_after_days", 30, 0, "The file of a decision that was superseded, and did not change for so long, moves to the folder archive " +
		"beside it. It can still be found there, but is no longer injected.", func(p *Policy) *int { return &p.ArchiveDecisionsDays }},
	{"archive_superseded_after_days", 30, 0, "A claim that was superseded so long ago is archived. Archived claims stay in the store, " +
		"and ken recall --archived finds them.", func(p *Policy) *int { return &p.ArchiveSupersededDays }},
	{"archive_expired_after_days", 0, 0, "A claim that expired so long ago is archived.", func(p *Policy) *int { return &p.ArchiveExpiredDays }},
	{"journal_grace_days", 7, 0, "The messages of a session are deleted so long after it was harvested.", func(p *Policy) *int { return &p.JournalGraceDays }},
	{"done_jobs_days", 30, 0, "Jobs that are done are forgotten after so long. Dead ones stay until somebody decides.", func(p *Policy) *int { return &p.DoneJobsDays }},
	{"events_days", 90, 0, "Files of events to which nothing was added for so long are deleted.", func(p *Policy) *int { return &p.EventsDays }},
	{"sessions_days", 365, 0, "What ken sessions shows of a harvested session is forgotten after so long, counted from its end.",
		func(p *Policy) *int { return &p.SessionsDays }},
	{"ephemeral_state_days", 0, 0, "State files that .ken/.kenignore names are deleted when nothing was written to them for so long.",
		func(p *Policy) *int { return &p.EphemeralStateDays }},
}

// FileName is the name of the policy file in the project's knowledge folder.
const FileName = "lifecycle.yaml"

// maxBytes is the maximum size of the file, which limits the cost of parsing hostile
// nesting. The documented example is a tenth of that.
const maxBytes = 32 << 10

// Load reads the policy file at path. Without a file, it returns Default. An ErrInvalid
// names the key and, in its message, file and line. A file with any invalid line is
// refused as a whole: a misspelled key must not be replaced by a shorter default.
func Load(path string) (Policy, error) {
	b, err := projectfile.ReadFile(path, maxBytes)
	switch {
	case errors.Is(err, projectfile.ErrTooLarge):
		d := decoder{file: path}
		return Policy{}, d.tooLarge()
	case errors.Is(err, fs.ErrNotExist):
		return Default(), nil
	case err != nil:
		return Policy{}, fmt.Errorf("read lifecycle policy: %w", err)
	}
	return parse(path, b)
}

func parse(file string, b []byte) (Policy, error) {
	d := decoder{file: file, policy: Default(), lines: map[string]int{}}
	if err := d.decode(bytes.TrimPrefix(b, []byte("\uFEFF"))); err != nil {
		return Policy{}, err
	}
	return d.policy, nil
}

type decoder struct {
	file   string
	policy Policy
	lines  map[string]int // line number of each key
}

func (d *decoder) decode(b []byte) error {
	switch {
	case len(b) > maxBytes:
		return d.tooLarge()
	case !utf8.Valid(b):
		return d.wrong(0, "", "not valid UTF-8", "Save the file as UTF-8.")
	}
	// Repeated keys are allowed here because set reports them with both lines.
	tree, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return d.syntax(err)
	}
	seen := false
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue
		}
		entries, ok := doc.Body.(ast.MapNode)
		switch {
		case seen:
			return d.wrong(plainyaml.Line(doc.Body), "", "a second document", "Keep the settings above the line --- and delete the rest.")
		case !ok:
			return d.wrong(plainyaml.Line(doc.Body), "", "not a list of settings", "Write one setting a line, as in journal_grace_days: 7.")
		}
		seen = true
		for it := entries.MapRange(); it.Next(); {
			if err := d.set(it.Key(), it.Value()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) tooLarge() error {
	return d.wrong(0, "", fmt.Sprintf("a lifecycle policy has at most %d bytes", maxBytes), "Check that this is the right file.")
}

// set parses one line "name: value".
func (d *decoder) set(name ast.MapKeyNode, value ast.Node) error {
	at := plainyaml.Line(name)
	s, ok := name.(*ast.StringNode)
	if !ok {
		return d.wrong(at, "", "a key that is not a plain name", "Write keys as plain words: anchors, tags and merges are not supported.")
	}
	if first, dup := d.lines[s.Value]; dup {
		return d.wrong(at, s.Value, "set again after line "+strconv.Itoa(first), "Keep one of the two.")
	}
	d.lines[s.Value] = at
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == s.Value })
	if i < 0 {
		return d.wrong(at, s.Value, "unknown key", suggest(s.Value))
	}
	k := &keys[i]
	n, ok := parseNumber(value)
	if !ok || n != Never && (n < k.least || n > maxDays) {
		return d.wrong(at, k.name, shown(value)+" is not "+k.want(), "Write "+k.want()+", or delete the line for "+strconv.Itoa(k.fallback)+".")
	}
	*k.at(&d.policy) = n
	return nil
}

func (k *key) want() string {
	return fmt.Sprintf("a whole number of days from %d to %d, or %d for never", k.least, maxDays, Never)
}

// parseNumber parses a decimal number. goccy/go-yaml returns a uint64 for a number without a
// sign, and an int64 for one with a sign.
func parseNumber(n ast.Node) (int, bool) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		return 0, false
	}
	v, err := strconv.Atoi(fmt.Sprint(i.GetValue()))
	return v, err == nil
}

// shown returns a value in the form for a message.
func shown(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		return "an anchor, alias or tag"
	}
	const longest = 40
	text := "the value"
	if tk := n.GetToken(); tk != nil {
		text = strings.Join(strings.Fields(tk.Value), " ")
	}
	if r := []rune(text); len(r) > longest {
		text = string(r[:longest]) + "…"
	}
	return strconv.Quote(text)
}

// suggest returns the key with the most similar spelling. At most a third of the letters
// may differ.
func suggest(name string) string {
	best, lowest := "", len(name)/3+1
	var all []string
	for _, k := range keys {
		all = append(all, k.name)
		if n := spelling.Distance(name, k.name); n < lowest {
			best, lowest = k.name, n
		}
		if strings.TrimSuffix(k.name, "_days") == name {
			best, lowest = k.name, 0
		}
	}
	if best != "" {
		return "Use " + best + "."
	}
	return "Use one of " + strings.Join(all, ", ") + "."
}

// syntax translates the parser's error, whose own text would contain lines of the file.
func (d *decoder) syntax(err error) error {
	msg, at := plainyaml.Syntax(err)
	return d.wrong(at, "", msg, "Check the indentation and the quotes around that line.")
}

// wrong returns an error with its position; line 0 means unknown.
func (d *decoder) wrong(line int, field, msg, try string) error {
	place := d.file
	if line > 0 {
		if place != "" {
			place += ":"
		} else {
			place = "line "
		}
		place += strconv.Itoa(line)
	}
	if place != "" {
		msg += " (" + place + ")"
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

// IgnoreName is the file in the project's .ken folder that lists ephemeral state, in the
// syntax of .gitignore and relative to that folder.
const IgnoreName = ".kenignore"

const (
	kindState = "state"
	stateDir  = "state"

	maxIgnore = 1 << 20 // bytes
	maxDepth  = 16      // folders below state
)

// state plans the deletion of state files that are marked ephemeral. Whatever is marked,
// it considers only regular files below the folder state, and leaves out protected ones.
func (w *planner) state(ctx context.Context) error {
	limit, on := cutoff(w.now, w.p.EphemeralStateDays)
	if w.d.KenDir == "" || !on {
		return nil
	}
	root, err := os.OpenRoot(w.d.KenDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close() // it was only read
	marks, err := readMarks(root)
	if err != nil || marks.Empty() {
		return err
	}
	return eachState(ctx, root, func(name string, info fs.FileInfo) {
		if !marks.Matches(name, false) || info.ModTime().After(limit) {
			return
		}
		w.add(Change{Rule: DeleteEphemeral, Kind: kindState, ID: name, What: fmt.Sprintf("%s, %d bytes", name, info.Size()), From: "file", To: "deleted",
			Why: IgnoreName + " names it; last written " + sinceText(w.now, info.ModTime()), Due: info.ModTime().Add(days(w.p.EphemeralStateDays)),
			seen: info.ModTime(), size: info.Size()})
	})
}

// readMarks reads the list of ephemeral state. It is empty if the file does not exist or
// is a link.
func readMarks(root *os.Root) (repository.Ignore, error) {
	info, err := root.Lstat(IgnoreName)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !info.Mode().IsRegular():
		return repository.Ignore{}, nil
	case err != nil:
		return repository.Ignore{}, err
	case info.Size() > maxIgnore:
		return repository.Ignore{}, fmt.Errorf("%s has %d bytes, more than any list of marks", IgnoreName, info.Size())
	}
	b, err := root.ReadFile(IgnoreName)
	return repository.ParseIgnore(string(b)), err
}

// eachState calls see with every regular file below state that is not protected. Links
// are not followed.
func eachState(ctx context.Context, root *os.Root, see func(name string, info fs.FileInfo)) error {
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			return nil
		}
		var entries []fs.DirEntry
		if err == nil {
			entries, err = fs.ReadDir(root.FS(), dir)
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case isProtected(e.Name(), entries):
			case e.IsDir() && depth < maxDepth:
				if err := walk(name, depth+1); err != nil {
					return err
				}
			case e.Type().IsRegular():
				info, err := e.Info()
				if err == nil {
					see(name, info)
				}
			}
		}
		return nil
	}
	return walk(stateDir, 0)
}

// isProtected reports whether a file is never ephemeral, whatever is marked: gc's
// archives, files that people review, locks and liveness files, files that keep state
// out of git, the graph of the code, an adapted embedder, and in an owner's folder the
// log and its projections.
func isProtected(name string, siblings []fs.DirEntry) bool {
	switch {
	case slices.Contains([]string{"MEMORY.md", ".gitignore", "repository.graph", "embedder.ken", "embedder.json"}, name), strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".lock") || name == ".processes"),
		strings.Contains(name, "provenance") && strings.Contains(name, "archive"), strings.HasPrefix(name, "ken.db"), strings.HasSuffix(name, ".sock"):
		return true
	}
	owner := slices.ContainsFunc(siblings, func(e fs.DirEntry) bool { return e.Name() == "ken.db" })
	return owner && (name == "index" || name == "vectors" || name == "holder.json" || strings.HasSuffix(name, ".lock"))
}

// erase deletes a state file, if it has not changed since the plan.
func (a *applier) erase(c *Change) (done bool, err error) {
	if a.d.KenDir == "" || !strings.HasPrefix(c.ID, stateDir+"/") || !fs.ValidPath(c.ID) {
		return false, nil
	}
	root, err := os.OpenRoot(a.d.KenDir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for i := range c.ID { // a folder may have been replaced by a link
		if c.ID[i] != '/' {
			continue
		}
		if info, err := root.Lstat(c.ID[:i]); err != nil || !info.IsDir() {
			return errors.Is(err, fs.ErrNotExist), nil
		}
	}
	info, err := root.Lstat(c.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular() || !info.ModTime().Equal(c.seen) || info.Size() != c.size:
		return false, nil
	}
	return true, root.Remove(c.ID)
}

// IgnoreExample returns the content of a file IgnoreName that marks nothing and explains
// the syntax.
func IgnoreExample() string {
	return `# State that "ken knowledge gc --apply" deletes, in the notation of .gitignore and
# relative to this folder. Only files below state/ can be named here; the log, the
# indexes and what is archived are never deleted. "ken knowledge gc" shows what would go.
#
# state/events/
# state/**/*.tmp
`
}
