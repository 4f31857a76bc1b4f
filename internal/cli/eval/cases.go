package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/evals/cases"
	"github.com/kenlayer/ken/internal/evals/generate"
	"github.com/kenlayer/ken/internal/evals/report"
	"github.com/kenlayer/ken/internal/evals/sweep"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/internal/run/receipt"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type casesOptions struct {
	store, export, config string
	junit, run            string
}

func (a *commands) evalTestCommand() *cobra.Command {
	var o casesOptions
	cmd := &cobra.Command{
		Use:   "test FILE.yaml …",
		Short: "Run memory tests: what must and must not come of a question",
		Long: "Run the cases of YAML files, each as a turn: what is known, what is asked, what must be found and injected, and what must " +
			"not. docs/memory-tests.md describes the files. A case that brings its knowledge with it, under given, starts from nothing; " +
			"any other runs on a copy of the project's store, with the project's files as they are now. With --store or --export, every case " +
			"runs on a copy of that, given on top. No store is written to.\n\n" +
			"The exit status is 0 when every case is green, 1 when one is red, and 2 for a file that can't be used.",
		Example: `  ken eval test memory.yaml
  ken eval test --export claims.jsonl --junit memory.xml tests/*.yaml
  ken eval test --run 'retries|deploys' --json memory.yaml`,
		Args: cli.AtLeastOne("eval test: FILE.yaml is missing"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.evalTest(cmd.Context(), args, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.store, "store", "", "run on a copy of the store in this `FOLDER`, a project's or its state folder")
	f.StringVar(&o.export, "export", "", "run on the claims of this `FILE`, as ken export writes it")
	f.StringVar(&o.config, "config", "", "the configuration `FILE`; default the project's")
	f.StringVar(&o.junit, "junit", "", "write the results as JUnit XML to this `FILE`")
	f.StringVar(&o.run, "run", "", "only cases whose name matches this `REGEX`")
	return cmd
}

func (a *commands) evalTest(ctx context.Context, files []string, o *casesOptions) error {
	list, err := o.load(files)
	if err != nil {
		return cli.UsageError(err)
	}
	opts, err := a.casesOptions(o)
	if err != nil {
		return cli.UsageError(err)
	}
	p := a.Progress()
	defer p.Done()
	opts.Progress = p.Update
	var results []cases.Result
	err = cases.Run(ctx, list, opts, func(r cases.Result) { results = append(results, r) })
	p.Done()
	switch {
	case err == nil:
	case errors.Is(err, ken.ErrInvalid), errors.Is(err, ken.ErrNotFound), errors.Is(err, ken.ErrExists):
		return cli.UsageError(err) // invalid claims or an invalid export
	default:
		return err
	}
	if o.junit != "" {
		if err := writeFile(o.junit, func(w io.Writer) error { return cases.WriteJUnit(w, results) }); err != nil {
			return err
		}
	}
	red := 0
	for i := range results {
		if !results[i].OK() {
			red++
		}
	}
	if a.JSON {
		err = a.PrintJSON(map[string]any{"cases": results, "green": len(results) - red, "red": red})
	} else {
		err = cases.WriteText(a.Out, results, cli.IsTerminal(a.Out) && os.Getenv("NO_COLOR") == "")
	}
	if err == nil && red > 0 {
		err = cli.ErrReported
	}
	return err
}

// load reads the cases of the files that --run selects.
func (o *casesOptions) load(files []string) (list []cases.Case, err error) {
	only, err := regexp.Compile(o.run)
	if err != nil {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--run", Msg: err.Error(), Try: "Give a regular expression in the syntax of Go, such as 'retries|deploys'."}
	}
	for _, path := range files {
		f, err := cases.Load(path)
		if err != nil {
			return nil, err
		}
		list = append(list, f.Cases...)
	}
	list = slices.DeleteFunc(list, func(c cases.Case) bool { return !only.MatchString(c.Name) })
	if len(list) == 0 {
		return nil, &ken.Error{Code: ken.CodeInvalid, Field: "--run", Msg: fmt.Sprintf("no case has a name that matches %q", o.run), Try: "Leave --run away to see the names."}
	}
	return list, nil
}

func (a *commands) casesOptions(o *casesOptions) (opts cases.Options, err error) {
	if o.store != "" && o.export != "" {
		return opts, &ken.Error{Code: ken.CodeInvalid, Field: "--store", Msg: "given beside --export", Try: "Keep one of the two."}
	}
	r, err := a.ConfigurationOr(o.config)
	if err != nil {
		return opts, err
	}
	cfg := &r.Config
	cfg.Knowledge.Owner = cmp.Or(a.Owner, cfg.Knowledge.Owner)
	opts = cases.Options{Root: r.Root, Config: cfg, Export: o.export, Unseen: []string{o.junit}, Log: a.Logger()}
	switch {
	case o.export != "":
	case o.store != "":
		opts.State, err = stateFolder(o.store)
	default:
		opts.GivenAlone, opts.State = true, cfg.State(r.Root)
	}
	return opts, err
}

// stateFolder returns the folder of the owners' stores: dir, or the state folder in it.
func stateFolder(dir string) (string, error) {
	for _, d := range []string{dir, filepath.Join(dir, filepath.FromSlash(config.Default().Knowledge.DBPath))} {
		found, err := filepath.Glob(filepath.Join(d, "*", "ken.db"))
		if err == nil && len(found) > 0 {
			return d, nil
		}
	}
	return "", &ken.Error{Code: ken.CodeNotFound, Field: "--store", Msg: "no store in " + dir, Try: "Name a project's folder, or the one in its knowledge.db_path."}
}

type generateOptions struct {
	out               string
	n                 int
	seed              uint64
	kinds             []string
	model             string
	estimate, noIndex bool
}

// configuredModel is the value of --model without a name.
const configuredModel = "upstream.model"

func (a *commands) evalGenerateCommand() *cobra.Command {
	var o generateOptions
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make a question set from your own store and repository",
		Long: "Index the project, make questions of what its store holds, and write both as a data set for ken eval sweep, which then says " +
			"what is best on your own knowledge. The questions are made by rules: known items asked by keywords, by heading, as a question and " +
			"in other words, questions that nothing answers, and small talk. The same knowledge and --seed give the same set.\n\n" +
			"With --model, the chat model of upstream.base_url asks a question about each claim that was picked. What that takes is said first; " +
			"each request holds one claim's heading and text, and nothing that was withheld as a secret.\n\n" +
			"The set is written into one folder, readable by you alone and hidden from git, since it holds the knowledge itself. A set that was " +
			"made there before is replaced.",
		Example: `  ken eval generate
  ken eval generate --n 500 --seed 2 --out /tmp/questions
  ken eval generate --model --estimate
  ken eval generate --model=gpt-4o-mini --kinds question,absent`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 0 && o.model == configuredModel:
				return &ken.Error{Code: ken.CodeInvalid, Field: "--model", Msg: fmt.Sprintf("%q stands apart from it", args[0]), Try: "Write --model=" + args[0] + "."}
			case len(args) > 0:
				return fmt.Errorf("eval generate takes no argument such as %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalGenerate(cmd.Context(), &o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "the `FOLDER` to write; default .ken/eval in the project")
	f.IntVar(&o.n, "n", knownitem.DefaultN, "make `N` questions")
	f.Uint64Var(&o.seed, "seed", 1, "`N`: another one, other questions")
	f.StringSliceVar(&o.kinds, "kinds", nil, "only these `KINDS`: keyword, heading, question, paraphrase, absent, small_talk; default all")
	f.StringVar(&o.model, "model", "", "let a chat `MODEL` ask, by default the configured one; give another as --model=name")
	f.Lookup("model").NoOptDefVal = configuredModel
	f.BoolVar(&o.estimate, "estimate", false, "say what --model would take, and stop")
	f.BoolVar(&o.noIndex, "no-index", false, "use the existing index")
	return cmd
}

type generated struct {
	Out       string                 `json:"out,omitempty"`
	Records   int                    `json:"records"`
	Questions map[knownitem.Kind]int `json:"questions"`
	Lacking   map[knownitem.Kind]int `json:"lacking,omitzero"`
	Model     string                 `json:"model,omitempty"`
	Refused   int                    `json:"refused,omitempty"`
	Cost      *generate.Cost         `json:"cost,omitempty"`
	Next      string                 `json:"next,omitempty"`

	total    int
	noVector string // why only keyword search can be swept
}

func (a *commands) evalGenerate(ctx context.Context, o *generateOptions) error {
	if o.n < 1 {
		return cli.Usagef("--n: %d is less than 1", o.n)
	}
	if o.estimate && o.model == "" {
		return cli.Usagef("--estimate says what --model would take: give both")
	}
	if !o.noIndex {
		if err := a.ConfirmReading(ctx); err != nil {
			return err
		}
	}
	p := a.Progress()
	defer p.Done()
	l, err := a.Layer(ctx, p)
	if err != nil {
		return err
	}
	if err := checkModel(l.Config().Upstream, o); err != nil {
		return errors.Join(err, l.Close())
	}
	if !o.noIndex {
		err = a.Refresh(ctx, l, p)
	}
	var done generated
	if err == nil {
		done, err = a.generate(ctx, l, o, p)
	}
	p.Done()
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	return a.printGenerated(&done)
}

func checkModel(u config.Upstream, o *generateOptions) error {
	if o.model == "" || u.BaseURL != "" {
		return nil
	}
	return cli.Invalid("--model", "no chat model is configured", "Set upstream.base_url, or leave --model away: the rules need none.")
}

func (a *commands) generate(ctx context.Context, l *middleware.Layer, o *generateOptions, p *cli.Progress) (generated, error) {
	s, release, err := l.Store(ctx, a.Owner)
	if err != nil {
		return generated{}, err
	}
	defer release()
	src := generate.FromStore(s, ken.Filter{Now: time.Now(), MinTrust: l.Config().Retrieval.MinTrust})
	opts := generate.Options{N: o.n, Seed: o.seed, Progress: p.Update}
	for _, k := range o.kinds {
		opts.Kinds = append(opts.Kinds, knownitem.Kind(strings.TrimSpace(k)))
	}
	set, err := generate.Make(ctx, src, opts)
	if err != nil {
		if e := (*ken.Error)(nil); errors.As(err, &e) && e.Field == "kinds" {
			err = cli.UsageError(err)
		}
		return generated{}, err
	}
	var cost *generate.Cost
	if o.model != "" {
		if cost, err = a.reword(ctx, set, l, o, p); err != nil {
			return generated{}, err
		}
	}
	out := generated{Records: set.Records, Questions: set.Counts(), Lacking: set.Lacking, Model: set.Model, Refused: set.Refused,
		Cost: cost, total: len(set.Questions)}
	if o.estimate {
		return out, nil
	}
	out.Out = cmp.Or(o.out, filepath.Join(a.Dir, ".ken", "eval"))
	if err := set.Write(ctx, out.Out); err != nil {
		return generated{}, err
	}
	out.Next = "ken eval sweep --data " + out.Out
	if _, out.noVector = l.Operator().Retrieval(); out.noVector != "" {
		out.Next += " --modes keyword"
	}
	return out, nil
}

// reword prints an estimate of the model's cost, and lets the model reword the questions
// unless only the estimate was requested.
func (a *commands) reword(ctx context.Context, set *generate.Set, l *middleware.Layer, o *generateOptions, p *cli.Progress) (*generate.Cost, error) {
	name := o.model
	if name == configuredModel {
		name = ""
	}
	u := cli.NewModel(l.Config().Upstream, name)
	count, err := tokens.Counter(l.Config().Budget.Encoding)
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	cost := set.Estimate(count)
	p.Done()
	if !a.Quiet {
		fmt.Fprintf(a.Err, "ken: %d requests to %s at %s: about %d tokens to it, and %d from it\n",
			cost.Requests, u.Name, u.Config.BaseURL, cost.TokensIn, cost.TokensOut)
	}
	if o.estimate {
		return &cost, nil
	}
	seed := int(o.seed % (1 << 31))
	err = set.Reword(ctx, generate.Model{Name: u.Name, Ask: func(ctx context.Context, system, user string) (string, error) {
		return u.Answer(ctx, seed, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: system},
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: user})
	}})
	return &cost, err
}

func (a *commands) printGenerated(g *generated) error {
	if a.JSON {
		return a.PrintJSON(g)
	}
	if g.Out == "" { // only an estimate, which was printed
		return nil
	}
	fmt.Fprintf(a.Out, "%d questions about %d records in %s\n", g.total, g.Records, g.Out)
	for _, k := range append(knownitem.Kinds(), generate.KindModel) {
		if n := g.Questions[k]; n > 0 {
			fmt.Fprintf(a.Out, "%5d %s\n", n, k)
		}
	}
	for _, k := range knownitem.Kinds() {
		if n := g.Lacking[k]; n > 0 {
			fmt.Fprintf(a.Err, "ken: the knowledge gives %d fewer questions of kind %s than its share\n", n, k)
		}
	}
	if g.Refused > 0 {
		fmt.Fprintf(a.Err, "ken: for %d claims, %s gave no answer that could be used\n", g.Refused, g.Model)
	}
	if g.noVector != "" {
		fmt.Fprintf(a.Err, "ken: search is only by words: %s; change that to see whether hybrid is worth it\n", g.noVector)
	}
	fmt.Fprintln(a.Out, "Next: "+g.Next)
	return nil
}

func (a *commands) evalScorerCommand() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "scorer",
		Short: "Compare the learned order with the plain one on logged turns",
		Long: "Replay the receipts that are kept, oldest first: on each turn both orders are compared on what the answer used of what it was " +
			"shown, and then the learned one learns from it. Print how often each did better, overall and by what the turns were about, with a " +
			"95 % interval from a paired bootstrap; what exploration says about what is left out; and whether the learned order is in force, " +
			"and why not. Nothing is changed.\n\n" +
			"structure.scorer says when it is in force: auto is once it has proved to be better, which takes at least 200 turns.",
		Example: `  ken eval scorer
  ken eval scorer --owner alice --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evalScorer(cmd.Context(), seed) },
	}
	cmd.Flags().Uint64Var(&seed, "seed", 1, "`N`, the seed of the intervals")
	return cmd
}

func (a *commands) evalScorer(ctx context.Context, seed uint64) error {
	return a.ReadStore(ctx, func(l *middleware.Layer, s store.Engine) error {
		learner := l.Operator().Learner(s.Owner())
		if err := learner.Load(ctx); err != nil {
			return err
		}
		log, err := a.loggedTurns(ctx, l.Operator().Receipts(s.Owner()))
		if err != nil {
			return err
		}
		o := sweep.CompareOrders(log, learner.Standing(), seed)
		return a.Show(o, func() { fmt.Fprint(a.Out, report.Orders(o)) })
	})
}

// loggedTurns returns all receipts that can be read.
func (a *commands) loggedTurns(ctx context.Context, b *receipt.Book) (all []receipt.Record, err error) {
	q := receipt.Query{Limit: receipt.MaxLimit}
	for {
		page, next, err := b.List(ctx, q)
		switch {
		case errors.Is(err, ken.ErrCorrupt):
			fmt.Fprintf(a.Err, "ken: %v\n", err)
		case err != nil:
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		q.Before = next
	}
}
