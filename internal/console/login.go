package console

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/access"
)

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
