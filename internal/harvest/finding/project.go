package finding

import (
	"path"
	"strings"

	"github.com/kenlayer/ken/internal/run/session"
)

// project knows where the project lies on the machine of the session, as far as
// the transcript shows it.
type project struct {
	root string // absolute, "" when unknown
}

// rootOf finds the project's folder by comparing the paths that calls name with
// those that were noted beside the results, and failing that by where commands ran:
// the folder above all others.
func rootOf(tr *session.Transcript, t Tools) string {
	asked := map[string][]string{}
	votes := map[string]int{}
	best, ran := "", ""
	for i := range tr.Entries {
		e := &tr.Entries[i]
		for _, c := range e.Message.ToolCalls {
			tool, ok := t.Lookup(c.Name)
			if !ok {
				continue
			}
			asked[callKey(c.ID, c.Name)] = subjectOf(tool, c.Arguments).paths
			if tool.Role != Run {
				continue
			}
			if dir := path.Clean(readArguments(c.Arguments).folder()); strings.HasPrefix(dir, "/") && strings.Count(dir, "/") > 1 && (ran == "" || len(dir) < len(ran)) {
				ran = dir
			}
		}
		for _, name := range asked[callKey(e.Message.ToolCallID, e.Message.Name)] {
			if name = path.Clean(name); !absolute(name) {
				continue
			}
			for file := range e.Files {
				root, ok := strings.CutSuffix(name, "/"+file)
				if !ok {
					continue
				}
				votes[root]++
				if n := votes[root]; n > votes[best] || n == votes[best] && root < best {
					best = root
				}
			}
		}
	}
	if best == "" {
		return ran
	}
	return best
}

// absolute reports a path that is not relative, in either spelling.
func absolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, "$") || len(p) > 2 && p[1] == ':' && (p[2] == '/' || p[2] == '\\')
}

// relative spells a path from the project's folder, if it lies in it; any other
// stays as it is.
func (p *project) relative(name string) string {
	if name == "" {
		return ""
	}
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if p.root == "" || name == p.root {
		return name
	}
	return strings.TrimPrefix(name, p.root+"/")
}

// outside reports whether a path, once made relative, leads out of the project,
// or into a folder for what does not last. Where the project lies is unknown when
// nobody noted a file's hash; then an absolute path may well be in it.
func (p *project) outside(name string) bool {
	switch {
	case name == "" || name == "." || strings.HasPrefix(name, ".."):
		return true
	case !absolute(name):
		return strings.HasPrefix(name, ".git/")
	}
	for _, passing := range []string{"/tmp/", "/private/", "/var/", "/proc/", "/dev/", "/sys/", "/etc/", "/usr/", "~", "$"} {
		if strings.HasPrefix(name, passing) {
			return true
		}
	}
	return p.root != ""
}

// sensitive reports files that are there to hold secrets: nothing of them is
// noted, not even a hash, which could confirm a guess.
func sensitive(name string) bool {
	base := strings.ToLower(path.Base(name))
	for _, sample := range []string{".example", ".sample", ".template", ".dist"} {
		if strings.HasSuffix(base, sample) {
			return false
		}
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx", ".tfstate", ".tfvars", ".env":
		return true
	}
	return strings.HasPrefix(base, ".env") || strings.HasPrefix(base, "id_rsa") || strings.HasPrefix(base, "id_ed25519") ||
		base == "credentials" || strings.HasPrefix(base, "credentials.") || strings.HasPrefix(base, "secrets.") ||
		base == ".netrc" || base == ".npmrc" || base == ".pgpass" || base == ".git-credentials"
}
