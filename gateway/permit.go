package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
)

// authorize checks whether the key may send this request to the upstream, and counts the request.
func (c *call) authorize() *fault {
	if !c.who.Can(access.Upstream) && c.usesUpstreamKey() && !c.mayUseUpstreamKey() {
		return missingRight(access.Upstream)
	}
	if c.leavesHTTP() && c.who.Limited() {
		return &fault{status: http.StatusUpgradeRequired, code: "limits_need_http", msg: "this key has limits, which are not applied over a WebSocket",
			try: "Ask over HTTP."}
	}
	if f := c.authorizeModel(); f != nil {
		return f
	}
	return c.spendBudget()
}

// usesUpstreamKey reports whether the request will be sent with the gateway's own key for the
// upstream: it has a Ken key and no key for the upstream.
func (c *call) usesUpstreamKey() bool {
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

// modelPaths lists paths without a route of their own that call a model or count its tokens.
var modelPaths = []string{compact, countMessages, countInput}

const (
	compact       = "/v1/responses/compact"
	countMessages = "/v1/messages/count_tokens"
	countInput    = "/v1/responses/input_tokens"
)

// mayUseUpstreamKey reports whether any key may use the upstream's key for this request: a model
// call, embeddings, the list of models or a token count.
func (c *call) mayUseUpstreamKey() bool {
	switch {
	case c.route == model, c.route == embeddings, c.route == models:
		return true
	case c.r.Method == http.MethodPost:
		return slices.Contains(modelPaths, c.raw)
	case c.r.Method == http.MethodGet && c.leavesHTTP():
		return c.raw == "/v1/responses"
	case c.r.Method == http.MethodGet:
		name, ok := strings.CutPrefix(c.raw, "/v1/models/")
		return ok && validModelPath(name)
	}
	return false
}

// leavesHTTP reports whether a request asks to switch protocols. The gateway does not see the data
// that follows.
func (c *call) leavesHTTP() bool {
	to := c.r.Header.Get("Upgrade")
	return to != "" && !strings.EqualFold(to, "h2c") // h2c is not passed on
}

// validModelPath reports whether a model's name, used in a path, can't lead to another path,
// however the upstream parses it.
func validModelPath(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.Trim(part, ".") == "" || strings.ContainsFunc(part, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._:@", r)
		}) {
			return false
		}
	}
	return true
}

// authorizeModel refuses a request for a model that the key may not use, and one whose model is
// unclear.
func (c *call) authorizeModel() *fault {
	if len(c.who.Models) == 0 || c.body == nil {
		return nil
	}
	if c.skipReason() != "" {
		return c.unknownModel()
	}
	if f := c.readBody(); f != nil {
		return f
	}
	if !c.isWhole {
		return c.unknownModel()
	}
	name, ok := modelInBody(c.whole)
	if !ok {
		return c.unknownModel()
	}
	return c.checkModel(name)
}

// checkModel returns a fault if the key may not use the model.
func (c *call) checkModel(name string) *fault {
	c.requestedModel = name
	if c.who.Allows(name) {
		return nil
	}
	return &fault{status: http.StatusForbidden, code: "model_not_allowed", msg: "this key may not ask the model " + strconv.Quote(shorten(name)),
		try: "Ask one of " + strings.Join(c.who.Models, ", ") + "."}
}

func (c *call) unknownModel() *fault {
	return &fault{status: http.StatusForbidden, code: "model_unknown", msg: "this key may ask some models alone, and the request does not say plainly which one it asks",
		try: "Send JSON with one field called model, not compressed; models that this key may ask: " + strings.Join(c.who.Models, ", ") + "."}
}

// modelInBody returns the model that a request names. ok is false unless exactly one field has the
// name "model", ignoring case: if there were two, the upstream might use the other one.
func modelInBody(body []byte) (name string, ok bool) {
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

// spendBudget counts a request against the key's daily budget and in its usage.
func (c *call) spendBudget() *fault {
	counting := c.raw == countMessages || c.raw == countInput
	if counting || c.route == models || c.route == socketRoute || c.route == pass && c.r.Method != http.MethodPost {
		return nil
	}
	reached, wait := c.g.o.beside.Usage.Spend(c.who.Name, c.who.RequestsPerDay, c.who.TokensPerDay)
	if reached == usage.Free {
		c.countUsage = true
		return nil
	}
	most := c.who.RequestsPerDay
	if reached == usage.Tokens {
		most = c.who.TokensPerDay
	}
	return &fault{status: http.StatusTooManyRequests, code: "budget_reached", msg: "this key has used its " + strconv.Itoa(most) + " " + string(reached) + " of today",
		try: "Come back after midnight UTC, or ask who runs the gateway for more.", retry: int(wait/time.Second) + 1}
}
