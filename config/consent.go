package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kenlayer/ken/internal/trust"
)

// consentRule decides which values of a key in a project's file apply before the user
// consented to the file. A project may be a clone of a stranger's repository. Its file may
// tune how Ken works. It must not choose where text or keys are sent, what is run, or what
// is read and written outside of its folder, nor weaken the user's settings.
type consentRule struct {
	name string
	why  string // what the key decides, shown when the user is asked
	ok   func(proposal) bool
}

// proposal is a value that a project's file sets at a key.
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

// consentRule returns the key's own rule, or else that of its kind.
func (k *key) consentRule() consentRule {
	switch {
	case k.consent != nil:
		return *k.consent
	case k.reach != "":
		return needsConsent(k.reach)
	}
	return anyValue
}

// allows reports whether a project's value applies without consent.
func (k *key) allows(p proposal) bool {
	return slices.Equal(p.beneath, p.words) || k.consentRule().ok(p)
}

// anyValue is the rule for keys that only tune Ken's work inside the project.
var anyValue = consentRule{"free", "", func(proposal) bool { return true }}

// needsConsent returns the rule for keys that only apply after consent.
func needsConsent(why string) consentRule {
	return consentRule{"asks", why, func(proposal) bool { return false }}
}

// stricter returns the rule for keys that protect the user. values are sorted from weakest
// to strictest. A project may choose a value that is at least as strict as the user's.
func stricter(why string, values ...string) consentRule {
	return consentRule{"stricter", why, func(p proposal) bool {
		return slices.Index(values, p.words[0]) >= slices.Index(values, p.beneath[0])
	}}
}

// offOnly returns the rule for keys that a project may turn off; any other value needs
// consent.
func offOnly(why string) consentRule {
	return consentRule{"off", why, func(p proposal) bool { return p.words[0] == HarvestOff }}
}

// atMostUser returns the rule for limits on what is kept: a project may lower the user's limit.
func atMostUser(why string) consentRule {
	return consentRule{"less", why, func(p proposal) bool {
		n, err := strconv.Atoi(p.words[0])
		most, err2 := strconv.Atoi(p.beneath[0])
		return err == nil && err2 == nil && n <= most
	}}
}

// unlessSet returns the rule for lists that a project may set if the user did not.
func unlessSet(why string) consentRule {
	return consentRule{"unless set", why, func(p proposal) bool { return len(p.beneath) == 0 }}
}

// ownerUnlessShared returns the rule for the owner. If projects share a folder of stores, the owner's
// name decides whose knowledge a project sees.
func ownerUnlessShared(why string) consentRule {
	return consentRule{"alone", why, func(p proposal) bool { return !filepath.IsAbs(p.below.Knowledge.DBPath) }}
}

// inFolder returns the rule for paths: they must be in the folder below of the project,
// must not leave it through a link, and must not be in .git.
func inFolder(below string) consentRule {
	return consentRule{"in folder", reachPath, func(p proposal) bool {
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
