package console

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/store/bolt"
)

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
