package reading

import (
	"slices"
	"strings"
	"sync"
)

// deeds are, by what one does, the names of what it is done with or to: whoever installs a
// package has to know the rule on the package manager. The first words are verbs, the second
// nouns; a text that has one of each is about the names. Without verbs, a noun is enough, and
// without nouns a verb. A word ends with * where anything may follow.
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

// deed is a row of deeds, ready to be looked up.
type deed struct {
	verbs, nouns []stem
	names        []string
}

// stem is a word that is looked for, or with open the beginning of one.
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

// maxDeedWords bounds the words of a text that are looked at for what is done.
const maxDeedWords = 400

// Deeds returns the names that what is done in a text has to do with, spelled as
// analysis.Entity does, each once: packages and their managers for "install pandas". They
// are only names that something may be filed under; the text need not have them.
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
