package console_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/console"
)

func TestTheme(t *testing.T) {
	b := &browser{open(t, bare), map[string]*http.Cookie{}}
	for _, tt := range []struct{ choice, want string }{{"dark", "dark"}, {"light", "light"}, {"purple", ""}, {"", ""}} {
		status, p := b.as(operator).do(http.MethodPost, "/console/theme", url.Values{"theme": {tt.choice}, "back": {"/console/claims"}})
		if status != http.StatusSeeOther || p.location != "/console/claims" {
			t.Errorf("%q: %d %s", tt.choice, status, p.location)
		}
		if _, p = b.as(operator).do(http.MethodGet, "/console/claims", nil); attr(p.one("html"), "data-theme") != tt.want {
			t.Errorf("%q is shown as %q", tt.choice, attr(p.one("html"), "data-theme"))
		}
	}
}

// Where there are no keys, whoever is here may look at any owner's knowledge, and at
// nobody who has none.
func TestChooseAnOwner(t *testing.T) {
	b := &browser{open(t), map[string]*http.Cookie{}}
	_, p := b.as(operator).do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Own)
	if got := p.texts("#owner option"); !slices.Equal(got, []string{ken.DefaultOwner, bob.Owner}) {
		t.Errorf("owners: %v", got)
	}
	token := url.Values{"token": {console.TokenOf(b.con)}, "owner": {bob.Owner}}
	if status, _ := b.as(operator).do(http.MethodPost, "/console/owner", token); status != http.StatusSeeOther {
		t.Fatalf("choose: %d", status)
	}
	_, p = b.as(operator).do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Other)
	p.hides(b.project.Markers.Own)
	for _, nobody := range []string{"eve", "../default", ""} {
		token.Set("owner", nobody)
		if status, _ := b.as(operator).do(http.MethodPost, "/console/owner", token); status != http.StatusForbidden {
			t.Errorf("%q: %d", nobody, status)
		}
	}
	b.cookies["ken_owner"].Value = "eve" // as somebody may write it by hand
	if _, p = b.as(operator).do(http.MethodGet, "/console/claims", nil); len(p.claimLinks()) == 0 {
		t.Error("an owner that there is not shows nothing")
	}
}

// With keys, the key says whose knowledge it is, whatever the cookie does.
func TestOwnerOfAKeyStays(t *testing.T) {
	b, ana, _, _ := keyed(t, nil)
	b.do(http.MethodPost, console.LoginPath, url.Values{"key": {ana}})
	b.cookies["ken_owner"] = &http.Cookie{Name: "ken_owner", Value: bob.Owner}
	_, p := b.do(http.MethodGet, "/console/claims", nil)
	p.says(b.project.Markers.Own)
	p.hides(b.project.Markers.Other)
	if p.has("#owner") {
		t.Error("a key has a choice of owners")
	}
}
