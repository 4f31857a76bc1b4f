package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/trust"
)

// Resolved is the configuration in force in a project, and what became of each of its
// three layers: the defaults, the user's own file, and the project's.
type Resolved struct {
	Config Config
	Root   string // the project's folder
	User   string // the user's own file; empty when there is none
	File   string // the project's file, or the one that the user chose instead; empty when there is none

	// Withheld lists settings of the project's file that do not apply until the user
	// consents to them with ken trust.
	Withheld []Withheld
	// Asks is all that needs that consent, whether it was given or not.
	Asks []Withheld

	// StateAt is the state folder as configured. Config has another one while Foreign
	// says why that one is not used: it was not made on this machine by this user.
	StateAt string
	Foreign string

	chosen bool            // File was named by the user and is not the project's
	hash   string          // of what a consent covers
	user   map[string]bool // the keys that the user's file sets
	file   map[string]bool // and that File sets
}

// Withheld is one setting of a project's file that needs consent.
type Withheld struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as the file's YAML has it; mappings of a list one a line
	Why   string `json:"why"`   // what the key decides
}

// Resolve returns the configuration in force in the project in root: the defaults, the
// user's own file, and file, or the one that Find finds if file is empty. A file that lies
// in the project is the project's, whoever named it: what it says counts as far as it
// tunes Ken's work in the project, and the rest of it after the user's consent, which is
// bound to the file's content. Any other file was chosen by the user, and counts.
//
// Errors are those of Load. Where the state can't be used and there is no folder for
// another, the error is ErrUnavailable, and the rest is there.
func Resolve(root, file string) (*Resolved, error) {
	r := &Resolved{Root: root, Config: Default()}
	if err := r.userFile(); err != nil {
		return nil, err
	}
	if err := r.projectFile(file); err != nil {
		return nil, err
	}
	return r, r.placeState()
}

// Given is Resolve for a configuration that the program brought: all of it counts. The
// state of the project in root is used if it was made here, and one that the program names
// by an absolute path is used as it is. Errors: as those of Resolve for a state.
func Given(root string, c Config) (*Resolved, error) {
	r := &Resolved{Root: root, Config: c, StateAt: c.State(root), chosen: true}
	if filepath.IsAbs(c.Knowledge.DBPath) {
		return r, nil
	}
	return r, r.placeState()
}

// userFile reads the user's own file, unless the project brought it along.
func (r *Resolved) userFile() error {
	path := trust.ConfigFile()
	if path == "" {
		return nil
	}
	if _, err := os.Stat(path); err != nil || trust.Brought(r.Root, path) {
		return nil
	}
	b, err := readFile(path)
	if err != nil {
		return err
	}
	r.User = path
	r.user, err = decode(&r.Config, path, b)
	return err
}

// projectFile overlays what the project's file may say.
func (r *Resolved) projectFile(path string) error {
	if path == "" {
		var ok bool
		if path, ok = Find(r.Root); !ok {
			return nil
		}
	}
	b, err := readFile(path)
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("find configuration: %w", err)
	}
	r.File = path
	whole := r.Config
	if r.file, err = decode(&whole, path, b); err != nil {
		return err
	}
	// Named in the project or leading into it: either way it may be a clone's.
	root := trust.Real(r.Root)
	r.chosen = !trust.Inside(root, trust.Real(path)) && !trust.Inside(root, filepath.Join(trust.Real(filepath.Dir(abs)), filepath.Base(abs)))
	beneath := r.Config
	if !r.chosen {
		r.listWithheld(&beneath, &whole)
		r.hash = r.digest(b, &whole)
		if len(r.Asks) > 0 && !trust.Given(r.Root, r.hash) {
			r.Withheld = r.Asks
			return r.overlay(&beneath, &whole)
		}
	}
	r.Config = whole
	r.parting(&beneath)
	return r.Config.Validate()
}

// listWithheld lists what of the project's file needs consent.
func (r *Resolved) listWithheld(beneath, whole *Config) {
	below, with := beneath.keys(), whole.keys()
	for i := range with {
		k := &with[i]
		if !r.file[k.path] {
			continue
		}
		if p := (proposal{r.Root, below[i].get(), k.get(), beneath}); !k.allows(p) {
			r.Asks = append(r.Asks, Withheld{Key: k.path, Value: k.shownWhole(), Why: k.consentRule().why + r.leads(k)})
		}
	}
}

// leads says where the paths of a key lead, when they leave the project.
func (r *Resolved) leads(k *key) string {
	var out []string
	for _, w := range k.get() {
		if to := trust.Real(InProject(r.Root, w)); k.reach == reachPath && w != "" && !trust.Inside(trust.Real(r.Root), to) {
			out = append(out, to)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + strings.Join(out, ", ")
}

// shownWhole is a key's value as its file has it, mappings of a list one a line.
func (k *key) shownWhole() string {
	if k.element != nil { // mappings
		return strings.Join(k.get(), "\n")
	}
	return k.value(k.get())
}

// overlay takes over what needs no consent. Where that does not fit together without the
// rest, what does not fit is withheld as well.
func (r *Resolved) overlay(beneath, whole *Config) error {
	for {
		c := *beneath
		to, from := c.keys(), whole.keys()
		for i := range to {
			if r.file[to[i].path] && !r.withholds(to[i].path) {
				if err := to[i].set(from[i].get()); err != nil {
					return to[i].at(err)
				}
			}
		}
		err := c.Validate()
		e, ok := errors.AsType[*ken.Error](err)
		if err == nil || !ok || !r.file[e.Field] || r.withholds(e.Field) {
			r.Config = c
			return err
		}
		i := slices.IndexFunc(from, func(k key) bool { return k.path == e.Field })
		r.Withheld = append(r.Withheld, Withheld{Key: e.Field, Value: from[i].shownWhole(), Why: "nothing without the others"})
	}
}

func (r *Resolved) withholds(path string) bool {
	return slices.ContainsFunc(r.Withheld, func(w Withheld) bool { return w.Key == path })
}

// parting keeps a key from following an address that another file gives: a variable that
// the layers beneath name goes with the address that they name.
func (r *Resolved) parting(beneath *Config) {
	c := &r.Config
	upstream := func(c *Config) string { return c.Upstream.BaseURL }
	anthropic := func(c *Config) string { return c.Gateway.Anthropic + " " + c.Upstream.BaseURL }
	for _, pair := range []struct {
		path    string
		env     *string
		address func(*Config) string
	}{
		{"upstream.api_key_env", &c.Upstream.APIKeyEnv, upstream},
		{"gateway.upstream_key_env", &c.Gateway.UpstreamKeyEnv, upstream},
		{"gateway.anthropic_key_env", &c.Gateway.AnthropicKeyEnv, anthropic},
		{"knowledge.embed_api_key_env", &c.Knowledge.EmbedAPIKeyEnv, func(c *Config) string { return c.EmbedBaseURL() }},
		{"rerank.key_env", &c.Rerank.KeyEnv, func(c *Config) string { return c.Rerank.BaseURL }},
		{"harvest.api_key_env", &c.Harvest.APIKeyEnv, func(c *Config) string { return c.HarvestBaseURL() }},
	} {
		before := strings.TrimSpace(pair.address(beneath))
		if !r.file[pair.path] && pair.address(c) != pair.address(beneath) && (before != "" || r.user[pair.path]) {
			*pair.env = ""
		}
	}
}

// digest is a hash of all that a consent covers: the file, and where its paths lead.
func (r *Resolved) digest(b []byte, whole *Config) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s\n", len(s), s) }
	part("ken configuration 1")
	part(string(b))
	for _, k := range whole.keys() {
		if r.file[k.path] && k.reach == reachPath {
			for _, w := range k.get() {
				part(k.path)
				part(trust.Real(InProject(r.Root, w)))
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// placeState decides where the state is kept.
func (r *Resolved) placeState() error {
	c := &r.Config
	r.StateAt = c.State(r.Root)
	defer r.keepEvents()
	const key = "knowledge.db_path"
	agreed := slices.ContainsFunc(r.Asks, func(w Withheld) bool { return w.Key == key }) && !r.withholds(key)
	byUser := (!r.file[key] || r.chosen) && !trust.Inside(filepath.Clean(r.Root), filepath.Clean(r.StateAt)) // a link that leads out is not their word
	st, err := trust.FindState(r.Root, r.StateAt, agreed || byUser)
	r.Foreign = st.Foreign
	if st.Dir == r.StateAt {
		if agreed {
			c.Knowledge.DBPath = st.Dir // absolute, so that nobody asks again: see Given
		}
		return nil
	}
	if err == nil {
		r.moveState(st.Dir)
		return nil
	}
	r.moveState(filepath.Join(os.DevNull, "state")) // a path below a file: nothing opens it
	return &ken.Error{Code: ken.CodeUnavailable, Msg: r.StateAt + " is not used, because " + cmp.Or(st.Foreign, "no home folder gets one"), Err: err, Try: ken.Hint(err)}
}

// keepEvents has the events written into the state where a link of the project would lead
// them elsewhere, unless the user agreed to that.
func (r *Resolved) keepEvents() {
	c := &r.Config
	const key = "telemetry.events"
	at := InProject(r.Root, c.Telemetry.Events)
	agreed := slices.ContainsFunc(r.Asks, func(w Withheld) bool { return w.Key == key }) && !r.withholds(key)
	given := r.file == nil && filepath.IsAbs(c.Telemetry.Events) // by a program, or by Resolve before
	switch {
	case given:
	case agreed:
		c.Telemetry.Events = at // absolute, so that nobody asks again: see Given
	case trust.Inside(filepath.Clean(r.Root), filepath.Clean(at)) && !trust.Inside(trust.Real(r.Root), trust.Real(at)):
		c.Telemetry.Events = filepath.Join(c.State(r.Root), "events")
	}
}

// moveState keeps the state in another folder, and the events with it where they would lie
// in the state.
func (r *Resolved) moveState(dir string) {
	c := &r.Config
	events := InProject(r.Root, c.Telemetry.Events)
	if byDefault := !r.file["telemetry.events"] && !r.user["telemetry.events"]; byDefault || trust.Inside(trust.Real(r.StateAt), trust.Real(events)) {
		c.Telemetry.Events = filepath.Join(dir, "events")
	}
	c.Knowledge.DBPath = dir
}

// Elsewhere keeps the state in a folder of the user, so that nothing is made in the
// project's. A state that is there already stays in use. The error is ErrUnavailable,
// where there is no such folder.
func (r *Resolved) Elsewhere() error {
	if _, err := os.Lstat(r.Config.State(r.Root)); err == nil {
		return nil
	}
	dir, err := trust.Own(r.Root)
	if err == nil {
		r.moveState(dir)
	}
	return err
}

// Trusted reports whether the whole of the project's configuration and its state count.
func (r *Resolved) Trusted() bool { return len(r.Withheld) == 0 && r.Foreign == "" }

// Notice says in one line what of the project does not count; empty when all does.
func (r *Resolved) Notice() string {
	var parts []string
	if n := len(r.Withheld); n > 0 {
		var keys []string
		for _, w := range r.Withheld[:min(n, 3)] {
			keys = append(keys, w.Key)
		}
		said := strings.Join(keys, ", ")
		if n > len(keys) {
			said += fmt.Sprintf(" and %d more", n-len(keys))
		}
		parts = append(parts, r.inProject(r.File)+" is not trusted, so "+said+" do not count")
	}
	if r.Foreign != "" {
		parts = append(parts, r.inProject(r.StateAt)+" is not used, because "+r.Foreign)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "; ") + ": see ken trust"
}

func (r *Resolved) inProject(path string) string {
	if rel, err := filepath.Rel(r.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// FromDefault is the value of From for a key that no file sets.
const FromDefault = "default"

// From says which layer the value of a key is from: the path of a file, or FromDefault.
func (r *Resolved) From(path string) string {
	switch {
	case r.file[path] && !r.withholds(path):
		return r.File
	case r.user[path]:
		return r.User
	}
	return FromDefault
}

// Hash stands for all that a consent to the project's file covers; empty when there is
// nothing to consent to.
func (r *Resolved) Hash() string { return r.hash }

// MakeState makes the state folder of the project in root before something is written
// into it, and marks it as made here, so that it is known again. The error is
// ErrUnavailable where there is no folder of this user to keep the secret for that.
func (c Config) MakeState(root string) error {
	return trust.Mark(root, c.State(root))
}
