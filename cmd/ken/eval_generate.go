package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/budgeter/tokens"
	"github.com/kenlayer/ken/internal/evals/generate"
	"github.com/kenlayer/ken/internal/retriever/knownitem"
	"github.com/kenlayer/ken/middleware"
)

// generateOptions are eval generate's flags.
type generateOptions struct {
	out               string
	n                 int
	seed              uint64
	kinds             []string
	model             string
	estimate, noIndex bool
}

// configuredModel is --model without a name.
const configuredModel = "upstream.model"

func (a *app) evalGenerateCommand() *cobra.Command {
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
	f.StringVarP(&o.out, "out", "o", "", "the `folder` to write; default .ken/eval in the project")
	f.IntVar(&o.n, "n", knownitem.DefaultN, "how `many` questions")
	f.Uint64Var(&o.seed, "seed", 1, "a `number`: another one, other questions")
	f.StringSliceVar(&o.kinds, "kinds", nil, "only these `kinds`: keyword, heading, question, paraphrase, absent, small_talk; default all")
	f.StringVar(&o.model, "model", "", "let a chat `model` ask, by default the configured one; give another as --model=name")
	f.Lookup("model").NoOptDefVal = configuredModel
	f.BoolVar(&o.estimate, "estimate", false, "say what --model would take, and stop")
	f.BoolVar(&o.noIndex, "no-index", false, "use what is indexed already")
	return cmd
}

// generated is what the command did.
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
	noVector string // why only words can be swept
}

func (a *app) evalGenerate(ctx context.Context, o *generateOptions) error {
	if o.n < 1 {
		return usagef("--n: %d is less than 1", o.n)
	}
	if o.estimate && o.model == "" {
		return usagef("--estimate says what --model would take: give both")
	}
	if !o.noIndex {
		if err := a.mayRead(); err != nil {
			return err
		}
	}
	p := a.progress()
	defer p.done()
	l, err := a.layer(ctx, p)
	if err != nil {
		return err
	}
	if err := checkModel(l.Config().Upstream, o); err != nil {
		return errors.Join(err, l.Close())
	}
	if !o.noIndex {
		err = a.refresh(ctx, l, p)
	}
	var done generated
	if err == nil {
		done, err = a.generate(ctx, l, o, p)
	}
	p.done()
	if err := errors.Join(err, l.Close()); err != nil {
		return err
	}
	return a.printGenerated(&done)
}

func checkModel(u config.Upstream, o *generateOptions) error {
	if o.model == "" || u.BaseURL != "" {
		return nil
	}
	return usage{&ken.Error{Code: ken.CodeInvalid, Field: "--model", Msg: "no chat model is configured",
		Try: "Set upstream.base_url, or leave --model away: the rules need none."}}
}

func (a *app) generate(ctx context.Context, l *middleware.Layer, o *generateOptions, p *progress) (generated, error) {
	s, release, err := l.Store(ctx, a.owner)
	if err != nil {
		return generated{}, err
	}
	defer release()
	src := generate.FromStore(s, ken.Filter{Now: time.Now(), MinTrust: l.Config().Retrieval.MinTrust})
	opts := generate.Options{N: o.n, Seed: o.seed, Progress: p.update}
	for _, k := range o.kinds {
		opts.Kinds = append(opts.Kinds, knownitem.Kind(strings.TrimSpace(k)))
	}
	set, err := generate.Make(ctx, src, opts)
	if err != nil {
		if e := (*ken.Error)(nil); errors.As(err, &e) && e.Field == "kinds" {
			err = usage{err}
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
	out.Out = cmp.Or(o.out, filepath.Join(a.dir, ".ken", "eval"))
	if err := set.Write(ctx, out.Out); err != nil {
		return generated{}, err
	}
	out.Next = "ken eval sweep --data " + out.Out
	if _, out.noVector = l.Retrieval(); out.noVector != "" {
		out.Next += " --modes keyword"
	}
	return out, nil
}

// reword says what the model takes, and lets it ask unless that was all.
func (a *app) reword(ctx context.Context, set *generate.Set, l *middleware.Layer, o *generateOptions, p *progress) (*generate.Cost, error) {
	name := o.model
	if name == configuredModel {
		name = ""
	}
	u := newUpstream(l.Config().Upstream, name)
	count, err := tokens.Counter(string(l.Config().Budget.Encoding))
	if err != nil {
		return nil, fmt.Errorf("load tokenizer: %w", err)
	}
	cost := set.Estimate(count)
	p.done()
	if !a.quiet {
		fmt.Fprintf(a.err, "ken: %d requests to %s at %s: about %d tokens to it, and %d from it\n",
			cost.Requests, u.model, u.cfg.BaseURL, cost.TokensIn, cost.TokensOut)
	}
	if o.estimate {
		return &cost, nil
	}
	seed := int(o.seed % (1 << 31))
	err = set.Reword(ctx, generate.Model{Name: u.model, Ask: func(ctx context.Context, system, user string) (string, error) {
		return u.answer(ctx, seed, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: system},
			openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: user})
	}})
	return &cost, err
}

// answer asks the model for one whole answer, as much the same each time as the
// endpoint can.
func (u *upstream) answer(ctx context.Context, seed int, messages ...openai.ChatCompletionMessage) (string, error) {
	r, err := u.client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: u.model, Messages: messages, Seed: &seed})
	if err != nil {
		return "", u.explain(ctx, "ask "+u.cfg.BaseURL, err)
	}
	if len(r.Choices) == 0 {
		return "", nil // which nobody can use
	}
	return r.Choices[0].Message.Content, nil
}

func (a *app) printGenerated(g *generated) error {
	if a.json {
		return a.printJSON(g)
	}
	if g.Out == "" { // an estimate, which was told
		return nil
	}
	fmt.Fprintf(a.out, "%d questions about %d records in %s\n", g.total, g.Records, g.Out)
	for _, k := range append(knownitem.Kinds(), generate.KindModel) {
		if n := g.Questions[k]; n > 0 {
			fmt.Fprintf(a.out, "%5d %s\n", n, k)
		}
	}
	for _, k := range knownitem.Kinds() {
		if n := g.Lacking[k]; n > 0 {
			fmt.Fprintf(a.err, "ken: the knowledge gives %d fewer questions of kind %s than its share\n", n, k)
		}
	}
	if g.Refused > 0 {
		fmt.Fprintf(a.err, "ken: for %d claims, %s gave no answer that could be used\n", g.Refused, g.Model)
	}
	if g.noVector != "" {
		fmt.Fprintf(a.err, "ken: search is only by words: %s; change that to see whether hybrid is worth it\n", g.noVector)
	}
	fmt.Fprintln(a.out, "Next: "+g.Next)
	return nil
}
