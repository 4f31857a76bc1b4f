package taint

import (
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"
)

// token is a part of a text that is distinctive without context.
type token struct {
	hash  uint64
	chars int
	sort  sort
	// within holds the hashes of what contains it. A trusted text that names one of
	// them allows the token.
	within []uint64
}

// sort is how a token counts.
type sort uint8

const (
	sure   sort = iota
	unsure      // it may be a host or a name in a program; not indexed for claims
	parent      // it contains another token; not indexed for claims, and a file's name does not allow its folder
)

// sureIf returns sure if is holds, and unsure otherwise.
func sureIf(is bool) sort {
	if is {
		return sure
	}
	return unsure
}

// tokensOf returns the tokens in lower-case text.
func tokensOf(s string) []token {
	var t tokens
	for i := 0; i < len(s); {
		start, telling := i, false
		for i < len(s) && !isSeparator(s[i]) {
			telling = telling || tokenBytes[s[i]]
			i++
		}
		if i > start && !telling {
			continue // an ordinary word
		}
		if i > start {
			t.chunk(strings.Trim(s[start:i], ".:!?*_~-\\^#"))
			continue
		}
		i++
	}
	t.numbers(s)
	t.switches(s)
	return t.list
}

// tokenBytes marks bytes of which every token has at least one.
var tokenBytes = func() (t [256]bool) {
	for _, c := range []byte("./@:~\\0123456789") {
		t[c] = true
	}
	for _, s := range secretFiles { // id_rsa
		if !strings.ContainsAny(s, "./@:~\\0123456789") {
			t['_'] = true
		}
	}
	return t
}()

// isSeparator reports whether a byte ends a chunk: white space, and characters around
// addresses in prose and commands.
func isSeparator(c byte) bool { return separators[c] }

var separators = func() (t [256]bool) {
	for c := range ' ' + 1 {
		t[c] = true
	}
	for _, c := range []byte("\"'`<>(){}[],;|&=") {
		t[c] = true
	}
	return t
}()

type tokens struct{ list []token }

func (t *tokens) add(kind, s string, as sort, within ...uint64) {
	t.list = append(t.list, token{hash: hash(kind + s), chars: utf8.RuneCountInString(s), sort: as, within: within})
}

// maxChunk bounds what is read of one chunk, in bytes. No working address is longer.
const maxChunk = 2048

// chunk reads the text between two separators.
func (t *tokens) chunk(c string) {
	if len(c) < 4 {
		return
	}
	c = c[:min(len(c), maxChunk)]
	if t.mail(c) {
		return
	}
	if t.address(c) || t.path(c) {
		return
	}
	t.blob(c)
}

// mail reads local@host, but not the user in a URL.
func (t *tokens) mail(c string) bool {
	c = strings.TrimPrefix(c, "mailto:")
	at := strings.IndexByte(c, '@')
	if at <= 0 || strings.ContainsAny(c[:at], "/:") {
		return false
	}
	host, _, _ := strings.Cut(c[at+1:], "/")
	host, _, _ = strings.Cut(host, "?")
	if !isHostForm(host) {
		return false
	}
	// The host is not distinctive: everybody in a company has the same one.
	t.add("m", c[:at]+"@"+host, sure)
	if !wellKnown[host] {
		t.hosts(host, parent)
	}
	return true
}

// blob reads keys, hashes and encoded text. They have a part in which letters and
// digits alternate randomly, which identifiers don't.
func (t *tokens) blob(c string) {
	if len(c) < 14 {
		return
	}
	if isUUID(c) {
		t.add("b", c, sure)
		return
	}
	for part := range strings.FieldsFuncSeq(c, func(r rune) bool { return strings.ContainsRune("-_./:+@$%", r) }) {
		if isRandom(part) {
			t.add("b", c, sure)
			if part != c {
				t.add("b", part, sure)
			}
			return
		}
	}
}

// isRandom reports whether s is a generated string of at least fourteen characters:
// hex, or letters and digits that alternate.
func isRandom(s string) bool {
	if len(s) < 14 {
		return false
	}
	var digits, letters, hexes, turns int
	var count [256]int
	for i := range len(s) {
		c := s[i]
		count[c]++
		switch {
		case digit(c):
			digits++
		case letter(c):
			letters++
		default:
			return false
		}
		if unhex(c) >= 0 {
			hexes++
		}
		if i > 0 && digit(c) != digit(s[i-1]) {
			turns++
		}
	}
	if digits < 3 || letters < 3 {
		return false
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 2.8 && (hexes == len(s) || turns >= 4 && digits*100 >= 15*len(s))
}

// isUUID reports whether v is a UUID in the 8-4-4-4-12 form.
func isUUID(v string) bool {
	return len(v) == 36 && uuid.Validate(v) == nil
}

// A word's weight is how significant it is that two texts share it: 0 for words that
// are everywhere, and the maximum for words that are dangerous in a command.
const (
	weightNone  = 0
	weightUsual = 1
	weightOwn   = 2
	weightRisk  = 3
)

// dangerous words make a short command significant.
var dangerous = set(`
	rm -rf -fr -r dd mkfs shred wipe format
	curl wget nc ncat netcat socat telnet ssh scp sftp rsync ftp tftp nslookup dig
	sudo su doas chmod chown chattr setfacl visudo usermod useradd passwd
	eval exec source base64 xxd bash sh zsh powershell pwsh iex iwr irm certutil bitsadmin mshta rundll32 osascript
	--force --no-verify --insecure --privileged --delete --hard --mirror --no-check-certificate --allow-root --yolo
	--extra-index-url --index-url --registry --trusted-host --unsafe-perm --dangerously-skip-permissions --no-sandbox
	crontab systemctl launchctl iptables ufw setenforce insmod ld_preload
	drop truncate delete grant revoke alter
	install clone
	authorized_keys id_rsa id_ed25519 sudoers shadow passwd
	xargs nohup disown kubectl terraform
`)

// ordinary returns the ordinary words of prose and programs, besides those in empty.
var ordinary = sync.OnceValue(func() map[string]bool {
	return set(`
	able about above across after again against all almost alone along already also although always among another any anybody anyone
	anything around asked asks away back became because become becomes been before began behind being below best better between big both
	call called calls can't case cases change changed changes check checks clear close come comes common complete could day days default describe
	different does doesn't done don't down during each early either else end ends enough even ever every everybody everyone everything example
	examples exit fact failed fails failure far few file files find first fix fixed follow following follows found full further gave general get gets
	getting give given gives goes going good got great group had half happen happens hard having help here high hold home how however hour hours idea
	important include included includes input inside instead issue it's itself just keep keeps kind knew know known large last later latest least left
	less let like likely line lines list little live local long longer look looking looks low made main make makes making many matter may maybe mean
	means member message messages might minute minutes more most much must name names near need needed needs never new next night no nobody none note
	nothing now number numbers of off often old once one ones only open order other others our out output over own part parts people per person place
	please point possible present problem problems put question questions quite ran rather read ready real really reason result results return returned
	returns right run running runs said same save saw say says second seconds see seem seems seen set sets several shall she should show showed shown shows
	side simple simply since small so some somebody someone something soon start started starts state states still stop such support sure take taken takes
	tell test tests text than thank thanks that that's their them then there these they thing things think this those though thought three through time
	times today together told too took toward try trying turn two type types under until upon use used useful user users uses using usually value values
	version very via want wanted wants was way ways week weeks well went were what when where whether which while who whole whose why will with within
	without won't word words work worked working works would write written wrong wrote year years yes yet you your
	api app args array async await bin bool break build builds byte bytes cat catch cd class client clients cmd code com command commands commit
	config const container content context count create created cursor data database date debug dev dir docs double echo else elif empty env err error errors
	event events exception export fail false field fields float folder for foreach format from func function functions git github go golang grep handler
	header headers host html http https id if image import index init install int interface internal item items java javascript js json key keys len length
	let lib license licensed link local log logs loop ls make map match max md method methods min mod model module mv net new nil node npm null object
	option options org output package page parameter params parse pass passed path pattern pip port print private process program project public push
	py python query queue read readme record records request requests require requires response return root route rust schema script select self server
	service services size sql src static status stderr stdin stdout stream string struct style sum switch system table tag target task temp template
	temperature title tmp token tokens tool tools true type typescript undefined update updated url utf var void volume warning web x y yaml yml
	body div span href color width label button text input form charset application
	account address compliance copy customer except partner payment payments team
	i'm thank hi hello dear regards best
`)
})

// empty holds function words.
var empty = set(`
	a an and are as at be but by do for from has have he her his i if in into is it its me my not of on or s so t than that the their them they
	this to us was we were will with you your
`)

// weights maps the words above to their weights.
var weights = sync.OnceValue(func() map[string]uint8 {
	out := map[string]uint8{}
	for w := range ordinary() {
		out[w] = weightUsual
	}
	for w := range dangerous {
		out[w] = weightRisk
	}
	for w := range empty {
		out[w] = weightNone
	}
	return out
})

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// weigh returns a word's weight. The word must be in lower case.
func weigh(w []byte) uint8 {
	if have, ok := weights()[string(w)]; ok {
		return have
	}
	if len(w) <= 2 || w[0] == '-' {
		return weightUsual
	}
	return weightOwn
}

// protections are parts of the names of environment variables that disable a
// protection or load other code.
var protections = []string{"tls", "ssl", "verify", "insecure", "unauthorized", "preload", "proxy", "trust", "auth_", "_opts", "_options", "sandbox"}

// switches reads assignments to such variables: NODE_TLS_REJECT_UNAUTHORIZED=0.
func (t *tokens) switches(s string) {
	for i := 0; ; {
		eq := strings.IndexByte(s[i:], '=')
		if eq < 0 {
			return
		}
		at := i + eq
		i = at + 1
		from, to := at, i
		for from > 0 && (wordByte(s[from-1]) || s[from-1] == '_') {
			from--
		}
		for to < len(s) && to < i+64 && !isSeparator(s[to]) {
			to++
		}
		name := s[from:at]
		if len(name) >= 8 && to > i && strings.Contains(name, "_") && slices.ContainsFunc(protections, func(p string) bool { return strings.Contains(name, p) }) {
			t.add("a", s[from:to], sure)
		}
	}
}

// Bounds of the number of digits of accounts, cards and telephones.
const minDigits, maxDigits = 10, 34

// numbers reads long numbers in groups, as people write them: "DE89 3704 0044 …" and
// "+49 (170) 555-01" are one number each. The first group of an account number may
// begin with letters. Timestamps and dates are left out.
func (t *tokens) numbers(s string) {
	var buf [maxDigits]byte
	for i := 0; i < len(s); i++ {
		if !digit(s[i]) || i > 0 && wordByte(s[i-1]) && !prefixed(s, i) {
			continue
		}
		n, j := 0, i
		for gap := 0; j < len(s) && n < len(buf) && gap < 3; j++ {
			if digit(s[j]) {
				buf[n], gap = s[j], 0
				n++
			} else if gap++; strings.IndexByte(" -().+/", s[j]) < 0 {
				break
			}
		}
		if number := string(buf[:n]); n >= minDigits && !isTimestamp(number) && !startsWithDate(s[i:j]) {
			t.add("n", number, sure)
		}
		i = max(i, j-1)
	}
}

// prefixed reports whether the digits at i follow the two letters of a country, as in
// de89.
func prefixed(s string, i int) bool {
	return i >= 2 && letter(s[i-1]) && letter(s[i-2]) && (i == 2 || !wordByte(s[i-3]))
}

// isTimestamp reports whether n is a time in seconds, milliseconds, microseconds or
// nanoseconds since 1970.
func isTimestamp(n string) bool {
	return (len(n) == 10 || len(n) == 13 || len(n) == 16 || len(n) == 19) && (n[0] == '1' || n[0] == '2')
}

// startsWithDate reports whether s begins with a date with dashes, dots or slashes.
func startsWithDate(s string) bool {
	return len(s) >= 10 && (s[4] == '-' || s[4] == '.' || s[4] == '/') && (s[0] == '1' || s[0] == '2')
}

// secretFiles are parts of paths to files that should not be read.
var secretFiles = []string{".ssh/", "id_rsa", "id_ed25519", "authorized_keys", ".aws/credentials", ".git-credentials", ".netrc", ".kube/config",
	".docker/config", "/etc/passwd", "/etc/shadow", "/etc/sudoers", "/etc/cron", ".bash_history", ".gnupg/", "wallet.dat", "/proc/self/environ"}

// roots are the first folders of paths outside a project. A path with another first
// part may be a route of an API.
var roots = set(`home users root etc var srv opt mnt media data private volumes boot proc sys run tmp workspace workspaces`)

// minPathParts and minPathBytes are the minimum depth and length of a distinctive
// path: /srv/data/x.
const minPathParts, minPathBytes = 3, 12

// maxPathParts is the maximum depth of a path; each of its folders is looked up.
const maxPathParts = 64

// path reads a path outside a project, or a path to a secret wherever it is.
func (t *tokens) path(c string) bool {
	c = strings.ReplaceAll(c, `\`, "/")
	if i := strings.IndexByte(c, ':'); i == 1 { // a drive
		c = c[2:]
	} else if i > 0 && strings.HasPrefix(c[i+1:], "/") { // host:/path, and file:///path
		c = c[i+1:]
	}
	for _, s := range secretFiles {
		if i := strings.Index(c, s); i >= 0 {
			t.add("s", strings.TrimRight(c[i:], "/"), sure)
			return true
		}
	}
	c = strings.TrimRight(c, "/")
	parts := strings.Split(strings.TrimLeft(c, "/"), "/")
	home := strings.HasPrefix(c, "~/") || strings.HasPrefix(c, "$home/")
	if !home && (!strings.HasPrefix(c, "/") || !roots[parts[0]]) || len(parts) < 2 {
		return false
	}
	if len(parts) > maxPathParts {
		return false
	}
	var folders []string
	for n, f := len(parts)-1, c; n >= 2; n-- {
		f = f[:strings.LastIndexByte(f, '/')]
		folders = append(folders, f)
	}
	var within []uint64
	for i := len(folders) - 1; i >= 0; i-- {
		t.add("p", folders[i], parent, within...)
		within = append(within[:len(within):len(within)], hash("p"+folders[i]))
	}
	t.add("p", c, sureIf(len(parts) >= minPathParts && len(c) >= minPathBytes), within...)
	return true
}
