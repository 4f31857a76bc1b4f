package main

import (
	"regexp"
	"strings"
)

// version is a version as Semantic Versioning writes it, without the v.
type version string

// versionOf takes the version that the go command wrote into a program.
func versionOf(module string) version {
	if v, ok := strings.CutPrefix(module, "v"); ok {
		return version(v)
	}
	return "0.0.0-devel" // built from files without git
}

// pseudo is the end of a version that no tag names: the time and the commit.
var pseudo = regexp.MustCompile(`^(?:.*\.)?(\d{14})-([0-9a-f]{12})$`)

// candidate is a version before a release: alpha.1, beta.2, rc.3.
var candidate = regexp.MustCompile(`^(alpha|beta|rc)\.?(\d+)$`)

// parts are release, pre-release and metadata.
func (v version) parts() (release, pre, meta string) {
	release, meta, _ = strings.Cut(string(v), "+")
	release, pre, _ = strings.Cut(release, "-")
	return release, pre, meta
}

// python is the version as PEP 440 writes it.
func (v version) python() string {
	release, pre, meta := v.parts()
	var local []string
	switch p, c := pseudo.FindStringSubmatch(pre), candidate.FindStringSubmatch(pre); {
	case pre == "":
	case c != nil:
		release += map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[c[1]] + c[2]
	case p != nil:
		release += ".dev" + p[1]
		local = append(local, "g"+p[2])
	default:
		release += ".dev0"
		local = append(local, dots(pre))
	}
	if meta != "" {
		local = append(local, dots(meta))
	}
	if len(local) > 0 {
		release += "+" + strings.Join(local, ".")
	}
	return release
}

// deb is the version as Debian and RPM write it: what follows ~ comes before the release.
func (v version) deb() string {
	release, pre, meta := v.parts()
	if pre != "" {
		release += "~" + dots(pre)
	}
	if meta != "" {
		release += "+" + dots(meta)
	}
	return release
}

// apk is the version as Alpine writes it. It has no room for a commit.
func (v version) apk() string {
	release, pre, _ := v.parts()
	switch p, c := pseudo.FindStringSubmatch(pre), candidate.FindStringSubmatch(pre); {
	case pre == "":
		return release
	case c != nil:
		return release + "_" + c[1] + c[2]
	case p != nil:
		return release + "_pre" + p[1]
	}
	return release + "_pre0"
}

var notPlain = regexp.MustCompile(`[^0-9A-Za-z]+`)

// dots joins the words of s by dots.
func dots(s string) string { return strings.Trim(notPlain.ReplaceAllString(s, "."), ".") }
