package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/guardrail"
)

// Result is the outcome of a case.
type Result struct {
	Case     *Case
	Failures []Failure // none: the case is green
	Notes    []string  // what to know of the result besides
	Receipt  ken.Receipt
	Elapsed  time.Duration // wall clock
}

// OK reports a green case.
func (r *Result) OK() bool { return len(r.Failures) == 0 }

// Failure is an expectation that was not met.
type Failure struct {
	Check string   `json:"check"`         // the expectation's key, such as must_inject
	Want  string   `json:"want"`          // what was expected
	Have  []string `json:"have"`          // what was found instead, a line each; never empty
	Try   string   `json:"try,omitempty"` // what to do about it
}

// Run runs cases in their order and hands each result to each, which must not
// keep Result.Case's slices for changing. An error means that the cases could not
// be run, not that one is red: ErrHeld for a live store that another process has
// open, ErrInvalid for a configuration, an export or given claims that can't be
// used, and ctx's own.
func Run(ctx context.Context, list []Case, o Options, each func(Result)) (err error) {
	o, cfg, err := o.withDefaults()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "ken-cases-")
	if err != nil {
		return fmt.Errorf("make a folder for the cases: %w", err)
	}
	r := &runner{o: o, cfg: cfg, tmp: tmp}
	defer func() { err = errors.Join(err, r.close()) }()
	r.owners = owners(list, cfg.Knowledge.Owner)
	if o.Root != "" {
		files := append(slices.Clone(o.Unseen), o.Export)
		for i := range list {
			files = append(files, list[i].File)
		}
		slices.Sort(files)
		r.cfg.Repository.Exclude = slices.Concat(cfg.Repository.Exclude, unseen(o.Root, slices.DeleteFunc(slices.Compact(files), func(f string) bool { return f == "" })))
	}
	for i := range list {
		res, err := r.run(ctx, &list[i])
		if err != nil {
			return err
		}
		each(res)
		o.Progress("cases", i+1, len(list))
	}
	return nil
}

// runner is the state of one Run. It belongs to one goroutine.
type runner struct {
	o      Options
	cfg    config.Config
	tmp    string   // the folder that holds all of the run's stores
	owners []string // who takes part

	base    string   // the prepared base; "" until it is needed, or where there is none
	lacking []string // why part of the base is not searchable
	current *fixture // what the last case ran on
	made    int      // fixtures
	turns   int      // assembled
}

// owners lists whose stores a run may touch.
func owners(list []Case, configured string) []string {
	out := []string{configured}
	for i := range list {
		out = append(out, list[i].Owner, list[i].Want.Stranger)
		for _, g := range list[i].Given {
			out = append(out, g.Claim.Owner)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}

// owner fills in the configured one.
func (r *runner) owner(name string) string {
	if name == "" {
		return r.cfg.Knowledge.Owner
	}
	return name
}

func (r *runner) run(ctx context.Context, c *Case) (Result, error) {
	start := r.o.Now()
	f, err := r.fixture(ctx, c)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.where(), err)
	}
	res := Result{Case: c, Notes: slices.Clone(f.notes)}
	e := &examiner{r: r, f: f, c: c, res: &res, owner: r.owner(c.Owner)}
	if err := e.examine(ctx); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.where(), err)
	}
	res.Elapsed = r.o.Now().Sub(start)
	return res, nil
}

// where says where a case stands.
func (c *Case) where() string {
	return fmt.Sprintf("%s, line %d: %s", filepath.ToSlash(c.File), c.Line, c.Name)
}

func (r *runner) close() error {
	var err error
	if r.current != nil {
		err = r.current.layer.Close()
	}
	return errors.Join(err, os.RemoveAll(r.tmp))
}

// File is one file of cases.
type File struct {
	Path  string // as it was given to Load or Parse
	Cases []Case // never empty
}

// Case is one question and what must come of it. What the file says for all of
// its cases has been filled in.
type Case struct {
	File string // the file's path
	Line int    // where the case begins, from 1
	Name string // unique within its file

	Owner   string      // whose turn it is; "" is the configured owner
	Project string      // of the turn
	Scopes  []ken.Scope // of the turn; nil means the configured ones
	Now     time.Time   // when the turn takes place; zero is the present

	Given    []Given       // written first, in this order
	Alone    bool          // given was said, even if it is empty: see Options.GivenAlone
	Messages []ken.Message // at least one of them is the user's
	Want     Expectations
}

// Given is a claim that a case starts with.
type Given struct {
	Claim ken.Claim // Owner is "" for the configured one
	Line  int       // where it stands in the file, from 1
}

// Expectations are the conditions that a turn must meet. At least one is set.
type Expectations struct {
	Recall    []Matcher // must_recall: among the ranked candidates
	NotRecall []Matcher // must_not_recall
	Inject    []Matcher // must_inject: in front of the model
	NotInject []Matcher // must_not_inject

	BlockEmpty *bool    // block_empty: whether the turn gets no block; nil asks nothing
	MaxChars   int      // max_chars: most code points of the turn's block; 0 asks nothing
	Mode       ken.Mode // mode: how retrieval ran; "" asks nothing
	Stranger   string   // other_owner_sees_nothing: another owner; "" asks nothing
	Canaries   []string // canaries: texts that must be nowhere
}

// none reports that nothing is expected.
func (e *Expectations) none() bool {
	return len(e.Recall)+len(e.NotRecall)+len(e.Inject)+len(e.NotInject)+len(e.Canaries) == 0 &&
		e.BlockEmpty == nil && e.MaxChars == 0 && e.Mode == "" && e.Stranger == ""
}

// Options configures the store and the settings with which cases run. The zero value
// runs cases that bring all of their knowledge with them under given.
type Options struct {
	// Root is the project's folder. Where there is a base, the project's files are
	// searchable as the configuration says. "" is no project.
	Root string
	// Config is the configuration in force; nil is the default one.
	Config *config.Config
	// Embedder is used instead of the configured one.
	Embedder embed.Embedder

	// The base is what is known before given is written: State, the folder of a
	// live store (knowledge.db_path), which is copied, or Export, a file as ken
	// export writes it, whose claims go to the owners that they name. At most one
	// is set; none is an empty base.
	State, Export string
	// GivenAlone starts cases that have given, even an empty one, from nothing
	// instead of the base.
	GivenAlone bool

	// Unseen are files of the project that cases must not find, beside the cases'
	// own and the export, which they never do: reports of runs before, for one.
	Unseen []string

	// Progress is told about long work. May be nil.
	Progress func(stage string, done, total int)
	// Log hears what the layer has to tell besides. Nil: nobody.
	Log *slog.Logger
	// Now dates cases that name no moment, and measures how long each takes.
	// Default time.Now.
	Now func() time.Time
}

// longest is the most that retrieval.deadline may be: see the package comment.
const longest = 30 * time.Second

// withDefaults fills in what is missing and returns the configuration that cases
// run with: a copy whose paths don't depend on a folder of the test's own.
func (o Options) withDefaults() (Options, config.Config, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.State != "" && o.Export != "" {
		return o, config.Config{}, &ken.Error{Code: ken.CodeInvalid, Msg: "a live store and an export", Try: "Give one of the two."}
	}
	cfg := config.Default()
	if o.Config != nil {
		cfg = *o.Config
	}
	cfg.Retrieval.Deadline = longest
	cfg.Middleware.Events = false
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, cfg, err
	}
	if p := cfg.Knowledge.EmbedPath; p != "" && !filepath.IsAbs(p) {
		cfg.Knowledge.EmbedPath = filepath.Join(root, p)
	}
	return o, cfg, nil
}

// WriteText tells a person what came of the cases: a line for each, what is wrong
// with the red ones, and a count. color is for terminals.
func WriteText(w io.Writer, results []Result, color bool) error {
	b := bufio.NewWriter(w)
	red, green, end := "", "", ""
	if color {
		red, green, end = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	}
	failed := 0
	for i := range results {
		r := &results[i]
		if r.OK() {
			fmt.Fprintf(b, "%sok%s    %s\n", green, end, printable(r.Case.Name))
		} else {
			failed++
			fmt.Fprintf(b, "%sFAIL%s  %s  (%s:%d)\n", red, end, printable(r.Case.Name), r.Case.File, r.Case.Line)
			fmt.Fprint(b, r.Explain("      "))
		}
		for _, n := range r.Notes {
			fmt.Fprintf(b, "      note: %s\n", printable(n))
		}
	}
	fmt.Fprintf(b, "%d %s: %d green, %d red\n", len(results), plural("case", len(results)), len(results)-failed, failed)
	return b.Flush()
}

// Explain describes what failed, each line led by indent; "" for a case that passed.
func (r *Result) Explain(indent string) string {
	var b strings.Builder
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "%s%s\n%s  want  %s\n", indent, f.Check, indent, printable(f.Want))
		for i, h := range f.Have {
			label := "have"
			if i > 0 {
				label = "    "
			}
			fmt.Fprintf(&b, "%s  %s  %s\n", indent, label, printable(h))
		}
		if f.Try != "" {
			fmt.Fprintf(&b, "%s  Try:  %s\n", indent, printable(f.Try))
		}
	}
	return b.String()
}

// printable is text in one line, without what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF: // the last two are no characters, in XML either
			return -1
		}
		return r
	}, s)
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// Matcher says which claims an expectation is about. Exactly one of the first
// five fields is set.
type Matcher struct {
	ID     string         // the claim's id, or its end, at least six characters, as blocks show it
	Key    string         // the claim's key
	Source string         // what the claim's source begins with, such as docs/adr/
	Text   string         // contained in heading or text; case and white space don't count
	Regexp *regexp.Regexp // matches heading or text

	// Within is the worst rank that will do, from 1; 0 accepts any. must_recall
	// alone has it.
	Within int
}

// leastID is how much of an id's end names a claim: blocks show that much.
const leastID = 6

// Matches reports whether m means the claim.
func (m *Matcher) Matches(c *ken.Claim) bool {
	switch {
	case m.ID != "":
		return strings.HasSuffix(c.ID, strings.ToLower(m.ID))
	case m.Key != "":
		return c.Key == m.Key
	case m.Source != "":
		return strings.HasPrefix(c.Source, m.Source)
	}
	return m.in(c.Heading) || m.in(c.Text)
}

// in reports whether text has what a matcher of texts looks for.
func (m *Matcher) in(text string) bool {
	if m.Regexp != nil {
		return m.Regexp.MatchString(text)
	}
	return m.Text != "" && strings.Contains(plain(text), plain(m.Text))
}

// textual reports whether m looks at words rather than at names.
func (m *Matcher) textual() bool { return m.Text != "" || m.Regexp != nil }

// String shows the matcher as the file has it.
func (m Matcher) String() string {
	switch {
	case m.ID != "":
		return "id " + m.ID
	case m.Key != "":
		return "key " + m.Key
	case m.Source != "":
		return "source " + m.Source
	case m.Regexp != nil:
		return "regexp " + m.Regexp.String()
	}
	return fmt.Sprintf("text %q", m.Text)
}

// plain is text as it is compared: without invisible characters, in small
// letters, with single spaces.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(guardrail.Sanitize(text))), " ")
}

// MarshalJSON writes what a program needs of a result: where the case stands, and
// what is wrong with it.
func (r Result) MarshalJSON() ([]byte, error) {
	failures, notes := r.Failures, r.Notes
	if failures == nil {
		failures = []Failure{}
	}
	if notes == nil {
		notes = []string{}
	}
	return json.Marshal(struct {
		File     string    `json:"file"`
		Line     int       `json:"line"`
		Name     string    `json:"name"`
		OK       bool      `json:"ok"`
		Mode     string    `json:"mode"`
		Chars    int       `json:"chars"` // of the turn's block
		Failures []Failure `json:"failures"`
		Notes    []string  `json:"notes"`
	}{r.Case.File, r.Case.Line, r.Case.Name, r.OK(), string(r.Receipt.Mode), r.Receipt.Chars, failures, notes})
}
