package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
	"github.com/kenlayer/ken/internal/run/telemetry/usage"
	"github.com/kenlayer/ken/internal/store/bolt"
)

// LoginPath is the page on which a visitor logs in with a key.
const LoginPath = Prefix + "login"

const (
	sessionCookie    = "ken_visit"
	sessionIdleLimit = 12 * time.Hour // since the last request
	maxLogins        = 1000           // at once; the oldest is ended first
)

// loginSessions holds the logged-in visitors in memory, until the process ends. Its zero
// value with a clock is ready to use.
type loginSessions struct {
	now func() time.Time
	mu  sync.Mutex
	by  map[[sha256.Size]byte]*loginSession // keyed by the hash of the cookie's value
}

type loginSession struct {
	key   access.Hash
	token [32]byte // required in the session's forms
	seen  time.Time
}

// begin starts a login session and returns the value of its cookie.
func (s *loginSessions) begin(with access.Hash) string {
	id := randomToken()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest [sha256.Size]byte
	var last *loginSession
	for key, v := range s.by {
		if now.Sub(v.seen) > sessionIdleLimit {
			delete(s.by, key)
		} else if last == nil || v.seen.Before(last.seen) {
			oldest, last = key, v
		}
	}
	if len(s.by) >= maxLogins {
		delete(s.by, oldest)
	}
	if s.by == nil {
		s.by = map[[sha256.Size]byte]*loginSession{}
	}
	s.by[sha256.Sum256(id[:])] = &loginSession{key: with, token: randomToken(), seen: now}
	return hex.EncodeToString(id[:])
}

// find returns the login session of a request and its principal, as long as bearer accepts
// the session's key.
func (s *loginSessions) find(r *http.Request, bearer func(access.Hash) (access.Principal, bool)) (in loginSession, who access.Principal, ok bool) {
	key, ok := sessionKey(r)
	if !ok {
		return in, who, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[key]
	now := s.now()
	if v == nil || now.Sub(v.seen) > sessionIdleLimit {
		delete(s.by, key)
		return in, who, false
	}
	if who, ok = bearer(v.key); !ok || who.Expired(now) {
		delete(s.by, key)
		return in, access.Principal{}, false
	}
	v.seen = now
	return *v, who, true
}

func (s *loginSessions) end(r *http.Request) {
	if key, ok := sessionKey(r); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.by, key)
	}
}

func sessionKey(r *http.Request) (key [sha256.Size]byte, ok bool) {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return key, false
	}
	id, err := hex.DecodeString(c.Value)
	return sha256.Sum256(id), err == nil && len(id) == sha256.Size
}

// cookie returns a cookie of the console. It is SameSite=Lax, so a link from elsewhere
// works, but a form of another site is sent without it.
func (v *visit) cookie(name, value string, lasts time.Duration) {
	c := &http.Cookie{Name: name, Value: value, Path: Prefix, HttpOnly: true, Secure: v.con.opts.Secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(lasts.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

type loginPage struct {
	Next    string
	Unknown bool // no such key exists
	Ended   bool // a form was sent after the visit had ended
}

func loginForm(v *visit) error {
	if v.principal.Owner != "" {
		return v.redirect(v.loginNext())
	}
	// ken prints a link with the local key of the server that it started. The key is valid
	// until that server ends.
	if key := v.param("key"); v.con.isLocal(access.HashKey(key)) && v.logIn(key) {
		return v.redirect(v.loginNext())
	}
	return v.page("login", page{Title: "Log in", Status: http.StatusUnauthorized, Body: loginPage{Next: v.loginNext(), Ended: v.param("ended") != ""}})
}

func login(v *visit) error {
	if v.logIn(v.r.PostFormValue("key")) {
		return v.redirect(v.loginNext())
	}
	return v.page("login", page{Title: "Log in", Status: http.StatusUnauthorized, Body: loginPage{Next: v.loginNext(), Unknown: true}})
}

// logIn starts a login session with a key. It returns false if the key is unknown.
func (v *visit) logIn(key string) bool {
	hash := access.HashKey(strings.TrimSpace(key))
	who, ok := v.con.bearer(hash)
	if !ok || who.Expired(v.now()) {
		return false
	}
	v.con.logins.end(v.r)
	v.cookie(sessionCookie, v.con.logins.begin(hash), sessionIdleLimit)
	return true
}

// bearer returns the principal of the key with this hash.
func (c *Console) bearer(h access.Hash) (access.Principal, bool) {
	if c.isLocal(h) {
		return access.Principal{Name: access.Local, Owner: c.layer.Config().Knowledge.Owner, Rights: access.Rights()}, true
	}
	if ring := c.ring.Load(); ring != nil {
		return ring.FindHash(h)
	}
	return access.Principal{}, false
}

// isLocal reports whether h is the hash of Options.LocalKey.
func (c *Console) isLocal(h access.Hash) bool {
	return c.opts.LocalKey != "" && h == access.HashKey(c.opts.LocalKey)
}

// keyed reports whether visitors log in with a key.
func (c *Console) keyed() bool { return c.ring.Load() != nil || c.opts.LocalKey != "" }

func logout(v *visit) error {
	v.con.logins.end(v.r)
	v.cookie(sessionCookie, "", 0)
	return v.redirect(LoginPath)
}

// loginNext returns the page to show after the login. It is always a page of the console,
// whatever the request contains.
func (v *visit) loginNext() string {
	return ownPath(v.r.FormValue("next"))
}

func ownPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, Prefix) || strings.HasPrefix(u.Path, LoginPath) ||
		strings.ContainsAny(s, "\\\r\n\t") || strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/../") {
		return Prefix
	}
	own := u.EscapedPath()
	if u.RawQuery != "" {
		own += "?" + u.RawQuery
	}
	return own
}

// errLogin makes a visitor without a session go to the login page.
var errLogin = &ken.Error{Code: ken.CodeRefused, Msg: "nobody is logged in", Try: "Log in with a key of the gateway."}

const (
	themeCookie     = "ken_theme"
	ownerCookie     = "ken_owner"
	choiceCookieAge = 400 * 24 * time.Hour // the longest that browsers allow
)

var themes = []string{"light", "dark"}

// theme returns the colour scheme that the visitor chose; "" uses the browser's.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && slices.Contains(themes, c.Value) {
		return c.Value
	}
	return ""
}

func setTheme(v *visit) error {
	choice := v.param("theme")
	if !slices.Contains(themes, choice) {
		choice = ""
	}
	v.cookie(themeCookie, choice, choiceCookieAge)
	return v.redirect(ownPath(v.param("back")))
}

// ownerFromCookie returns the owner whose knowledge a visitor sees when no key determines
// it: the one that the visitor chose, or else the gateway's.
func (c *Console) ownerFromCookie(r *http.Request, otherwise string) string {
	if k, err := r.Cookie(ownerCookie); err == nil && slices.Contains(c.knownOwners(), k.Value) {
		return k.Value
	}
	return otherwise
}

// selectableOwners returns the owners that a visitor can choose from. It is nil if a key
// determines the owner, and if there is only one.
func (c *Console) selectableOwners(v *visit) []string {
	if !v.anyOwner {
		return nil
	}
	if all := c.knownOwners(); len(all) > 1 {
		return all
	}
	return nil
}

// knownOwners returns the owners that have a store in this project, and the configured one.
func (c *Console) knownOwners() []string {
	cfg := c.layer.Config()
	out := []string{cfg.Knowledge.Owner}
	state := cfg.State(c.layer.Root())
	entries, err := os.ReadDir(state)
	if err != nil { // the folder does not exist yet
		return out
	}
	for _, e := range entries {
		owner, err := url.PathUnescape(e.Name())
		if err != nil || owner == out[0] || bolt.FolderName(owner) != e.Name() {
			continue // not an owner's folder
		}
		if _, err := os.Stat(filepath.Join(state, e.Name(), "ken.db")); err == nil {
			out = append(out, owner)
		}
	}
	return out
}

func setOwner(v *visit) error {
	choice := v.param("owner")
	if !v.anyOwner || !slices.Contains(v.con.knownOwners(), choice) {
		return &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: "there is no owner of that name to choose", Try: "Choose one of the list, or log in with their key."}
	}
	v.cookie(ownerCookie, choice, choiceCookieAge)
	return v.redirect(Prefix)
}

// keysBody holds the data of the keys page: the usage of the keys, and the keys themselves
// for a visitor who may create them.
type keysBody struct {
	Now      time.Time
	Days     []choice
	Tables   []usageTable
	Warnings []string
	Own      *ownKey // the visitor's key; nil without keys

	Manage  bool
	Members []memberRow
	First   bool // there is no key yet, so the first one closes the gateway to requests without a key
	Keys    []keyRow
	Rights  []rightChoice
	Made    *madeKey // the key just created; nil otherwise
}

// usageTable is usage summed by one field.
type usageTable struct {
	Title, By string
	Rows      []usageRow
	More      int // rows left out
}

type usageRow struct {
	Name                                       string
	Requests, Input, Cached, Output, Unmetered int
	Cost                                       string
}

type keyRow struct {
	operator.Key
	Owner, Rights, Models, Limits string
	State, Tone                   string
	Budgets                       []budgetView
	Configured                    bool // defined in the configuration
	Open                          bool // this visitor can revoke it
}

type rightChoice struct {
	Right access.Right
	On    bool
}

// madeKey is a new key, which is shown only once.
type madeKey struct{ Name, Secret string }

const (
	usageDays = 30
	maxUsed   = 50 // rows of a usage table
)

const stateValid = "valid" // a key's state

func keysPage(v *visit) error { return v.keys(nil) }

func (v *visit) keys(made *madeKey) error {
	b := keysBody{Now: v.now(), Made: made, Manage: v.canManageKeys(), Own: v.ownKey()}
	days := v.intParam("days", usageDays, 1, 366)
	for _, n := range []int{1, 7, usageDays, 366} {
		name := "Last " + plural(n, "day", "days")
		if n == 1 {
			name = "Today"
		}
		b.Days = append(b.Days, choice{Name: name, Path: pathOf("keys") + "?days=" + strconv.Itoa(n), Here: n == days})
	}
	rows, err := v.fillUsage(&b, days)
	if err != nil {
		return err
	}
	if b.Manage {
		if err := v.listKeys(&b); err != nil {
			return err
		}
		b.Members = membersOf(b.Keys, rows)
	}
	return v.page("keys", page{Title: "Members, keys and usage", Section: secHealth, Tab: "Keys", Body: b})
}

// canManageKeys reports whether the visitor may create keys: an operator of the configured
// owner, with a key that has no limits. Operators of other owners may not, because a new key
// could give access to any owner.
func (v *visit) canManageKeys() bool {
	return v.con.opts.Keys != nil && v.canOperate() && v.owner() == v.con.layer.Config().Knowledge.Owner && !v.principal.Limited()
}

// fillUsage sums the usage that the visitor may see, and returns its rows.
func (v *visit) fillUsage(b *keysBody, days int) ([]usage.Row, error) {
	if v.con.opts.Usage == nil {
		return nil, nil
	}
	rows, err := v.con.opts.Usage.Rows(days)
	if b.Warnings, err = splitCorrupt(err); err != nil {
		return nil, err
	}
	configured := v.con.layer.Config().Knowledge.Owner
	rows = slices.DeleteFunc(rows, func(r usage.Row) bool { return !usage.Visible(&r, v.principal, configured) })
	for _, t := range []struct {
		title, by string
		of        func(*usage.Row) string
	}{
		{"By key", "Key", func(r *usage.Row) string { return r.Key + " (" + r.Owner + ")" }},
		{"By model", "Model", func(r *usage.Row) string { return cmp.Or(r.Model, "none answered") }},
		{"By day", "Day", func(r *usage.Row) string { return r.Day }},
	} {
		if len(rows) > 0 {
			b.Tables = append(b.Tables, sumUsage(t.title, t.by, rows, t.of))
		}
	}
	return rows, nil
}

func sumUsage(title, by string, rows []usage.Row, of func(*usage.Row) string) usageTable {
	sums := map[string]*usage.Row{}
	var names []string
	for i := range rows {
		r := &rows[i]
		name := of(r)
		s := sums[name]
		if s == nil {
			s = &usage.Row{}
			sums[name] = s
			names = append(names, name)
		}
		s.Add(r)
	}
	if by != "Day" { // days are in order already
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b].Input+sums[b].Output, sums[a].Input+sums[a].Output) })
	}
	t := usageTable{Title: title, By: by, More: max(0, len(names)-maxUsed)}
	for _, name := range names[:len(names)-t.More] {
		s := sums[name]
		t.Rows = append(t.Rows, usageRow{Name: name, Requests: int(s.Requests), Input: int(s.Input), Cached: int(s.Cached), Output: int(s.Output),
			Unmetered: int(s.Unmetered), Cost: cost(s)})
	}
	return t
}

// cost formats the cost of a row in the currency of gateway.prices. It states the number of
// requests without a price instead of estimating their cost.
func cost(r *usage.Row) string {
	var parts []string
	if r.Cost > 0 {
		parts = append(parts, strconv.FormatFloat(r.Cost, 'f', 4, 64))
	}
	if r.Unpriced > 0 {
		parts = append(parts, plural(int(r.Unpriced), "request", "requests")+" without a price")
	}
	return cmp.Or(strings.Join(parts, ", and "), "–")
}

// listKeys lists the keys, and the choices for a new one.
func (v *visit) listKeys(b *keysBody) error {
	list, err := v.con.opts.Keys.List()
	if err != nil {
		return err
	}
	cfg := v.con.layer.Config()
	for _, k := range list {
		b.Keys = append(b.Keys, v.rowOfKey(k, false))
	}
	for _, k := range cfg.Gateway.Keys {
		b.Keys = append(b.Keys, v.rowOfKey(operator.Key{GatewayKey: k}, true))
	}
	b.First = len(b.Keys) == 0
	for _, r := range access.Rights() {
		if v.principal.Can(r) {
			b.Rights = append(b.Rights, rightChoice{r, b.First && r == access.Operate || r != access.Operate && r != access.Upstream})
		}
	}
	return nil
}

func (v *visit) rowOfKey(k operator.Key, configured bool) keyRow {
	row := keyRow{Key: k, Configured: configured, Owner: cmp.Or(k.Owner, v.con.layer.Config().Knowledge.Owner), Rights: cmp.Or(strings.Join(k.Rights, ", "), "chat, read, write"),
		Models: cmp.Or(strings.Join(k.Models, ", "), "all models"), State: stateValid, Tone: toneSuccess,
		Budgets: v.budgets(k.Name, k.RequestsPerDay, k.TokensPerDay)}
	var limits []string
	if k.RequestsPerDay > 0 {
		limits = append(limits, plural(k.RequestsPerDay, "request", "requests")+" a day")
	}
	if k.TokensPerDay > 0 {
		limits = append(limits, plural(k.TokensPerDay, "token", "tokens")+" a day")
	}
	row.Limits = strings.Join(limits, ", ")
	switch {
	case !k.Revoked.IsZero():
		row.State, row.Tone = "revoked", ""
	case k.Ended(v.now()):
		row.State, row.Tone = "ended", ""
	}
	row.Open = k.Revoked.IsZero() && !configured && k.Name != v.principal.Name
	return row
}

var errKeys = &ken.Error{Code: ken.CodeRefused, Msg: "only an operator of the configured owner, with a key without limits, can create keys",
	Try: "Ask who runs the gateway, or use ken key create where it runs."}

// createKey creates a key and shows it once, in the response to the form.
func createKey(v *visit) error {
	if !v.canManageKeys() {
		return errKeys
	}
	k := config.GatewayKey{Name: strings.TrimSpace(v.param("name")), Owner: strings.TrimSpace(v.param("owner")), Project: strings.TrimSpace(v.param("project")),
		Models: commas(v.param("models")), Rights: v.r.PostForm["rights"]}
	for _, r := range k.Rights {
		if right, err := access.ParseRight(r); err != nil || !v.principal.Can(right) {
			return cmp.Or(err, v.principal.Need(right))
		}
	}
	if len(k.Rights) == 0 {
		return &ken.Error{Code: ken.CodeInvalid, Field: "rights", Msg: "a key needs at least one right", Try: "Choose at least one."}
	}
	if err := v.checkFirstKey(k.Rights); err != nil {
		return err
	}
	var days int
	for _, f := range []struct {
		name string
		to   *int
		most int
	}{{"ends", &days, 36500}, {"requests", &k.RequestsPerDay, 1e12}, {"tokens", &k.TokensPerDay, 1e12}} {
		s := strings.TrimSpace(v.param(f.name))
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > f.most {
			return &ken.Error{Code: ken.CodeInvalid, Field: f.name, Msg: "not a whole number above 0", Try: "Leave it empty for no limit."}
		}
		*f.to = n
	}
	if days > 0 {
		k.Expires = v.now().UTC().Truncate(time.Second).AddDate(0, 0, days)
	}
	secret, made, err := v.con.opts.Keys.Create(v.ctx(), k, v.con.layer.Config().Gateway.Keys)
	if err != nil {
		return err
	}
	v.con.opts.Log.Info("a key was handed out", "key", made.Name, "by", v.principal.Name)
	return v.keys(&madeKey{made.Name, secret})
}

// checkFirstKey refuses a first key that would lock everybody out of what only operators may do.
func (v *visit) checkFirstKey(rights []string) error {
	list, err := v.con.opts.Keys.List()
	if err != nil || len(list)+len(v.con.layer.Config().Gateway.Keys) > 0 {
		return err
	}
	for _, r := range []access.Right{access.Read, access.Operate} {
		if !slices.Contains(rights, string(r)) {
			return &ken.Error{Code: ken.CodeInvalid, Field: "rights", Msg: "with the first key these pages need one too, and nobody would have the right " + string(r),
				Try: "Give the first key the rights read and operate, and keep it. Then make keys with fewer rights."}
		}
	}
	return nil
}

func revokeKey(v *visit) error {
	if !v.canManageKeys() {
		return errKeys
	}
	name := v.r.PathValue("name")
	if name == v.principal.Name {
		return &ken.Error{Code: ken.CodeRefused, Field: "name", Msg: name + " is the key of this visit, and revoking it would lock you out",
			Try: "Log in with another key that has the right operate, or use ken key revoke where the gateway runs."}
	}
	k, err := v.con.opts.Keys.Revoke(v.ctx(), name)
	if err != nil {
		return err
	}
	v.con.opts.Log.Info("a key was revoked", "key", k.Name, "by", v.principal.Name)
	return v.redirectDone(pathOf("keys"), "revoked")
}
