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

// Resolved is the configuration of a project, and how it was combined from its three
// layers: the defaults, the user's own file, and the project's file.
type Resolved struct {
	Config Config
	Root   string // the project's folder
	User   string // the user's own file; empty when there is none
	File   string // the project's file, or the one that the user chose instead; empty when there is none

	// Withheld lists settings of the project's file that do not apply until the user
	// consents to them with ken trust.
	Withheld []Withheld
	// Asks lists all settings that need consent, whether it was given or not.
	Asks []Withheld

	// StateAt is the state folder as configured. If Foreign is not empty, that folder is
	// not used, because it was not created on this machine by this user; Foreign is the
	// reason, and Config has another folder.
	StateAt string
	Foreign string

	chosen bool            // the user named File, and it is not the project's
	hash   string          // of everything that a consent covers
	user   map[string]bool // keys that the user's file sets
	file   map[string]bool // keys that File sets
}

// Withheld is one setting of a project's file that needs consent.
type Withheld struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as in the file's YAML; for a list of mappings, one per line
	Why   string `json:"why"`   // what the key decides
}

// Resolve returns the configuration of the project in root: the defaults, the user's own
// file, and file, or the one that Find finds if file is empty. A file in the project
// counts as the project's, whoever named it. Its settings that only tune Ken's work in the
// project apply at once. The others apply after the user's consent, which is bound to the
// file's content. Any other file was chosen by the user and applies completely.
//
// Errors are those of Load. If the state can't be used and there is no folder for another,
// the error is ErrUnavailable, and the result is returned as well.
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

// Given is Resolve for a configuration that the program provides: all of it applies. A
// state folder in the project is used if it was created here; one that the program names
// by an absolute path is always used. Errors: those of Resolve about a state.
func Given(root string, c Config) (*Resolved, error) {
	r := &Resolved{Root: root, Config: c, StateAt: c.State(root), chosen: true}
	if filepath.IsAbs(c.Knowledge.DBPath) {
		return r, nil
	}
	return r, r.placeState()
}

// userFile reads the user's own file, unless it is in the project.
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

// projectFile applies the settings of the project's file that are allowed.
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
	// If its name or its target is in the project, it may come from a clone.
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
	r.dropForeignKeys(&beneath)
	return r.Config.Validate()
}

// listWithheld collects the settings of the project's file that need consent.
func (r *Resolved) listWithheld(beneath, whole *Config) {
	below, with := beneath.keys(), whole.keys()
	for i := range with {
		k := &with[i]
		if !r.file[k.path] {
			continue
		}
		if p := (proposal{r.Root, below[i].get(), k.get(), beneath}); !k.allows(p) {
			r.Asks = append(r.Asks, Withheld{Key: k.path, Value: k.shownWhole(), Why: k.consentRule().why + r.outsideTargets(k)})
		}
	}
}

// outsideTargets returns where the paths of a key lead if they leave the project.
func (r *Resolved) outsideTargets(k *key) string {
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

// shownWhole formats a key's value as in its file, mappings of a list one per line.
func (k *key) shownWhole() string {
	if k.element != nil { // mappings
		return strings.Join(k.get(), "\n")
	}
	return k.value(k.get())
}

// overlay applies the settings that need no consent. If they are invalid without the
// others, the invalid ones are withheld as well.
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

// agreed reports whether the user consented to what the project's file sets for a key.
func (r *Resolved) agreed(path string) bool {
	return slices.ContainsFunc(r.Asks, func(w Withheld) bool { return w.Key == path }) && !r.withholds(path)
}

func (r *Resolved) withholds(path string) bool {
	return slices.ContainsFunc(r.Withheld, func(w Withheld) bool { return w.Key == path })
}

// dropForeignKeys removes a key variable of a lower layer when a higher layer changes the address
// that the key belongs to.
func (r *Resolved) dropForeignKeys(beneath *Config) {
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

// digest returns a hash of everything that a consent covers: the file, and the targets of
// its paths.
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

// placeState decides which state folder is used.
func (r *Resolved) placeState() error {
	c := &r.Config
	r.StateAt = c.State(r.Root)
	defer r.keepEvents()
	const key = "knowledge.db_path"
	agreed := r.agreed(key)
	byUser := (!r.file[key] || r.chosen) && !trust.Inside(filepath.Clean(r.Root), filepath.Clean(r.StateAt)) // a link that leads out of the project is not the user's choice
	st, err := trust.FindState(r.Root, r.StateAt, agreed || byUser)
	r.Foreign = st.Foreign
	if st.Dir == r.StateAt {
		if agreed {
			c.Knowledge.DBPath = st.Dir // absolute, so that Given accepts it unchanged
		}
		return nil
	}
	if err == nil {
		r.moveState(st.Dir)
		return nil
	}
	r.moveState(filepath.Join(os.DevNull, "state")) // a path below a file, which can't be opened
	return &ken.Error{Code: ken.CodeUnavailable, Msg: r.StateAt + " is not used, because " + cmp.Or(st.Foreign, "no home folder gets one"), Err: err, Try: ken.Hint(err)}
}

// keepEvents writes the events into the state folder if a link of the project would lead
// them elsewhere, unless the user consented to that.
func (r *Resolved) keepEvents() {
	c := &r.Config
	const key = "telemetry.events"
	at := InProject(r.Root, c.Telemetry.Events)
	agreed := r.agreed(key)
	given := r.file == nil && filepath.IsAbs(c.Telemetry.Events) // set by a program, or by an earlier Resolve
	switch {
	case given:
	case agreed:
		c.Telemetry.Events = at // absolute, so that Given accepts it unchanged
	case trust.Inside(filepath.Clean(r.Root), filepath.Clean(at)) && !trust.Inside(trust.Real(r.Root), trust.Real(at)):
		c.Telemetry.Events = filepath.Join(c.State(r.Root), "events")
	}
}

// moveState changes the state folder, and that of the events if it was inside it.
func (r *Resolved) moveState(dir string) {
	c := &r.Config
	events := InProject(r.Root, c.Telemetry.Events)
	if byDefault := !r.file["telemetry.events"] && !r.user["telemetry.events"]; byDefault || trust.Inside(trust.Real(r.StateAt), trust.Real(events)) {
		c.Telemetry.Events = filepath.Join(dir, "events")
	}
	c.Knowledge.DBPath = dir
}

// Elsewhere moves the state to a folder of the user, so that nothing is created in the
// project's folder. An existing state stays in use. The error is ErrUnavailable if there
// is no such folder.
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

// Trusted reports whether all of the project's configuration and its state apply.
func (r *Resolved) Trusted() bool { return len(r.Withheld) == 0 && r.Foreign == "" }

// Notice describes in one line what of the project does not apply; empty if all does.
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
		if n == 1 {
			said += " does not count"
		} else {
			said += " do not count"
		}
		parts = append(parts, r.inProject(r.File)+" is not trusted, so "+said)
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

// From returns the layer that sets the value of a key: the path of a file, or FromDefault.
func (r *Resolved) From(path string) string {
	switch {
	case r.file[path] && !r.withholds(path):
		return r.File
	case r.user[path]:
		return r.User
	}
	return FromDefault
}

// Hash identifies everything that a consent to the project's file covers; empty when no
// consent is needed.
func (r *Resolved) Hash() string { return r.hash }

// MakeState creates the state folder of the project in root before something is written
// into it, and marks it as created here. The error is ErrUnavailable if this user has no
// folder for the secret of the mark.
func (c Config) MakeState(root string) error {
	return trust.Mark(root, c.State(root))
}
