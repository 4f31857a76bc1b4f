package cases

import (
	"bufio"
	"cmp"
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

// Result is the result of a case.
type Result struct {
	Case     *Case
	Failures []Failure // empty if the case passed
	Notes    []string  // additional notes on the result
	Receipt  ken.Receipt
	Elapsed  time.Duration // wall clock
}

// OK reports whether the case passed.
func (r *Result) OK() bool { return len(r.Failures) == 0 }

// Failure is an expectation that was not met.
type Failure struct {
	Check string   `json:"check"`         // the expectation's key, such as must_inject
	Want  string   `json:"want"`          // what was expected
	Have  []string `json:"have"`          // what was found instead, one line per entry; never empty
	Try   string   `json:"try,omitempty"` // what the user should do
}

// Run runs cases in order and passes each result to each, which must not modify the
// slices of Result.Case. A case that fails is not an error. Errors mean that the cases
// could not be run: ErrHeld for a live store that another process has open, ErrInvalid
// for a configuration, an export or given claims that can't be used, and ctx's own.
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
		r.cfg.Repository.Exclude = slices.Concat(cfg.Repository.Exclude, excludePatterns(o.Root, slices.DeleteFunc(slices.Compact(files), func(f string) bool { return f == "" })))
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

// runner is the state of one Run. It must not be used concurrently.
type runner struct {
	o      Options
	cfg    config.Config
	tmp    string   // folder of all stores of the run
	owners []string // owners of the cases

	base    string   // the prepared base; "" if there is none yet, or none at all
	lacking []string // why parts of the base are not searchable
	current *fixture // the fixture of the last case
	made    int      // number of fixtures
	turns   int      // number of turns
}

// owners returns the owners whose stores a run may use.
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

// owner returns name, or the configured owner if it is empty.
func (r *runner) owner(name string) string { return cmp.Or(name, r.cfg.Knowledge.Owner) }

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

// where returns the file, line and name of a case.
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

// Case is one question and the expected result. It includes what the file sets for all
// of its cases.
type Case struct {
	File string // the file's path
	Line int    // where the case begins, from 1
	Name string // unique within its file

	Owner   string      // owner of the turn; "" is the configured owner
	Project string      // of the turn
	Scopes  []ken.Scope // of the turn; nil means the configured ones
	Now     time.Time   // time of the turn; zero is the current time

	Given    []Given       // written first, in this order
	Alone    bool          // the case has given, possibly empty: see Options.GivenAlone
	Messages []ken.Message // at least one is a user message
	Want     Expectations
}

// Given is a claim that exists before a case.
type Given struct {
	Claim ken.Claim // Owner is "" for the configured one
	Line  int       // line in the file, from 1
}

// Expectations are the conditions that a turn must meet. At least one is set.
type Expectations struct {
	Recall    []Matcher // must_recall: among the ranked candidates
	NotRecall []Matcher // must_not_recall
	Inject    []Matcher // must_inject: in the model's input
	NotInject []Matcher // must_not_inject

	BlockEmpty *bool    // block_empty: whether the turn gets no block; nil checks nothing
	MaxChars   int      // max_chars: maximum number of code points of the turn's block; 0 checks nothing
	Mode       ken.Mode // mode: how retrieval ran; "" checks nothing
	Stranger   string   // other_owner_sees_nothing: another owner; "" checks nothing
	Canaries   []string // canaries: texts that must not occur anywhere
}

// none reports whether there are no expectations.
func (e *Expectations) none() bool {
	return len(e.Recall)+len(e.NotRecall)+len(e.Inject)+len(e.NotInject)+len(e.Canaries) == 0 &&
		e.BlockEmpty == nil && e.MaxChars == 0 && e.Mode == "" && e.Stranger == ""
}

// Options configures the store and the settings of a run. The zero value runs cases
// whose knowledge is all under given.
type Options struct {
	// Root is the project's folder. If there is a base, the project's files are
	// searchable as configured. "" means no project.
	Root string
	// Config is the configuration; nil is the default one.
	Config *config.Config
	// Embedder is used instead of the configured one.
	Embedder embed.Embedder

	// State and Export set the base: what is known before given is written. State is
	// the folder of a live store (knowledge.db_path), which is copied. Export is a file
	// written by ken export, whose claims go to the owners that they name. At most one
	// may be set; if none is set, the base is empty.
	State, Export string
	// GivenAlone starts cases that have given, even an empty one, with an empty store
	// instead of the base.
	GivenAlone bool

	// Unseen lists files of the project that cases must not find, such as reports of
	// earlier runs. The files of the cases and the export are always excluded.
	Unseen []string

	// Progress is called with the progress of long work. May be nil.
	Progress func(stage string, done, total int)
	// Log receives the layer's log messages; nil discards them.
	Log *slog.Logger
	// Now is the time of cases that don't set one, and the clock for their durations.
	// Default time.Now.
	Now func() time.Time
}

// maxDeadline is the maximum of retrieval.deadline: see the package comment.
const maxDeadline = 30 * time.Second

// withDefaults fills in defaults and returns the configuration of the run: a copy whose
// paths are independent of the test's folder.
func (o Options) withDefaults() (Options, config.Config, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
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
	cfg.Retrieval.Deadline = maxDeadline
	cfg.Middleware.Events = false
	if o.State == "" && cfg.Structure.Scorer == config.ScorerAuto { // one turn in twenty would swap two items at random
		cfg.Structure.Scorer = config.ScorerOff
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return o, cfg, err
	}
	if p := cfg.Knowledge.EmbedPath; p != "" && !filepath.IsAbs(p) {
		cfg.Knowledge.EmbedPath = filepath.Join(root, p)
	}
	return o, cfg, nil
}

// WriteText writes the results for a person: a line for each case, the failures, and a
// count. color adds terminal colours.
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

// Explain describes the failures, each line prefixed by indent; "" for a case that
// passed.
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

// printable returns a text in one line, without control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF: // the last two are invalid, also in XML
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

// Matcher selects claims for an expectation. Exactly one of the first five fields is
// set.
type Matcher struct {
	ID     string         // the claim's id, or its end, at least six characters, as blocks show it
	Key    string         // the claim's key
	Source string         // prefix of the claim's source, such as docs/adr/
	Text   string         // contained in heading or text, ignoring case and white space
	Regexp *regexp.Regexp // matches heading or text

	// Within is the highest accepted rank, from 1; 0 accepts any. Only must_recall uses
	// it.
	Within int
}

// leastID is the minimum length of an id's end: blocks show that many characters.
const leastID = 6

// Matches reports whether m matches the claim.
func (m *Matcher) Matches(c *ken.Claim) bool {
	switch {
	case m.ID != "":
		return strings.HasSuffix(c.ID, m.ID)
	case m.Key != "":
		return c.Key == m.Key
	case m.Source != "":
		return strings.HasPrefix(c.Source, m.Source)
	}
	return m.in(c.Heading) || m.in(c.Text)
}

// in reports whether text contains the text or regular expression of m.
func (m *Matcher) in(text string) bool {
	if m.Regexp != nil {
		return m.Regexp.MatchString(text)
	}
	return m.Text != "" && strings.Contains(plain(text), plain(m.Text))
}

// textual reports whether m matches text instead of ids, keys or sources.
func (m *Matcher) textual() bool { return m.Text != "" || m.Regexp != nil }

// String formats the matcher as in the file.
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

// plain normalizes a text for comparison: without invisible characters, in lower case,
// with single spaces.
func plain(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(guardrail.Sanitize(text))), " ")
}

// MarshalJSON encodes what a program needs of a result: the place of the case, and its
// failures.
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		File     string    `json:"file"`
		Line     int       `json:"line"`
		Name     string    `json:"name"`
		OK       bool      `json:"ok"`
		Mode     string    `json:"mode"`
		Chars    int       `json:"chars"` // of the turn's block
		Failures []Failure `json:"failures"`
		Notes    []string  `json:"notes"`
	}{r.Case.File, r.Case.Line, r.Case.Name, r.OK(), string(r.Receipt.Mode), r.Receipt.Chars,
		append([]Failure{}, r.Failures...), append([]string{}, r.Notes...)})
}
