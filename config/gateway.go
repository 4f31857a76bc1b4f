package config

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// Gateway is the proxy that ken serve runs.
type Gateway struct {
	Listen  string   // host:port, or unix: and the path of a socket
	Hosts   []string // host names that clients may use, besides the loopback names
	TLSCert string   // PEM file; empty serves without TLS
	TLSKey  string   // PEM file

	DebugListen string // host:port or a socket for Go's profiles; empty serves none

	Console bool // serve web pages at /console/

	Anthropic       string // base URL for Anthropic's API; empty decides by the upstream
	UpstreamKeyEnv  string // environment variable with the API key that is sent for clients; empty sends none
	AnthropicKeyEnv string // the same for Anthropic's API

	Keys   []GatewayKey   // empty: no key is needed, only on loopback
	Prices []GatewayPrice // the first entry whose pattern matches the model applies
	Rate   float64        // requests per second for each key; 0 is no limit
	Burst  int            // requests that may exceed Rate at once

	HeaderBytes int           // of a request
	BodyBytes   int           // of a request
	LookBytes   int           // total size of the bodies that are inspected at the same time
	InFlight    int           // maximum number of concurrent requests
	ReadHeader  time.Duration // timeout for reading a request's headers
	Stall       time.Duration // timeout for one read or write by a client
	Idle        time.Duration // timeout between two requests on a connection
	Connect     time.Duration // timeout for connecting to the upstream
	Response    time.Duration // timeout for the upstream's response headers
	Notice      time.Duration // how long it still accepts requests after the stop signal
	Drain       time.Duration // timeout for streams to end at shutdown

	Taint TaintAction

	Policy []PolicyRule // the section policy: the first rule that matches a call applies
}

// GatewayKey is a key for the gateway, identified by its hash.
type GatewayKey struct {
	Name    string   `json:"name"`              // for logs and limits
	Hash    string   `json:"hash"`              // sha256: and 64 hexadecimal digits
	Owner   string   `json:"owner,omitempty"`   // owner whose knowledge it uses; empty is Knowledge.Owner
	Project string   `json:"project,omitempty"` // project of its turns; may be empty
	Rights  []string `json:"rights,omitempty"`  // chat, read, write, operate, upstream; empty is the first three

	Models         []string  `json:"models,omitempty"`           // patterns of the models that it may use; empty allows all
	Expires        time.Time `json:"expires,omitzero"`           // zero never expires
	RequestsPerDay int       `json:"requests_per_day,omitempty"` // in UTC; 0 is no limit
	TokensPerDay   int       `json:"tokens_per_day,omitempty"`   // in UTC; 0 is no limit
}

// GatewayPrice is the price of a model per million tokens.
type GatewayPrice struct {
	Model       string  // a pattern, see access.Match
	Input       float64 // for tokens not served from a cache
	CachedInput float64 // for tokens served from the provider's cache; 0 means Input
	Output      float64
}

// Cost returns the cost of a call, computed from Prices. It returns false if no price
// matches the model. input and output are in tokens, and cached is part of input.
func (g *Gateway) Cost(model string, input, cached, output int) (cost float64, ok bool) {
	for _, p := range g.Prices {
		if !access.Match(p.Model, model) {
			continue
		}
		p.CachedInput = cmp.Or(p.CachedInput, p.Input)
		const million = 1e6
		return (float64(input-cached)*p.Input + float64(cached)*p.CachedInput + float64(output)*p.Output) / million, true
	}
	return 0, false
}

// TaintAction says how the gateway reacts if a response contains a tool call with words from an
// external claim: it does nothing (off), reports it (flag) or refuses the response (block).
type TaintAction string

// Taint actions.
const (
	TaintOff   TaintAction = "off"
	TaintFlag  TaintAction = "flag"
	TaintBlock TaintAction = "block"
)

func (g *Gateway) keys() []key {
	return []key{
		bind("listen", &g.Listen, "127.0.0.1:8484", listenAddress(),
			"The address that ken serve listens on: an address and port, or unix: and a path for a socket that only its owner can open. An "+
				"address that others can reach needs gateway.keys.").withConsentRule(needsConsent(reachListen)),
		bindList("hosts", &g.Hosts, hostName(),
			"Host names that clients may use, such as host.docker.internal. Without keys, a request for any other name than localhost is "+
				"refused, so that no web page can reach the gateway through a host name of its own.").withConsentRule(needsConsent(reachListen)),
		bind("tls_cert", &g.TLSCert, "", optionalPath(), "The certificate's PEM file. Empty: no TLS.").withConsentRule(needsConsent(reachPath)),
		bind("tls_key", &g.TLSKey, "", optionalPath(), "The PEM file of the certificate's key.").withConsentRule(needsConsent(reachPath)),
		bind("debug_listen", &g.DebugListen, "", optionalListenAddress(),
			"The address that serves Go's profiles (/debug/pprof/), such as 127.0.0.1:6060; with keys, they need the right operate. An "+
				"address that others can reach needs gateway.keys. Empty: none.").withConsentRule(needsConsent(reachListen)),
		bind("console", &g.Console, true, flag(),
			"Web pages at /console/: what Ken knows, why a turn got it, and which decisions are pending. With keys, they ask for one, and "+
				"show what that key may see.").withConsentRule(stricter("whether pages about what is known are served", "true", "false")),
		bind("anthropic", &g.Anthropic, "", address(),
			"The address for requests with the header anthropic-version and those to /v1/messages. Empty: the same upstream as all other "+
				"requests, which many gateways support; https://api.anthropic.com if the upstream is https://api.openai.com.").withConsentRule(needsConsent(reachAddress)),
		bind("upstream_key_env", &g.UpstreamKeyEnv, "", variable(),
			"The environment variable that holds the upstream's API key, sent for clients that only send a key of Ken. Empty: clients send "+
				"their own API key, and Ken's key in the header X-Ken-Key.").withConsentRule(needsConsent(reachKey)),
		bind("anthropic_key_env", &g.AnthropicKeyEnv, "", variable(), "The same for gateway.anthropic.").withConsentRule(needsConsent(reachKey)),
		bindRecords("keys", &g.Keys, gatewayKeyFields, []string{"name", "hash"},
			"The keys that may use the gateway, besides those that ken key create makes; ken serve key makes one for this list. With keys, "+
				"each request needs one, and uses the knowledge of the key's owner. Rights are chat, read, write, operate and upstream; the "+
				"default is the first three. Models are patterns such as gpt-5 or claude-*. Days are in UTC. Empty, and no other keys: everybody "+
				"who reaches the gateway may do everything.").withConsentRule(needsConsent("who may use ken serve")),
		bindRecords("prices", &g.Prices, gatewayPriceFields, []string{"model", "input", "output"},
			"The price of a million tokens of a model, in a currency of your choice, such as {model: gpt-5*, input: 1.25, cached_input: "+
				"0.125, output: 10}. The first entry whose pattern matches applies. Without cached_input, cached tokens cost as much as others. "+
				"Other models have no cost.").withConsentRule(needsConsent("what tokens are said to cost")),
		bind("rate", &g.Rate, 0, fraction(100_000), "The average number of requests per second that one key may make. 0: no limit.").withConsentRule(needsConsent("how much ken serve takes from its clients")),
		bind("burst", &g.Burst, 20, whole(1, 100_000), "The number of requests that may exceed gateway.rate at once.").withConsentRule(needsConsent("how much ken serve takes from its clients")),
		bind("header_bytes", &g.HeaderBytes, 64<<10, whole(4<<10, 16<<20), "The maximum size of a request's headers, in bytes.").withConsentRule(needsConsent("how much ken serve takes from its clients")),
		bind("body_bytes", &g.BodyBytes, 512<<20, whole(1<<10, 16<<30),
			"The maximum size of a request's body, in bytes. Model calls above 32 MiB are passed on without knowledge.").withConsentRule(needsConsent("how much ken serve takes from its clients")),
		bind("look_bytes", &g.LookBytes, 256<<20, whole(1<<20, 1<<40),
			"The maximum total size of model calls that are inspected at the same time, in bytes. A call beyond that is passed on without "+
				"knowledge, and its response says so."),
		bind("in_flight", &g.InFlight, 1000, whole(1, 1_000_000), "The maximum number of concurrent requests; others are told to retry.").withConsentRule(needsConsent("how much ken serve takes from its clients")),
		bind("read_header", &g.ReadHeader, 10*time.Second, span(100*time.Millisecond, 10*time.Minute), "The timeout for reading a request's headers."),
		bind("stall", &g.Stall, time.Minute, span(100*time.Millisecond, time.Hour),
			"How long a client may read nothing of a response, or send nothing of a request. A stream that makes progress has no time limit."),
		bind("idle", &g.Idle, 2*time.Minute, span(time.Second, 24*time.Hour), "How long a connection stays open without a request."),
		bind("connect", &g.Connect, 10*time.Second, span(100*time.Millisecond, 10*time.Minute), "The timeout for connecting to the upstream."),
		bind("response", &g.Response, 15*time.Minute, span(time.Second, 24*time.Hour),
			"The timeout for the start of the upstream's response. Models that reason may think for minutes."),
		bind("notice", &g.Notice, time.Second, span(0, 10*time.Minute),
			"How long it still accepts requests after the signal to stop, while /readyz reports that it stops. Set it to the time that your "+
				"load balancer needs to notice."),
		bind("drain", &g.Drain, 30*time.Second, span(0, time.Hour), "How long running responses may continue after that."),
		bind("taint", &g.Taint, TaintFlag, choice(TaintOff, TaintFlag, TaintBlock),
			"What happens when a model's response calls a tool with words from an external claim: nothing, a mark in the receipt and a "+
				"header, or a refusal.").withConsentRule(stricter("what happens when a model obeys a text from outside", string(TaintOff), string(TaintFlag), string(TaintBlock))),
	}
}

func gatewayKeyFields(k *GatewayKey) []key {
	return []key{
		bind("name", &k.Name, "", name(), ""),
		bind("hash", &k.Hash, "", keyHash(), ""),
		bind("owner", &k.Owner, "", owner(), ""),
		bind("project", &k.Project, "", name(), ""),
		bindList("rights", &k.Rights, choice("chat", "read", "write", "operate", "upstream"), ""),
		bindList("models", &k.Models, name(), ""),
		bind("expires", &k.Expires, time.Time{}, dateOrTime(), ""),
		bind("requests_per_day", &k.RequestsPerDay, 0, whole(0, maxPerDay), ""),
		bind("tokens_per_day", &k.TokensPerDay, 0, whole(0, maxPerDay), ""),
	}
}

// maxPerDay is the largest value for a key's limits per day.
const maxPerDay = 1_000_000_000_000

func gatewayPriceFields(p *GatewayPrice) []key {
	return []key{
		bind("model", &p.Model, "", name(), ""),
		bind("input", &p.Input, 0, fraction(1_000_000), ""),
		bind("cached_input", &p.CachedInput, 0, fraction(1_000_000), ""),
		bind("output", &p.Output, 0, fraction(1_000_000), ""),
	}
}

// dateOrTime is a point in time: a date, meaning midnight UTC, or an RFC 3339 time.
func dateOrTime() kind[time.Time] {
	return kind[time.Time]{
		rule{want: "a date or a time", try: "Write it as in 2031-05-01 or 2031-05-01T12:00:00Z.", types: textual},
		func(s string) (time.Time, bool) {
			for _, layout := range []string{time.DateOnly, time.RFC3339} {
				if t, err := time.Parse(layout, s); err == nil {
					return t.UTC(), true
				}
			}
			return time.Time{}, s == ""
		},
		func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return t.UTC().Format(time.RFC3339)
		}}
}

var keyHashForm = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)

// keyHash is the hash of a key. If somebody puts the key itself there, messages don't
// repeat it.
func keyHash() kind[string] {
	k := words("sha256: and 64 hexadecimal digits", "Make a key with ken key create, or with ken serve key and copy the hash that it prints.", keyHashForm.MatchString)
	k.secret = true
	return k
}

// check returns an error for combinations of keys that are not allowed.
func (g *Gateway) check() error {
	if (g.TLSCert == "") != (g.TLSKey == "") {
		return wrong("gateway.tls_cert", "one of certificate and key is missing", "Set both gateway.tls_cert and gateway.tls_key, or neither.")
	}
	names, hashes := map[string]bool{}, map[string]bool{}
	for i, k := range g.Keys {
		at := "gateway.keys[" + strconv.Itoa(i) + "]"
		switch {
		case names[k.Name]:
			return wrong(at+".name", "a second key called "+quote(k.Name), "Give each key a name of its own.")
		case hashes[k.Hash]:
			return wrong(at+".hash", "the same hash as another", "Make a key of its own with ken serve key.")
		}
		names[k.Name], hashes[k.Hash] = true, true
	}
	for i, r := range g.Policy {
		if r.Path != "" && r.Path[0] != '/' && r.Path[0] != '*' {
			return wrong("policy["+strconv.Itoa(i)+"].path", quote(r.Path)+" matches no path", "Begin it with / or *, as in /v1/messages.")
		}
		if r.Key != "" && !names[r.Key] {
			return wrong("policy["+strconv.Itoa(i)+"].key", "no key is called "+quote(r.Key), "Name one of gateway.keys.")
		}
	}
	return nil
}

// UpstreamKey returns the API key that is sent to the upstream for clients; "" for none.
func (g *Gateway) UpstreamKey() string { return variableValue(g.UpstreamKeyEnv) }

// AnthropicKey returns the API key that is sent to Anthropic's API for clients; "" for
// none.
func (g *Gateway) AnthropicKey() string { return variableValue(g.AnthropicKeyEnv) }

// UnsetVariables returns the settings that name an environment variable for an API key, and the
// variable, where it is empty or not set.
func (g *Gateway) UnsetVariables() map[string]string {
	unset := map[string]string{"gateway.upstream_key_env": g.UpstreamKeyEnv, "gateway.anthropic_key_env": g.AnthropicKeyEnv}
	maps.DeleteFunc(unset, func(_, name string) bool { return name == "" || variableValue(name) != "" })
	return unset
}

func variableValue(name string) string {
	if name == "" {
		return ""
	}
	return os.Getenv(name)
}

// PolicyRule says which model calls get knowledge and are learned from. It matches a call
// that meets every condition that is set. In patterns, * matches any characters, and case
// does not matter.
type PolicyRule struct {
	Model string // pattern of the model that the request names
	Path  string // pattern of the request's path
	Agent string // pattern of the agent's name, or of its whole User-Agent
	Key   string // name of a key of gateway.keys
	Tools *bool  // whether the request offers tools

	Knowledge *bool // whether a block is added; nil is true
	Learn     *bool // whether the call is journaled and harvested; nil is true
}

// policyKeys returns the single key of the section policy, which is a list: it has the
// section's name.
func policyKeys(rules *[]PolicyRule) []key {
	k := bindRecords("", rules, policyFields, nil,
		"The first rule that matches a call applies. A rule matches if all its conditions hold: model, path and agent are patterns with * "+
			"for any characters, key is the name of one of gateway.keys, tools says whether the request offers any. knowledge: false adds no "+
			"block, and learn: false keeps nothing. Both are true by default, so a rule without them exempts calls from the rules below, and "+
			"from being treated as side calls.")
	k.example = policyExample
	return []key{k.withConsentRule(needsConsent("which calls get knowledge and are learned from"))}
}

const policyExample = `  - agent: nightly-report*
    learn: false
  - model: "*embed*"
    tools: false
    knowledge: false
    learn: false
`

func policyFields(r *PolicyRule) []key {
	return []key{
		bind("model", &r.Model, "", pattern(), ""),
		bind("path", &r.Path, "", pattern(), ""),
		bind("agent", &r.Agent, "", pattern(), ""),
		bind("key", &r.Key, "", name(), ""),
		bind("tools", &r.Tools, nil, optionalBool(), ""),
		bind("knowledge", &r.Knowledge, nil, optionalBool(), ""),
		bind("learn", &r.Learn, nil, optionalBool(), ""),
	}
}

// pattern is one line of text in which * matches any characters.
func pattern() kind[string] {
	k := name()
	k.want, k.try = "a pattern", "Write it as in gpt-4o-mini or claude-*, in quotes where it begins with a star."
	return k
}

// optionalBool is true, false, or unset, which is nil.
func optionalBool() kind[*bool] {
	return kind[*bool]{rule{want: "true or false", types: boolean},
		func(s string) (*bool, bool) {
			b := s == "true"
			return &b, s == "true" || s == "false"
		},
		func(b *bool) string {
			if b == nil {
				return ""
			}
			return strconv.FormatBool(*b)
		}}
}

// optionalFlag is true, false or auto, which is nil.
func optionalFlag() kind[*bool] {
	k := optionalBool()
	parse, format := k.parse, k.format
	k.want, k.brief, k.types = "auto, true or false", "auto | true | false", slices.Concat(textual, boolean)
	k.parse = func(s string) (*bool, bool) {
		if s == "auto" {
			return nil, true
		}
		return parse(s)
	}
	k.format = func(b *bool) string {
		if b == nil {
			return "auto"
		}
		return format(b)
	}
	return k
}

// Tools selects the tools that are listed to an agent.
type Tools struct {
	Profile string // profiles and names of tools, separated by commas
}

var toolNames = lazyregexp.New(`^[a-z0-9_]+( *, *[a-z0-9_]+)*$`)

func (t *Tools) keys() []key {
	return []key{
		bind("profile", &t.Profile, "core", words("names of profiles and tools, separated by commas", "Write it as in core,code.", toolNames.MatchString),
			"The tools that are listed: profiles (core, memory, code, decisions, all) and names of tools, separated by commas. Each tool "+
				"costs tokens in every request of the agent; docs/tools.md has the figures. A tool that is not listed can still be called by "+
				"name."),
	}
}

// Telemetry configures where events and traces of turns go.
type Telemetry struct {
	Events string // folder; relative to the project's root unless absolute
	Traces string // the URL of an OpenTelemetry collector; empty leaves it to the environment
}

func (t *Telemetry) keys() []key {
	return []key{
		bind("events", &t.Events, ".ken/state/events", path(),
			"The folder of the events, one file of JSON lines per session, those of other owners in owners/NAME, relative to the project's root. To write none, set "+
				"middleware.events to false.").withConsentRule(inFolder(".ken")),
		bind("traces", &t.Traces, "", address(),
			"The address to which ken serve sends OpenTelemetry traces: an OTLP collector over HTTP, such as http://localhost:4318. Empty: "+
				"OTEL_EXPORTER_OTLP_ENDPOINT, or none if that is not set. Traces contain names, numbers and times, but no text of messages.").withConsentRule(needsConsent(reachAddress)),
	}
}

// Upstream is the model that answers.
type Upstream struct {
	BaseURL   string        // of the API, version included; empty means there is none
	Model     string        // for requests that Ken makes itself; empty means gpt-4o-mini in a chat, and no model for the harvest
	APIKeyEnv string        // environment variable that holds the key; empty sends none
	Timeout   time.Duration // of a whole model call, streaming included
}

// defaultChatModel is the model of ken chat and ken ask if none is configured.
const defaultChatModel = "gpt-4o-mini"

// ChatModel returns the model for ken chat and ken ask.
func (u Upstream) ChatModel() string { return cmp.Or(u.Model, defaultChatModel) }

func (u *Upstream) keys() []key {
	return []key{
		bind("base_url", &u.BaseURL, "", address(),
			"The address of the chat and embeddings API, version included, such as https://api.openai.com/v1 or http://localhost:11434/v1. "+
				"Empty: no model is called, and ken ask prints only the block.").withConsentRule(needsConsent(reachAddress)),
		bind("model", &u.Model, "", optional(),
			"The model for calls that Ken itself makes: in ken chat and ken ask, and, if harvest.model is empty, for harvesting sessions and "+
				"filing claims. Programs that call through Ken name their own model. Empty: "+defaultChatModel+" in ken chat and ken ask, and no model for the harvest.").withConsentRule(needsConsent(reachModel)),
		bind("api_key_env", &u.APIKeyEnv, "OPENAI_API_KEY", variable(),
			"The environment variable that holds the API key, never the key itself. Empty: no key is sent.").withConsentRule(needsConsent(reachKey)),
		bind("timeout", &u.Timeout, 2*time.Minute, span(time.Second, time.Hour),
			"The timeout of one model call, streaming included."),
	}
}
