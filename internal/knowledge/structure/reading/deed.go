package reading

import (
	"slices"
	"strings"
	"sync"
)

// deeds maps actions to the names of things that they involve: a rule on the package manager
// matters to a request to install a package. A text with one of the verbs and one of the
// nouns is about the names. If a row has no verbs or no nouns, a word of the other list is
// enough. A word that ends with * matches as a prefix.
var deeds = []struct{ verbs, nouns, names string }{
	{"install* add* upgrade* bump* update* remove* uninstall*", "package packages dependency dependencies library libraries module pandas numpy react django", "npm|pnpm|yarn|bun|pip|uv|poetry|conda|cargo|composer|bundler|go modules|homebrew|nuget|maven|gradle|dependencies|packages|lockfile"},
	{"install* uninstall*", "", "npm|pnpm|yarn|bun|pip|uv|poetry|conda|cargo|composer|bundler|homebrew|dependencies|packages|lockfile"},
	{"deploy* ship* release* rollout roll publish*", "", "deploy|deploys|deployment|deployments|release|releases|production|prod|staging"},
	{"commit* merg* rebas* push* squash*", "", "commit|commits|merge|merges|branch|branches|main|master|pull request|pull requests|prs|git"},
	{"open* creat* review*", "pr prs pull branch branches", "pull request|pull requests|prs|branch|branches|reviews"},
	{"add* creat* drop* chang* alter* build* rename* run*", "index indexes indices column columns table tables schema migration migrations constraint", "index|indexes|indices|migration|migrations|schema|columns|tables|database|databases"},
	{"migrat*", "", "migration|migrations|schema|database|databases"},
	{"write* add* run* fix*", "test tests spec specs", "test|tests|specs|unit tests|integration tests|test suite"},
	{"log logging logs", "", "log|logs|logging"},
	{"format* lint* refactor*", "", "formatting|linter|code style|style"},
	{"rotat* stor* add* share* commit* print*", "secret secrets token tokens key keys password passwords credential credentials", "secret|secrets|token|tokens|keys|passwords|credentials"},
	{"send* write* repl* answer* draft*", "mail mails email emails newsletter letter customer customers", "mail|mails|email|emails|newsletter|newsletters|letters|replies"},
	{"invoice* bill* refund* charg*", "", "invoice|invoices|refund|refunds|amounts|prices"},
	{"", "amount amounts price prices currency cents", "amount|amounts|prices|currency|money"},
	{"schedul* book* mov* cancel*", "meeting meetings appointment call interview", "meeting|meetings|calendar|appointments|interviews"},
	{"restor* back backup*", "", "backup|backups"},
	{"delet* truncat* purg*", "", "deletes|deletion|data retention|retention|backups"},
	{"restart* reboot* scal* fail*", "service server node cluster broker pod pods database replica replicas", "restart|restarts|failover|on call|maintenance|maintenance window"},
}

// deed is a parsed row of deeds.
type deed struct {
	verbs, nouns []stem
	names        []string
}

// stem is a word to match; if open is set, it matches as a prefix.
type stem struct {
	text string
	open bool
}

func stems(list string) (out []stem) {
	for w := range strings.FieldsSeq(list) {
		text, open := strings.CutSuffix(w, "*")
		out = append(out, stem{text, open})
	}
	return out
}

func (s *stem) fits(w string) bool {
	return w == s.text || s.open && len(w) <= len(s.text)+4 && strings.HasPrefix(w, s.text)
}

var deedIndex = sync.OnceValue(func() []deed {
	out := make([]deed, len(deeds))
	for i, d := range deeds {
		out[i] = deed{stems(d.verbs), stems(d.nouns), strings.Split(d.names, "|")}
	}
	return out
})

// maxDeedWords bounds the words of a text that Deeds matches.
const maxDeedWords = 400

// Deeds returns the names of things that the actions in a text involve, in the form of
// analysis.Entity, each once. "install pandas" gives packages and their managers. Claims may
// be filed under these names; the text need not contain them.
func Deeds(text string) (names []string) {
	words := strings.FieldsFunc(strings.ToLower(text[:min(len(text), MaxBytes)]), func(c rune) bool { return (c < 'a' || c > 'z') && c < 0x80 })
	words = words[:min(len(words), maxDeedWords)]
	has := func(list []stem) bool {
		for _, w := range words {
			for i := range list {
				if list[i].fits(w) {
					return true
				}
			}
		}
		return false
	}
	for _, d := range deedIndex() {
		if (len(d.verbs) == 0 || has(d.verbs)) && (len(d.nouns) == 0 || has(d.nouns)) {
			for _, n := range d.names {
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
	}
	return names
}
