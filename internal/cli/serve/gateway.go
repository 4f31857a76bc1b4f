package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sashabaranov/go-openai"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/gateway"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/cli"
	"github.com/kenlayer/ken/internal/console"
	"github.com/kenlayer/ken/internal/gateway/api"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/jobs"
	"github.com/kenlayer/ken/internal/run/telemetry/metrics"
	"github.com/kenlayer/ken/internal/run/telemetry/trace"
	keyusage "github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/internal/tools/mcpserver"
	"github.com/kenlayer/ken/middleware"
	"github.com/kenlayer/ken/tools"
)

// serving holds what serve runs besides the proxy.
type serving struct {
	trusting bool   // trusts the user because it serves one person
	localKey string // key of the programs that started it; "" for none
	child    bool   // serves one program; others may run in the same folder
	cfg      config.Config
	log      *slog.Logger
	upstream string
	metrics  *metrics.Metrics
	tracer   *trace.Tracer // nil without a collector
	mcp      *mcpserver.HTTP
	console  *console.Console // nil when it is turned off
	usage    *keyusage.Store
}

func newServing(ctx context.Context, cfg config.Config, log *slog.Logger, upstream string) (*serving, error) {
	s := &serving{cfg: cfg, log: log, upstream: upstream, metrics: metrics.New()}
	s.metrics.Build(cli.Version(), cli.ReadBuild().Revision)
	var err error
	s.tracer, err = trace.Open(ctx, trace.Options{Endpoint: cfg.Telemetry.Traces, Version: cli.Version(), Log: log})
	return s, err
}

// servesOnePerson reports whether the gateway listens on loopback without keys. Then only the
// person at this machine can connect to it.
func (a *commands) servesOnePerson(cfg *config.Config, at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	root, err := a.Project()
	if !ok || err != nil || !tcp.IP.IsLoopback() || len(cfg.Gateway.Keys) > 0 {
		return false
	}
	kept, err := operator.OpenKeys(operator.KeysPath(cfg.State(root)), nil).List()
	return err == nil && len(kept) == 0
}

// receipt is called with the receipt of each turn.
func (s *serving) receipt(ctx context.Context, r ken.Receipt) {
	s.metrics.Turn(&r)
	s.tracer.Turn(ctx, &r)
}

func (s *serving) gateway(l *middleware.Layer, anyUpstream bool) (*gateway.Gateway, error) {
	s.watch(l)
	registry := tools.New(l, func(o *tools.Options) { o.Log = s.log })
	s.mcp = mcpserver.Handler(registry, s.caller, mcpserver.Options{Version: cli.Version(), Log: slog.New(slog.DiscardHandler)})
	s.usage = s.openUsage(l)
	s.metrics.WatchUsage(s.usage.Totals)
	keys := operator.KeysPath(l.Config().State(l.Root()))
	o := gateway.Options{Upstream: s.upstream, AnyUpstream: anyUpstream, LocalKey: s.localKey, Log: s.log}
	own := o.Operator()
	own.API, own.MCP, own.Metrics, own.Tracer, own.Usage = api.New(l, api.Options{Usage: s.usage, Log: s.log}), s.mcp, s.metrics, s.tracer, s.usage
	own.Keys, own.KeysChanged = operator.OpenKeys(keys, nil), func(r *access.Ring) { s.admitted(l, r) }
	if s.cfg.Gateway.Console {
		s.console = console.New(l, console.Options{LocalKey: s.localKey, Secure: s.cfg.Gateway.TLSCert != "", Upstream: s.upstream, Version: cli.Version(), Log: s.log,
			Usage: s.usage, Keys: operator.OpenKeys(keys, nil), Model: consoleModel(s.cfg.Upstream)})
		own.Console = s.console
	}
	return gateway.New(l, o)
}

// openUsage opens the usage of the keys, which is stored in the state folder. If that fails,
// or for a child, it returns a store in memory, because only one process can write the files.
func (s *serving) openUsage(l *middleware.Layer) *keyusage.Store {
	if s.child {
		u, _ := keyusage.Open("", keyusage.Options{Log: s.log}) // can't fail in memory
		return u
	}
	state := l.Config().State(l.Root())
	err := l.Config().MakeState(l.Root())
	var u *keyusage.Store
	if err == nil {
		u, err = keyusage.Open(filepath.Join(state, ".gateway", "usage"), keyusage.Options{Log: s.log})
	}
	if err != nil {
		s.log.Warn("usage is counted and not kept", "cause", err, "try", ken.Hint(err))
		u, _ = keyusage.Open("", keyusage.Options{Log: s.log}) // can't fail in memory
	}
	return u
}

// admitted is called with the valid keys.
func (s *serving) admitted(l *middleware.Layer, r *access.Ring) {
	if s.console != nil {
		s.console.Admit(r)
	}
	if r != nil {
		if s.trusting { // with keys, it no longer serves one person
			l.Operator().DistrustUser()
		}
		s.watchOwners(l, r.Owners())
	}
}

// Close ends what serve runs besides the proxy. The layer is closed after it.
func (s *serving) Close() error {
	err := errors.Join(s.mcp.Close(), s.usage.Close())
	if s.console != nil {
		err = errors.Join(err, s.console.Close())
	}
	return err
}

// caller returns the caller of a tool: the identity that the gateway authenticated, never one
// from the request's body.
func (s *serving) caller(r *http.Request) (tools.Caller, error) {
	who := access.From(r.Context())
	t, _ := ken.TurnFrom(r.Context())
	if t.Scopes == nil {
		t.Scopes = s.cfg.Retrieval.Scopes
	}
	c := tools.Caller{Owner: t.Owner, Project: t.Project, Session: t.Session, Branch: t.Branch, Agent: t.Agent, Scopes: t.Scopes}
	if who.Can(access.Read) {
		c.Rights = append(c.Rights, tools.Read)
	}
	if who.Can(access.Write) {
		c.Rights = append(c.Rights, tools.Write)
	}
	if len(c.Rights) == 0 {
		return c, who.Need(access.Read)
	}
	return c, nil
}

// watch adds the layer and the store of the configured owner to /metrics.
func (s *serving) watch(l *middleware.Layer) {
	s.metrics.WatchBreaker("embeddings", func() string { return l.Operator().Embedder().State().String() })
	s.metrics.WatchWork(func() metrics.Work { return metrics.Work(l.Operator().Counts()) })
	s.watchOwners(l, []string{s.cfg.Knowledge.Owner})
}

func (s *serving) watchOwners(l *middleware.Layer, owners []string) {
	for _, owner := range owners {
		s.metrics.Watch(owner, func(ctx context.Context) (metrics.State, error) { return storeState(ctx, l, owner) })
		s.metrics.WatchAttention(owner, func(ctx context.Context) (map[string]int, error) { return attentionState(ctx, l, owner) })
	}
}

func storeState(ctx context.Context, l *middleware.Layer, owner string) (metrics.State, error) {
	e, release, err := l.Store(ctx, owner)
	if err != nil {
		return metrics.State{}, err
	}
	defer release()
	records, events := e.Len(), e.Seq()
	embedded, _ := e.Coverage()
	out := metrics.State{Records: &records, Events: &events, Embedded: &embedded, Jobs: map[string]int{}}
	for _, st := range []jobs.State{jobs.Queued, jobs.Running, jobs.Dead} {
		out.Jobs[string(st)] = 0
	}
	list, err := l.Operator().Jobs(owner).List(ctx)
	for i := range list {
		out.Jobs[string(list[i].State)]++
	}
	if f, err := l.Operator().Filing(ctx, owner); err == nil {
		out.Filed = f.Counts.ByOutcome()
	}
	return out, err
}

// attentionState counts the items that wait for a person, by severity.
func attentionState(ctx context.Context, l *middleware.Layer, owner string) (map[string]int, error) {
	e, release, err := l.Store(ctx, owner)
	if err != nil {
		return nil, err
	}
	defer release()
	items, unread, err := cli.Desk(l, e).Attention(ctx, false)
	out := map[string]int{}
	for i := range items {
		out[string(items[i].Severity)]++
	}
	return out, cmp.Or(err, unread)
}

// serveConfiguration returns the configuration of serve, including its flags, and the files
// that it was read from.
func (a *commands) serveConfiguration(o serveOptions, log *slog.Logger) (config.Config, []string, error) {
	r, err := a.Resolve()
	if err != nil {
		return config.Config{}, nil, err
	}
	if said := r.Notice(); said != "" {
		log.Warn(said)
	}
	if err := cli.CheckGateway(r); err != nil {
		return config.Config{}, nil, err
	}
	if err := cli.SkipFiles(r, func(said string) { log.Warn(said) }); err != nil {
		return config.Config{}, nil, err
	}
	cfg := r.Config
	if _, err := cli.ToolNames("", cfg); err != nil {
		return config.Config{}, nil, err
	}
	cfg.Gateway.Listen = cmp.Or(o.listen, cfg.Gateway.Listen)
	if o.child || o.shared {
		cfg.Gateway.Listen, cfg.Gateway.TLSCert, cfg.Gateway.TLSKey, cfg.Gateway.Notice = "127.0.0.1:0", "", "", 0
		cfg.Gateway.DebugListen = "" // another process may use that address
	}
	cfg.Knowledge.Owner = cmp.Or(a.Owner, cfg.Knowledge.Owner)
	return cfg, slices.DeleteFunc([]string{r.User, r.File}, func(path string) bool { return path == "" }), cfg.Validate()
}

// reloading holds what is updated when the configuration is read again.
type reloading struct {
	*serving
	options serveOptions
	gateway *gateway.Gateway
	layer   *middleware.Layer
	from    []string // the configuration files
}

// reloads reads the configuration again at each hangup signal until ctx ends. The caller waits
// for the returned WaitGroup before it closes what r holds.
func (a *commands) reloads(ctx context.Context, hangups <-chan os.Signal, r reloading) *sync.WaitGroup {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				if err := a.reload(&r); err != nil {
					r.log.Error("the configuration was not reloaded, and stays as it was", "cause", err, "try", ken.Hint(err))
				}
			}
		}
	})
	return &wg
}

func (a *commands) reload(r *reloading) error {
	next, from, err := a.serveConfiguration(r.options, r.log)
	if err != nil {
		return err
	}
	for _, path := range r.from {
		if !slices.Contains(from, path) {
			return &ken.Error{Code: ken.CodeNotFound, Msg: path + " is gone", Try: "Restore it, or restart ken serve to continue without it."}
		}
	}
	issued, err := operator.OpenKeys(operator.KeysPath(r.cfg.State(r.layer.Root())), nil).List()
	if err != nil {
		return err
	}
	if len(next.Gateway.Keys)+len(issued) == 0 && len(r.cfg.Gateway.Keys) > 0 {
		return &ken.Error{Code: ken.CodeRefused, Field: "gateway.keys", Msg: "without keys everybody here could use the gateway",
			Try: "Keep one key, or restart ken serve to continue without keys."}
	}
	before := r.cfg
	if r.cfg.Gateway, err = r.gateway.Reload(next.Gateway); err != nil {
		return err
	}
	r.from = from
	r.log.Info("configuration reloaded", "gateway.keys", len(next.Gateway.Keys), "changed", differences(before, r.cfg))
	if later := differences(r.cfg, next); later != "" {
		r.log.Warn("what has changed and needs a restart", "settings", later)
	}
	return nil
}

// differences returns the names of the settings that differ between two configurations.
func differences(a, b config.Config) string {
	var out []string
	for _, path := range config.Keys() {
		have, err := a.Get(path)
		other, otherErr := b.Get(path)
		if have != other || cmp.Or(err, otherErr) != nil {
			out = append(out, path)
		}
	}
	return strings.Join(out, " ")
}

// consoleModel returns the configured model for the console's page that tries a message, or
// nil if upstream.base_url is not set.
func consoleModel(c config.Upstream) *console.Model {
	if c.BaseURL == "" {
		return nil
	}
	u := cli.NewModel(c, "")
	return &console.Model{Name: u.Name, Ask: func(ctx context.Context, messages []ken.Message) (a console.ModelAnswer, err error) {
		req := openai.ChatCompletionRequest{Model: u.Name}
		for _, m := range messages {
			req.Messages = append(req.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Text})
		}
		r, err := u.Client.CreateChatCompletion(ctx, req)
		if err != nil {
			return a, u.Explain(ctx, "ask "+c.BaseURL, err)
		}
		if len(r.Choices) == 0 {
			return a, &ken.Error{Code: ken.CodeUnavailable, Msg: "the answer of " + u.Name + " is empty",
				Try: "Check that upstream.model is a chat model, and that upstream.base_url ends in the API's version, such as /v1."}
		}
		a = console.ModelAnswer{Text: r.Choices[0].Message.Content, Input: r.Usage.PromptTokens, Output: r.Usage.CompletionTokens}
		if d := r.Usage.PromptTokensDetails; d != nil {
			a.Cached = d.CachedTokens
		}
		return a, nil
	}}
}
