package config

import (
	"math"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/spelling"
)

// unknown is the error for a key that does not exist, with the nearest that does.
func unknown(path string, sections []section) error {
	e := &ken.Error{Code: ken.CodeInvalid, Field: path, Msg: "unknown key"}
	parent, leaf := split(path)
	var known []string // keys of the same section
	var all []string
	for _, s := range sections {
		if up, name := split(s.name); up == parent {
			known = append(known, name)
		}
		if !s.isList() {
			all = append(all, s.name)
		}
		for _, k := range s.keys {
			if s.name == parent {
				known = append(known, strings.TrimPrefix(k.path, s.name+"."))
			}
			all = append(all, k.path)
		}
	}
	switch near := nearest(path, all); {
	case looksSecret(leaf):
		e.Msg = "unknown key, and secrets don't belong into the file"
		e.Try = "Put the secret into an environment variable, and name the variable in upstream.api_key_env or knowledge.embed_api_key_env."
	case len(near) == 1 && near[0] == path: // in a file, as one word
		e.Try = "Write " + leaf + " on a line of its own under " + parent + ", indented."
	case len(near) == 1:
		e.Try = "Use " + near[0] + "."
		if up, name := split(near[0]); up == "" {
			e.Try = "Use " + name + ", without indentation."
		} else if up != parent {
			e.Try = "Use " + near[0] + " (" + name + " under " + up + ")."
		}
	case len(near) > 1:
		e.Try = "Use " + strings.Join(near, " or ") + "."
	case parent == "":
		e.Try = "Use one of " + strings.Join(known, ", ") + "."
	default:
		e.Try = "Use one of the keys of " + parent + ": " + strings.Join(known, ", ") + "."
	}
	return e
}

// looksSecret reports the name of a key that people put a credential under.
func looksSecret(name string) bool {
	name = strings.ToLower(name)
	for _, s := range []string{"api_key", "apikey", "api-key", "token", "secret", "password"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// nearest returns the paths that somebody who wrote this one most likely meant:
// one as a rule, several when they are as near. Names are compared first,
// whatever section they stand in, then whole paths; two letters in three must
// agree.
func nearest(path string, all []string) []string {
	if slices.Contains(all, path) {
		return []string{path}
	}
	// A wrong section costs half a letter when the right one is inside it, and
	// a letter otherwise; hence everything counts double.
	const letter, inside, elsewhere = 2, 1, 2
	parent, leaf := split(path)
	var best []string
	lowest := math.MaxInt
	for _, candidate := range all {
		up, name := split(candidate)
		d := spelling.Distance(leaf, name)
		cost := letter * d
		switch {
		case 3*d > len(leaf):
			if d = spelling.Distance(path, candidate); 3*d > len(path) {
				continue
			}
			cost = letter * d
		case up == parent:
		case strings.HasPrefix(up, parent+"."):
			cost += inside
		default:
			cost += elsewhere
		}
		if cost < lowest {
			best, lowest = nil, cost
		}
		if cost == lowest {
			best = append(best, candidate)
		}
	}
	return best
}

// split cuts a dotted path before its last name.
func split(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
