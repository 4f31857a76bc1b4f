package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/store"
)

// writeBody is the form of a new claim, as it was filled in.
type writeBody struct {
	Kinds    []ken.Kind
	Statuses []ken.Status
}

func newClaimPage(v *visit) error {
	return v.page("write", page{Title: "Write a claim", Section: secStore, Tab: "Claims", Body: writeBody{
		Kinds:    []ken.Kind{ken.KindFact, ken.KindHot, ken.KindPattern, ken.KindPlaybook, ken.KindFinding},
		Statuses: []ken.Status{ken.StatusObserved, ken.StatusVerified, ken.StatusHypothesis}}})
}

// writeClaim writes what a person says, on that person's word, and on a file or an
// address if one is named.
func writeClaim(v *visit) error {
	now := v.now().UTC()
	c, err := ken.NewClaim(strings.TrimSpace(v.text("text")), ken.FromHumanAssertion(v.who.Name, now, strings.TrimSpace(v.text("note"))))
	if err != nil {
		return err
	}
	if path := strings.TrimSpace(v.text("file")); path != "" {
		e, err := v.fileEvidence(path)
		if err != nil {
			return err
		}
		c.Evidence = append(c.Evidence, e)
	}
	if url := strings.TrimSpace(v.text("url")); url != "" {
		c.Evidence = append(c.Evidence, ken.FromURL(url, now, ""))
	}
	c.Kind, c.Status, c.Heading = ken.Kind(v.text("kind")), ken.Status(v.text("status")), strings.TrimSpace(v.text("heading"))
	c.Tags, c.Entities, c.Constraint = commas(v.text("tags")), commas(v.text("entities")), v.text("constraint") != ""
	c.SourceType, c.Actor, c.Project, c.Importance = "console", v.actor(), v.who.Project, 0.5
	if s := strings.TrimSpace(v.text("scope")); s != "" {
		if c.Scope, err = ken.ParseScope(s); err != nil {
			return err
		}
	}
	if s := strings.TrimSpace(v.text("days")); s != "" {
		days, err := strconv.Atoi(s)
		if err != nil || days < 1 || days > 36500 {
			return &ken.Error{Code: ken.CodeInvalid, Field: "days", Msg: "not a number of days from 1 to 36500", Try: "Leave it empty for a claim that does not expire."}
		}
		c.ExpiresAt = now.Add(time.Duration(days) * 24 * time.Hour)
	}
	if c.Kind == ken.KindDocument || c.Kind.Structural() {
		return &ken.Error{Code: ken.CodeRefused, Field: "kind", Msg: "a claim of kind " + string(c.Kind) + " is not written by hand",
			Try: "Documents are files of the project; what things are and depend on is changed on their pages."}
	}
	return v.withStore(func(s store.Engine) error {
		c.Owner = s.Owner()
		id, err := s.WriteClaim(v.ctx(), c)
		if err != nil {
			return err
		}
		return v.did(pathOf("claims", id), "written")
	})
}

// commas takes a list apart.
func commas(s string) []string {
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// policy lets a page have what this origin serves, and nothing else: no inline script
// or style, no frame around it, no form to elsewhere. Markup that a script puts into
// the page has to pass the one policy that console.js declares for what it fetched.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types ken"

// secure sets what keeps a browser from doing more with a page than to show it.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin") // what is searched for is in the address
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
	h.Set("Cache-Control", "no-store")
}

// secret is 256 random bits.
func secret() (b [32]byte) {
	_, _ = rand.Read(b[:]) // it never fails
	return b
}

// LoginPath is where a visit begins with a key.
const LoginPath = Prefix + "login"

const (
	visitCookie = "ken_visit"
	visitLasts  = 12 * time.Hour // since the last page
	maxVisits   = 1000           // at once; the oldest end
)

// visits remembers who logged in. They end with the process. The zero value with its
// clock set is ready.
type visits struct {
	now func() time.Time
	mu  sync.Mutex
	by  map[[sha256.Size]byte]*visitor // by the hash of the cookie's value
}

// visitor is somebody who logged in.
type visitor struct {
	key   access.Hash
	token [32]byte // of the forms
	seen  time.Time
}

// begin returns the value of a new visit's cookie.
func (s *visits) begin(with access.Hash) string {
	id := secret()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var oldest [sha256.Size]byte
	var last *visitor
	for key, v := range s.by {
		if now.Sub(v.seen) > visitLasts {
			delete(s.by, key)
		} else if last == nil || v.seen.Before(last.seen) {
			oldest, last = key, v
		}
	}
	if len(s.by) >= maxVisits {
		delete(s.by, oldest)
	}
	if s.by == nil {
		s.by = map[[sha256.Size]byte]*visitor{}
	}
	s.by[sha256.Sum256(id[:])] = &visitor{key: with, token: secret(), seen: now}
	return hex.EncodeToString(id[:])
}

// find returns whose visit a request belongs to, as long as ring has their key.
func (s *visits) find(r *http.Request, ring *access.Ring) (in visitor, who access.Principal, ok bool) {
	key, ok := visitKey(r)
	if !ok || ring == nil {
		return in, who, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.by[key]
	now := s.now()
	if v == nil || now.Sub(v.seen) > visitLasts {
		delete(s.by, key)
		return in, who, false
	}
	if who, ok = ring.FindHash(v.key); !ok || who.Expired(now) {
		delete(s.by, key)
		return in, access.Principal{}, false
	}
	v.seen = now
	return *v, who, true
}

// end forgets the visit that a request belongs to.
func (s *visits) end(r *http.Request) {
	if key, ok := visitKey(r); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.by, key)
	}
}

func visitKey(r *http.Request) (key [sha256.Size]byte, ok bool) {
	c, err := r.Cookie(visitCookie)
	if err != nil {
		return key, false
	}
	id, err := hex.DecodeString(c.Value)
	return sha256.Sum256(id), err == nil && len(id) == sha256.Size
}

// cookie is what a browser keeps. Lax: a link in a message leads to the page, and no
// form of another site is sent with it.
func (v *visit) cookie(name, value string, lasts time.Duration) {
	c := &http.Cookie{Name: name, Value: value, Path: Prefix, HttpOnly: true, Secure: v.con.o.Secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(lasts.Seconds())}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(v.w, c)
}

type loginPage struct {
	Next    string
	Unknown bool // the key is nobody's
}

func loginForm(v *visit) error {
	if v.who.Owner != "" {
		return v.to(v.next())
	}
	return v.page("login", page{Title: "Log in", Status: http.StatusUnauthorized, Body: loginPage{Next: v.next()}})
}

func login(v *visit) error {
	key := strings.TrimSpace(v.r.PostFormValue("key"))
	if ring := v.con.ring.Load(); ring != nil {
		hash := access.HashKey(key)
		if who, ok := ring.FindHash(hash); ok && !who.Expired(v.now()) {
			v.con.visits.end(v.r)
			v.cookie(visitCookie, v.con.visits.begin(hash), visitLasts)
			return v.to(v.next())
		}
	}
	return v.page("login", page{Title: "Log in", Status: http.StatusUnauthorized, Body: loginPage{Next: v.next(), Unknown: true}})
}

func logout(v *visit) error {
	v.con.visits.end(v.r)
	v.cookie(visitCookie, "", 0)
	return v.to(LoginPath)
}

// next is the page that somebody wanted to see before logging in: one of the
// console's own, whatever the request says.
func (v *visit) next() string {
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

// errLogin sends somebody without a visit to the login page.
var errLogin = &ken.Error{Code: ken.CodeRefused, Msg: "nobody is logged in", Try: "Log in with a key of the gateway."}

const (
	themeCookie = "ken_theme"
	ownerCookie = "ken_owner"
	choiceLasts = 400 * 24 * time.Hour // the longest that browsers allow
)

var themes = []string{"light", "dark"}

// theme is what the visitor chose, "" for what the browser prefers.
func theme(r *http.Request) string {
	if c, err := r.Cookie(themeCookie); err == nil && slices.Contains(themes, c.Value) {
		return c.Value
	}
	return ""
}

func chooseTheme(v *visit) error {
	choice := v.text("theme")
	if !slices.Contains(themes, choice) {
		choice = ""
	}
	v.cookie(themeCookie, choice, choiceLasts)
	return v.to(ownPath(v.text("back")))
}

// chosenOwner is whose knowledge a visitor looks at where there are no keys, and so
// everybody may: who was chosen, or who the gateway says.
func (c *Console) chosenOwner(r *http.Request, otherwise string) string {
	if k, err := r.Cookie(ownerCookie); err == nil && slices.Contains(c.owners(), k.Value) {
		return k.Value
	}
	return otherwise
}

// ownersFor are the owners that a visitor can choose among; nil where a key decides,
// and where there is only one.
func (c *Console) ownersFor(*visit) []string {
	if c.ring.Load() != nil {
		return nil
	}
	if all := c.owners(); len(all) > 1 {
		return all
	}
	return nil
}

// owners are those who have a store in this project, and the configured one.
func (c *Console) owners() []string {
	cfg := c.l.Config()
	out := []string{cfg.Knowledge.Owner}
	state := cfg.State(c.l.Root())
	entries, err := os.ReadDir(state)
	if err != nil { // there is nothing yet
		return out
	}
	for _, e := range entries {
		owner, err := url.PathUnescape(e.Name())
		if err != nil || owner == out[0] || bolt.FolderName(owner) != e.Name() {
			continue // no owner's folder
		}
		if _, err := os.Stat(filepath.Join(state, e.Name(), "ken.db")); err == nil {
			out = append(out, owner)
		}
	}
	return out
}

func chooseOwner(v *visit) error {
	choice := v.text("owner")
	if v.con.ring.Load() != nil || !slices.Contains(v.con.owners(), choice) {
		return &ken.Error{Code: ken.CodeRefused, Field: "owner", Msg: "nobody of that name can be chosen", Try: "Choose one of the list, or log in with their key."}
	}
	v.cookie(ownerCookie, choice, choiceLasts)
	return v.to(Prefix)
}

// readError is how a reading of receipts ended.
type readError struct{ err error }

// remember brings what is remembered of turns up to the receipts, or as far as that comes
// within a moment: usually that is all, and for the first page after the start it may take
// seconds. unread says what could not be read, and is missing.
func (v *visit) remember() (unread []string, err error) {
	owner := v.owner()
	c := v.con.catching.get(v, owner, never, func(ctx context.Context, _ *readError) *readError {
		return &readError{v.con.turns.Catch(ctx, owner, v.con.l.Receipts(owner))}
	})
	if c == nil || errors.Is(c.err, context.Canceled) {
		return nil, v.ctx().Err()
	}
	return missing(c.err)
}
