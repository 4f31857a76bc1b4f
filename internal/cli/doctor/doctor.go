// Package doctor provides the commands that set up and examine an installation.
package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/spf13/cobra"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/embed"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/embed/adapt"
	"github.com/kenlayer/ken/internal/embed/install"
	"github.com/kenlayer/ken/internal/harvest/memoryfile"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/trust"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/store"
)

type commands struct{ *cli.App }

// Commands returns the commands of this group.
func Commands(app *cli.App) []*cobra.Command {
	c := &commands{app}
	return []*cobra.Command{
		c.doctorCommand(), c.checkCommand(), c.verifyLogCommand(), c.backupCommand(), c.restoreCommand(), c.migrateCommand(),
		c.configCommand(), c.trustCommand(), c.initCommand(), c.indexCommand(), c.versionCommand(),
	}
}

type finding struct {
	Check  string `json:"check"`
	State  state  `json:"state"`
	Detail string `json:"detail"`
	Try    string `json:"try,omitempty"`
	Data   any    `json:"data,omitempty"` // the figures of Detail, for programs
}

type state string

const (
	stateOK   state = "ok"
	stateWarn state = "warn" // Ken works with limitations
	stateFail state = "fail"
)

func passed(check, format string, args ...any) finding {
	return finding{Check: check, State: stateOK, Detail: fmt.Sprintf(format, args...)}
}

func warned(check, detail, try string) finding {
	return finding{Check: check, State: stateWarn, Detail: detail, Try: try}
}

func failed(check string, err error) finding {
	return finding{Check: check, State: stateFail, Detail: err.Error(), Try: cmp.Or(ken.Hint(err), "See the message.")}
}

func (a *commands) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, store, embedder and model, and suggest fixes",
		Example: `  ken doctor
  ken doctor --json`,
		Long: "Check everything that Ken depends on: each check is ok, a warning (Ken works without it) or a " +
			"failure, with a suggestion. If there are enough records, questions generated from them measure search: by keywords " +
			"alone, by the embedder alone, and by both; see retrieval.calibrate. It changes neither knowledge nor configuration, and creates no store. " +
			"The exit status is 1 if a check fails.",
		Args: cli.ExactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := a.Progress()
			defer p.Done()
			found := a.examine(cmd.Context(), p)
			p.Done()
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			err := a.printFindings(found)
			if err == nil && slices.ContainsFunc(found, func(f finding) bool { return f.State == stateFail }) {
				return cli.ErrReported
			}
			return err
		},
	}
}

func (a *commands) printFindings(found []finding) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"checks": found})
	}
	width := 0
	for _, f := range found {
		width = max(width, len(f.Check))
	}
	const before = 4 + 2 + 2 // width of the state and the gaps
	fit := func(s string) string {
		s = cli.Cell(s)
		if cli.IsTerminal(a.Out) {
			s = strings.ReplaceAll(cli.Wrap(s, max(a.TableWidth()-before-width, width)), "\n", "\n"+strings.Repeat(" ", before+width))
		}
		return s
	}
	for _, f := range found {
		fmt.Fprintf(a.Out, "%s  %-*s  %s\n", a.Paint(cli.Style(string(f.State)), fmt.Sprintf("%-4s", f.State)), width, f.Check, fit(f.Detail))
		if f.Try != "" {
			fmt.Fprintf(a.Out, "%-4s  %-*s  %s\n", "", width, "", fit("Try: "+f.Try))
		}
	}
	return nil
}

// checkTimeout is the longest wait for an answer of a service.
const checkTimeout = 5 * time.Second

// examine runs the checks. It skips a check whose precondition failed.
func (a *commands) examine(ctx context.Context, p *cli.Progress) []finding {
	root, err := a.Project()
	if err != nil {
		return []finding{failed("project", err)}
	}
	out := []finding{passed("project", "%s", root), examineGit(ctx, root)}
	r, err := a.Resolve()
	if err != nil {
		return append(out, failed("configuration", err))
	}
	a.Noticed = true // a finding reports it
	cfg := r.Config
	out = append(out, passed("configuration", "%s", cmp.Or(r.File, r.User, "defaults: there is no file")), examineTrust(r))
	out = append(out, examineMemory(filepath.Join(root, filepath.FromSlash(memoryfile.Dir), memoryfile.Name)), examineLifecycle(cli.LifecycleFile(root)))
	out = append(out, a.examinePlan(ctx, &cfg)...)
	l, embedder := a.examineEmbedder(ctx, p, cfg)
	if l != nil {
		out = append(out, a.examineStore(ctx, l)...)
		out = append(out, examineEngine(ctx, cfg.Store)...)
	}
	out = append(append(out, embedder...), examineModel(ctx, cfg.Upstream), examineHarvest(ctx, cfg))
	out = append(out, examineGateway(&cfg.Gateway)...)
	if l != nil {
		if err := l.Close(); err != nil {
			out = append(out, failed("store", fmt.Errorf("close: %w", err)))
		}
	}
	return out
}

// examineGit checks that git is installed and reads the project. git refuses a folder that belongs to another user, and
// names the remedy.
func examineGit(ctx context.Context, root string) finding {
	const check = "git"
	path, err := exec.LookPath("git")
	if err != nil {
		return warned(check, "not installed: no history is indexed", "Install git.")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err = trust.Git(ctx, root, "rev-parse", "--git-dir").Output()
	refused, ok := errors.AsType[*exec.ExitError](err)
	if !ok || ctx.Err() != nil || strings.Contains(string(refused.Stderr), "not a git repository") {
		return passed(check, "%s", path)
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(string(refused.Stderr)), "\n")
	try := "Run git status in " + root + "."
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "git config ") {
			try = "Run " + line
		}
	}
	return warned(check, strings.TrimPrefix(first, "fatal: ")+": no history is indexed", try)
}

// examineStore checks the owner's store. It opens the store as every command does,
// which may update the keyword index.
func (a *commands) examineStore(ctx context.Context, l *middleware.Layer) []finding {
	const check = "store"
	cfg := l.Config()
	owner := cmp.Or(a.Owner, cfg.Knowledge.Owner)
	none, err := hasNone(ctx, l, owner)
	if err != nil {
		return []finding{failed(check, err)}
	}
	if none {
		return []finding{passed(check, "owner %s has none yet; the first ken ask or ken learn makes it", owner)}
	}
	if cfg.Store.URL != "" { // a copy of the engine's store is made here
		if err := cfg.MakeState(l.Root()); err != nil {
			return []finding{failed(check, err)}
		}
	}
	s, release, err := l.Store(ctx, owner)
	if err != nil {
		return []finding{failed(check, err)}
	}
	defer release()
	log, err := s.VerifyLog(ctx)
	if err != nil {
		return []finding{failed(check, err)}
	}
	docs, err := s.DocumentHashes(ctx)
	if err != nil {
		return []finding{failed(check, err)}
	}
	out := []finding{passed(check, "owner %s: %s from %s and %s; the log verifies", owner, cli.Count(s.Len(), "record"), cli.Count(int(log.Events), "event"), cli.Count(len(docs), "document"))}
	faults, err := s.Faults(ctx)
	if err != nil {
		out = append(out, failed(check, err))
	}
	for _, f := range faults {
		out = append(out, warned(check, string(f.Name)+": "+f.Cause, faultRemedies[f.Name]))
	}
	switch embedded, total := s.Coverage(); {
	case s.Embedder() == nil || total == 0:
	case embedded < total:
		detail := fmt.Sprintf("%d of %d records have none from %s", total-embedded, total, s.Embedder().Model())
		if old := s.Standby(); old != "" {
			detail += ", and are compared by " + old
		}
		out = append(out, warned("vectors", detail, "Run ken index."))
	default:
		out = append(out, passed("vectors", "%s, each with one from %s", cli.Count(total, "record"), s.Embedder().Model()), examineSearch(ctx, l, owner))
	}
	return append(out, examineJournal(ctx, l, owner), examineJobs(ctx, l, owner))
}

// faultRemedies holds the remedy for each fault of a store.
var faultRemedies = map[store.FaultName]string{
	store.FaultDamaged:  "Run ken check.",
	store.FaultReadOnly: "Make the folder writable.",
	store.FaultIndex:    "Wait: the index follows.",
	store.FaultDisk:     "Make room on the disk, or use another one. Then write again.",
}

// hasNone reports whether an owner has no store, here or in the engine, and checks that one can be made.
func hasNone(ctx context.Context, l *middleware.Layer, owner string) (bool, error) {
	dir := filepath.Join(stateOf(l), bolt.FolderName(owner))
	_, err := os.Stat(dir)
	none := errors.Is(err, os.ErrNotExist)
	if cfg := l.Config(); cfg.Store.URL != "" {
		owners, err := l.Operator().Owners(ctx)
		if err != nil {
			return false, err
		}
		if slices.Contains(owners, owner) {
			return false, nil
		}
	}
	if none {
		if err := canMake(dir); err != nil {
			return false, &ken.Error{Code: ken.CodeRefused, Field: "knowledge.db_path", Msg: "no store can be made", Try: "Make the folder writable, or set knowledge.db_path to one that is.", Err: err}
		}
	}
	return none, nil
}

// canMake reports why a folder that does not exist can't be made. It tries in the nearest folder
// that exists.
func canMake(dir string) error {
	for {
		parent := filepath.Dir(dir)
		trial, err := os.MkdirTemp(parent, ".ken-doctor-")
		if err == nil {
			return os.Remove(trial)
		}
		if !errors.Is(err, os.ErrNotExist) || parent == dir {
			return fmt.Errorf("%s: %w", parent, errors.Unwrap(err))
		}
		dir = parent
	}
}

// examineModel asks the endpoint for its list of models.
func examineModel(ctx context.Context, c config.Upstream) finding {
	const check = "model"
	if c.BaseURL == "" {
		return warned(check, "none: ken ask prints the block, and ken chat does not work",
			"Set upstream.base_url and upstream.model in "+cli.UserConfigName()+".")
	}
	c.Timeout = min(c.Timeout, checkTimeout)
	u := cli.NewModel(c, "")
	list, err := u.Client.ListModels(ctx)
	if status, _ := u.Refusal(err); status == http.StatusNotFound {
		return warned(check, c.BaseURL+" does not say which models it serves",
			"Check upstream.base_url: it usually ends in the API's version, such as /v1.")
	}
	if err != nil {
		return failed(check, u.Explain(ctx, "ask "+c.BaseURL, err))
	}
	if !serves(list, c.ChatModel()) {
		return finding{Check: check, State: stateFail, Detail: c.BaseURL + " does not serve " + c.ChatModel(), Try: tryServed("upstream.model", list)}
	}
	return passed(check, "%s serves %s", c.BaseURL, c.ChatModel())
}

// examineGateway checks what only ken serve reads: its certificate, and the variables of API keys.
func examineGateway(c *config.Gateway) (out []finding) {
	const check = "gateway"
	if c.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		switch {
		case err != nil:
			out = append(out, failed(check, &ken.Error{Code: ken.CodeInvalid, Field: "gateway.tls_cert", Msg: "load certificate", Err: err, Try: "Check gateway.tls_cert and gateway.tls_key: PEM files of one key pair."}))
		case time.Now().After(pair.Leaf.NotAfter):
			out = append(out, warned(check, "the certificate in gateway.tls_cert ended at "+pair.Leaf.NotAfter.UTC().Format(time.RFC3339), "Renew it."))
		default:
			out = append(out, passed(check, "the certificate ends at %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339)))
		}
	}
	unset := c.UnsetVariables()
	for _, field := range slices.Sorted(maps.Keys(unset)) {
		out = append(out, warned(check, unset[field]+", which "+field+" names, is not set here", "Set it where ken serve runs: without it, clients need an API key of the upstream."))
	}
	return out
}

// serves reports whether a list has a model. Some gateways list a model with a tag
// that requests may omit.
func serves(list openai.ModelsList, model string) bool {
	return slices.ContainsFunc(list.Models, func(m openai.Model) bool { return m.ID == model || m.ID == model+":latest" })
}

// tryServed returns a hint that lists the models to which a key may be set.
func tryServed(key string, list openai.ModelsList) string {
	if len(list.Models) == 0 {
		return "Install a model: the endpoint serves none."
	}
	ids := cli.Map(list.Models[:min(len(list.Models), 10)], func(m *openai.Model) string { return m.ID })
	return "Set " + key + " to one that is served, such as " + strings.Join(ids, ", ") + "."
}

// embedderKind says where vectors come from.
type embedderKind string

const (
	kindBuiltin embedderKind = "built-in"
	kindAdapted embedderKind = "adapted"
	kindStatic  embedderKind = "static"
	kindGateway embedderKind = "gateway"
)

type embedderFacts struct {
	Kind  embedderKind  `json:"kind"`
	Model string        `json:"model"`
	Dim   int           `json:"dim"`
	At    string        `json:"at,omitempty"`      // file, folder or address
	Adapt *adapt.Report `json:"adapted,omitempty"` // result of the adaptation
}

// examineEmbedder opens the layer without its store and asks the embedder for a
// vector. The layer is returned even if the embedder can't be opened.
func (a *commands) examineEmbedder(ctx context.Context, p *cli.Progress, cfg config.Config) (*middleware.Layer, []finding) {
	const check = "embedder"
	cfg.Middleware.Knowledge, cfg.Middleware.Events = false, false
	use := func(o *middleware.Options) { o.Config = &cfg }
	out := examineSettings(&cfg)
	l, err := a.Layer(ctx, p, use)
	if err != nil {
		cfg.Knowledge.Embeddings = false
		l, _ = a.Layer(ctx, p, use)
		return l, append(out, failed(check, err))
	}
	start := time.Now()
	vecs, err := l.Operator().Embedder().Embed(ctx, []string{"ken doctor asks for a vector"})
	took := time.Since(start).Round(10 * time.Microsecond)
	switch {
	case errors.Is(err, embed.ErrOff):
		return l, append(out, warned(check, "none: only keyword search", ken.Hint(err)))
	case err != nil:
		return l, append(out, failed(check, err))
	case len(vecs) != 1 || vecs[0] == nil:
		return l, append(out, finding{Check: check, State: stateFail, Detail: "the model knows none of six plain English words",
			Try: "Check knowledge.embed_path."})
	}
	some, err := l.Operator().Embedder().Embed(ctx, differentTexts)
	if err == nil {
		err = embed.CheckDistinct(some)
	}
	if err != nil {
		return l, append(out, failed(check, err))
	}
	facts := embedderOf(l, len(vecs[0]))
	if m := install.Named(cfg.Knowledge.EmbedPath); m != nil && facts.Kind == kindStatic {
		if _, ok := m.Path(install.Folder()); !ok {
			return l, append(out, failed(check, m.Missing("knowledge.embed_path", install.Folder())))
		}
	}
	f := passed(check, "%s, answers with %d dimensions in %s", facts.describe(), facts.Dim, took)
	f.Data = facts
	return l, append(out, f)
}

// differentTexts are texts with different meanings, enough for embed.CheckDistinct.
var differentTexts = []string{"an invoice is overdue", "the harbour lies in fog", "compile the parser again", "violins and a rehearsal", "two eggs and some flour",
	"a comet behind the telescope", "the tunnel under the river", "passwords expire in spring", "the horse wears no saddle", "snow on the railway"}

func embedderOf(l *middleware.Layer, dim int) *embedderFacts {
	cfg := l.Config()
	f := &embedderFacts{Model: l.Operator().Embedder().Model(), Dim: dim}
	switch cfg.EmbedProvider() {
	case config.ProviderStatic:
		f.Kind, f.At = kindStatic, cfg.Knowledge.EmbedPath
	case config.ProviderOpenAI:
		f.Kind, f.At = kindGateway, cfg.EmbedBaseURL()
	default:
		f.Kind = kindBuiltin
		if r, err := adapt.Load(cfg.State(l.Root())); err == nil && r.Model == f.Model {
			f.Kind, f.Adapt = kindAdapted, &r
		}
	}
	return f
}

func (f *embedderFacts) describe() string {
	switch f.Kind {
	case kindAdapted:
		r := f.Adapt
		return fmt.Sprintf("the built-in table, adapted to this repository on %s (%s): MRR %.3f instead of %.3f on %d questions set aside",
			r.Created.Format(time.DateOnly), f.Model, r.After.MRR, r.Before.MRR, r.HeldOut)
	case kindStatic:
		return fmt.Sprintf("the model in %s (%s)", f.At, f.Model)
	case kindGateway:
		return fmt.Sprintf("%s at %s", f.Model, f.At)
	}
	return fmt.Sprintf("the built-in table (%s)", f.Model)
}

// examineSettings reports a model that is configured but not used.
func examineSettings(cfg *config.Config) []finding {
	k := &cfg.Knowledge
	used := cfg.EmbedProvider()
	if k.EmbedModel == "" || used == config.ProviderOpenAI {
		return nil
	}
	why, try := "embed_provider is "+string(k.Provider), "Set knowledge.embed_provider to auto or openai, or remove knowledge.embed_model."
	switch {
	case !k.Embeddings:
		why, try = "embeddings is false", "Set knowledge.embeddings to true, or remove knowledge.embed_model."
	case k.Provider != config.ProviderAuto:
	case used == config.ProviderStatic:
		why, try = "embed_path is set, and goes first", "Remove knowledge.embed_path or knowledge.embed_model."
	default:
		why, try = "no address is known", "Set knowledge.embed_base_url, or upstream.base_url if it serves the model."
	}
	return []finding{warned("embed_model", fmt.Sprintf("knowledge.embed_model %s is not used: %s", k.EmbedModel, why), try)}
}

// examinePlan checks that each requirement of an agent exists or is produced by an
// agent. Faults between the agents are configuration errors, reported before.
func (a *commands) examinePlan(ctx context.Context, cfg *config.Config) []finding {
	const check = "plan"
	p, err := a.Plan(ctx, cfg)
	switch {
	case err != nil:
		return []finding{failed(check, err)}
	case p == nil:
		return nil
	}
	return []finding{passed(check, "%s in %s", cli.Count(len(p.Steps()), "agent"), cli.Count(len(p.Stages()), "stage"))}
}

func (a *commands) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Example: `  ken version
  ken version --json`,
		Long: "Print the version of this program, the commit that it was built from, and the layout of the store that it writes. A store of a " +
			"later layout is refused by name.",
		Args: cli.ExactArgs(),
		RunE: func(*cobra.Command, []string) error {
			v := cli.ReadBuild()
			return a.Show(v, func() { fmt.Fprintln(a.Out, v) })
		},
	}
}

// examineEngine checks the engine and the nodes that share it.
func examineEngine(ctx context.Context, c config.Store) []finding {
	const check = "engine"
	if c.URL == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	facts, err := engines.Look(ctx, c)
	if err != nil {
		return []finding{failed(check, err)}
	}
	f := passed(check, "%s", facts.Health)
	f.Data = facts
	return []finding{f, passed("nodes", "%s", describeNodes(facts))}
}

// describeNodes says how many owners each node serves.
func describeNodes(f engines.Facts) string {
	serves := map[string]int{}
	for _, o := range f.Owners {
		serves[o.Node]++
	}
	var parts []string
	for _, n := range f.Nodes {
		parts = append(parts, fmt.Sprintf("%s at %s serves %d", n.ID, n.Address, serves[n.ID]))
		delete(serves, n.ID)
	}
	slices.Sort(parts)
	idle := serves[""]
	delete(serves, "")
	if idle > 0 {
		parts = append(parts, fmt.Sprintf("%d owners are open nowhere", idle))
	}
	if gone := len(serves); gone > 0 {
		parts = append(parts, fmt.Sprintf("%d nodes that are gone had owners", gone))
	}
	return cmp.Or(strings.Join(parts, "; "), "none is up")
}
