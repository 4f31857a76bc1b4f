package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// credentialHeaders are where clients put the key of an API.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"}

// presented is the key of Ken that a request brings, "" for none: in X-Ken-Key, or
// where the API's own key would be.
func presented(h http.Header) string {
	if key := h.Get("X-Ken-Key"); key != "" {
		return strings.TrimSpace(key)
	}
	for _, name := range credentialHeaders {
		for _, v := range h[name] {
			if key := credential(name, v); isKey(key) {
				return key
			}
		}
	}
	return ""
}

// credential takes the scheme off a header's value.
func credential(name, value string) string {
	value = strings.TrimSpace(value)
	if name != "Authorization" {
		return value
	}
	scheme, key, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

func isKey(s string) bool { return strings.HasPrefix(s, access.KeyPrefix) }

// clean takes out of the headers for the upstream what is for Ken alone, its keys
// first. brought reports whether one of them stood where the API's key would be, or
// in X-Ken-Key.
func clean(h http.Header) (brought bool) {
	for name, values := range h {
		switch {
		case name == "X-Ken-Key":
			brought = true
			delete(h, name)
		case name == "X-Ken" || strings.HasPrefix(name, "X-Ken-"):
			delete(h, name)
		case slices.Contains(credentialHeaders, name) && anyKey(name, values):
			brought = true
			delete(h, name)
		}
	}
	return brought
}

func anyKey(name string, values []string) bool {
	for _, v := range values {
		if isKey(credential(name, v)) {
			return true
		}
	}
	return false
}

// lend puts the upstream's key into a request that brings none of its own.
func (u *upstream) lend(h http.Header) {
	if u.key == "" {
		return
	}
	for _, name := range credentialHeaders {
		if len(h[name]) > 0 {
			return
		}
	}
	if u.anthropic {
		h.Set("X-Api-Key", u.key)
	} else {
		h.Set("Authorization", "Bearer "+u.key)
	}
}

// handedOut returns the keys of a file. A key that was revoked is one that ended then, so
// that whoever brings it is told so.
func handedOut(keys *operator.Keys) ([]config.GatewayKey, error) {
	if keys == nil {
		return nil, nil
	}
	list, err := keys.List()
	out := make([]config.GatewayKey, len(list))
	for i, k := range list {
		out[i] = k.GatewayKey
		if !k.Revoked.IsZero() {
			out[i].Expires = k.Revoked
		}
	}
	return out, err
}

// admitKeys puts cfg in force, with the keys of its own and those that were handed out.
// With keyed, nobody comes in where there are none. The caller holds g.reload, or is New.
func (g *Gateway) admitKeys(cfg config.Gateway, keyed bool) error {
	old, all := g.terms.Load(), cfg
	all.Keys = slices.Clone(cfg.Keys)
	for _, k := range g.handed {
		if slices.ContainsFunc(cfg.Keys, func(c config.GatewayKey) bool { return c.Name == k.Name }) {
			g.o.Log.Warn("a key of the configuration stands in the place of one that was handed out", "key", k.Name)
			continue
		}
		all.Keys = append(all.Keys, k)
	}
	ring, err := Ring(all.Keys, old.owner)
	if err != nil {
		return err
	}
	if ring == nil && keyed {
		ring = access.NewRing()
	}
	g.terms.Store(&servingConfig{cfg, admission{ring: ring, owner: old.owner}})
	g.limits.set(all)
	if g.o.Admitted != nil {
		g.o.Admitted(ring)
	}
	return nil
}

// refreshKeys takes up the keys that were handed out, or revoked, since it last looked. A
// file that can't be read changes nothing.
func (g *Gateway) refreshKeys() {
	if g.o.Keys == nil || !g.o.Keys.Changed() {
		return
	}
	g.reload.Lock()
	defer g.reload.Unlock()
	if !g.o.Keys.Changed() { // another request was faster
		return
	}
	had := g.handed
	handed, err := handedOut(g.o.Keys)
	if err == nil {
		g.handed = handed
		now := g.terms.Load()
		err = g.admitKeys(now.cfg, now.ring != nil) // a file that is gone opens nothing
	}
	if err != nil {
		g.handed = had
		g.o.Log.Error("the keys that were handed out were not read again, and stay as they were", "cause", err, "try", ken.Hint(err))
		return
	}
	g.o.Log.Info("keys changed", "keys", len(handed))
}

func expired(who access.Principal) *fault {
	return &fault{status: http.StatusUnauthorized, code: "expired_key", msg: "this key ended at " + who.Expires.UTC().Format(time.RFC3339),
		try: "Ask who runs the gateway for another one."}
}

// permit checks what a key may ask of the upstream, and counts the request.
func (c *gatewayCall) permit() *fault {
	if !c.who.Can(access.Upstream) && c.borrows() && !c.lendable() {
		return lacks(access.Upstream)
	}
	if c.upgrades() && c.who.Limited() {
		return &fault{status: http.StatusUpgradeRequired, code: "limits_need_http", msg: "this key has limits, which are not applied over a WebSocket",
			try: "Ask over HTTP."}
	}
	if f := c.permitModel(); f != nil {
		return f
	}
	return c.spend()
}

// borrows reports whether the request will carry the gateway's own key of the upstream: it
// brings a key of Ken and no other.
func (c *gatewayCall) borrows() bool {
	if c.up == nil || c.up.key == "" {
		return false
	}
	brought := len(c.r.Header["X-Ken-Key"]) > 0
	for _, name := range credentialHeaders {
		if values := c.r.Header[name]; len(values) > 0 {
			if !anyKey(name, values) {
				return false
			}
			brought = true
		}
	}
	return brought
}

// modelPaths are paths beside those of routes that ask a model, or count for one.
var modelPaths = []string{compact, countMessages, countInput}

const (
	compact       = "/v1/responses/compact"
	countMessages = "/v1/messages/count_tokens"
	countInput    = "/v1/responses/input_tokens"
)

// lendable reports the requests for which every key is lent the upstream's: model calls,
// embeddings, the list of models and counting tokens.
func (c *gatewayCall) lendable() bool {
	switch {
	case c.route == model, c.route == embeddings, c.route == models:
		return true
	case c.r.Method == http.MethodPost:
		return slices.Contains(modelPaths, c.raw)
	case c.r.Method == http.MethodGet && c.upgrades():
		return c.raw == "/v1/responses"
	case c.r.Method == http.MethodGet:
		name, ok := strings.CutPrefix(c.raw, "/v1/models/")
		return ok && modelName(name)
	}
	return false
}

// upgrades reports a request that leaves HTTP, after which the gateway does not see what is
// asked.
func (c *gatewayCall) upgrades() bool {
	to := c.r.Header.Get("Upgrade")
	return to != "" && !strings.EqualFold(to, "h2c") // which is not passed on
}

// modelName reports a name that is no way to another path, however the upstream reads it.
func modelName(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.Trim(part, ".") == "" || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:@", r)
		}) {
			return false
		}
	}
	return true
}

// permitModel refuses a model that the key may not ask. Where it can't be known which one
// is asked, nothing is.
func (c *gatewayCall) permitModel() *fault {
	if len(c.who.Models) == 0 || c.body == nil {
		return nil
	}
	if c.unlookable() != "" {
		return c.unknownModel()
	}
	if f := c.read(); f != nil {
		return f
	}
	if !c.isWhole {
		return c.unknownModel()
	}
	name, ok := modelOf(c.whole)
	if !ok {
		return c.unknownModel()
	}
	return c.permits(name)
}

// permits refuses a model that the key may not ask.
func (c *gatewayCall) permits(name string) *fault {
	c.asks = name
	if c.who.Allows(name) {
		return nil
	}
	return &fault{status: http.StatusForbidden, code: "model_not_allowed", msg: "this key may not ask the model " + strconv.Quote(shorten(name)),
		try: "Ask one of " + strings.Join(c.who.Models, ", ") + "."}
}

func (c *gatewayCall) unknownModel() *fault {
	return &fault{status: http.StatusForbidden, code: "model_unknown", msg: "this key may ask some models alone, and the request does not say plainly which one it asks",
		try: "Send JSON with one field called model, not compressed; models that this key may ask: " + strings.Join(c.who.Models, ", ") + "."}
}

// modelOf is the model that a request names. ok is false unless there is exactly one name,
// whatever the upstream makes of upper and lower case: of two it might take the other one.
func modelOf(body []byte) (name string, ok bool) {
	if !gjson.ValidBytes(body) {
		return "", false
	}
	found := 0
	gjson.ParseBytes(body).ForEach(func(key, value gjson.Result) bool {
		if strings.EqualFold(key.String(), "model") {
			found++
			name, ok = value.String(), value.Type == gjson.String
		}
		return found < 2
	})
	return name, ok && found == 1
}

func shorten(s string) string {
	const most = 96
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// spend counts a request towards the key's budget of the day, and towards its usage.
func (c *gatewayCall) spend() *fault {
	counting := c.raw == countMessages || c.raw == countInput
	if c.g.o.Usage == nil || counting || c.route == models || c.route == socketRoute || c.route == pass && c.r.Method != http.MethodPost {
		return nil
	}
	reached, wait := c.g.o.Usage.Spend(c.who.Name, c.who.RequestsPerDay, c.who.TokensPerDay)
	if reached == usage.Free {
		c.counted = true
		return nil
	}
	most := c.who.RequestsPerDay
	if reached == usage.Tokens {
		most = c.who.TokensPerDay
	}
	return &fault{status: http.StatusTooManyRequests, code: "budget_reached", msg: "this key has used its " + strconv.Itoa(most) + " " + string(reached) + " of today",
		try: "Come back after midnight UTC, or ask who runs the gateway for more.", retry: int(wait/time.Second) + 1}
}
