package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/trust"
)

// consentRule decides what a project's file may say at a key before the user consented to
// it. A project may be a clone of a stranger's repository: its file may tune how Ken works,
// and must not choose where text or keys go, what is run, or what is read and written
// outside of its folder, nor take back what the user has made stricter.
type consentRule struct {
	name string
	why  string // what the key decides, when the user is asked
	ok   func(proposal) bool
}

// proposal is a value that a project's file has at a key.
type proposal struct {
	root    string   // the project's folder
	beneath []string // the value without the project's file
	words   []string // the value with it
	below   *Config  // the configuration without the project's file
}

// withConsentRule returns the key with another consent rule than that of its kind.
func (k key) withConsentRule(j consentRule) key {
	k.consent = &j
	return k
}

// consentRule is the key's own, else that of its kind.
func (k *key) consentRule() consentRule {
	switch {
	case k.consent != nil:
		return *k.consent
	case k.reach != "":
		return needsConsent(k.reach)
	}
	return anyValue
}

// allows reports whether a project's value counts without consent.
func (k *key) allows(p proposal) bool {
	return slices.Equal(p.beneath, p.words) || k.consentRule().ok(p)
}

// anyValue is for what only tunes Ken's work inside of the project.
var anyValue = consentRule{"free", "", func(proposal) bool { return true }}

// needsConsent is for what counts after consent alone.
func needsConsent(why string) consentRule {
	return consentRule{"asks", why, func(proposal) bool { return false }}
}

// stricter is for what protects the user: of the values, weakest first, a project may
// choose one that is at least as strict as the user's.
func stricter(why string, values ...string) consentRule {
	return consentRule{"stricter", why, func(p proposal) bool {
		return slices.Index(values, p.words[0]) >= slices.Index(values, p.beneath[0])
	}}
}

// offOnly is for what a project may switch off, and only choose after consent.
func offOnly(why string) consentRule {
	return consentRule{"off", why, func(p proposal) bool { return p.words[0] == HarvestOff }}
}

// less is for how much is kept: a project may have less kept than the user.
func less(why string) consentRule {
	return consentRule{"less", why, func(p proposal) bool {
		n, err := strconv.Atoi(p.words[0])
		most, err2 := strconv.Atoi(p.beneath[0])
		return err == nil && err2 == nil && n <= most
	}}
}

// unlessSet is for what a project may say where the user said nothing.
func unlessSet(why string) consentRule {
	return consentRule{"unless set", why, func(p proposal) bool { return len(p.beneath) == 0 }}
}

// alone is for the owner: where projects share a folder of stores, the name decides whose
// knowledge a project sees.
func alone(why string) consentRule {
	return consentRule{"alone", why, func(p proposal) bool { return !filepath.IsAbs(p.below.Knowledge.DBPath) }}
}

// inFolder is for paths: those that lead into the project's folder below, through no link
// that leaves it, and not into .git.
func inFolder(below, why string) consentRule {
	return consentRule{"in folder", why, func(p proposal) bool {
		return !slices.ContainsFunc(p.words, func(w string) bool { return !leadsInto(p.root, below, w) })
	}}
}

func leadsInto(root, below, path string) bool {
	if path == "" {
		return true
	}
	path = filepath.FromSlash(path)
	if !filepath.IsLocal(path) {
		return false
	}
	root = trust.Real(root)
	at := trust.Real(filepath.Join(root, path))
	rel, err := filepath.Rel(root, at)
	if err != nil || !trust.Inside(filepath.Join(root, below), at) {
		return false
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return !strings.EqualFold(first, ".git")
}
