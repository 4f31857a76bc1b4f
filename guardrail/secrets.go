package guardrail

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is a credential in a text: the bytes text[Start:End].
type Finding struct {
	Kind       string // kind of credential, such as github-token; it is in the marker of Redact
	Start, End int
}

// Redact replaces every finding of Secrets by a marker with its kind, such as
// [redacted:github-token]. It returns the findings with their positions in the original
// text. A text without findings is returned unchanged.
func Redact(text string) (string, []Finding) {
	found := Secrets(text)
	if len(found) == 0 {
		return text, nil
	}
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for _, f := range found {
		b.WriteString(text[done:f.Start])
		b.WriteString("[redacted:")
		b.WriteString(f.Kind)
		b.WriteByte(']')
		done = f.End
	}
	b.WriteString(text[done:])
	return b.String(), found
}

// Secrets finds credentials in text:
//
//   - private keys, JSON web tokens, and tokens and keys with a format that their
//     issuers publish;
//   - passwords in connection strings, command lines, .netrc and .pgpass, the
//     credentials of Authorization headers, and values in Kubernetes manifests of kind
//     Secret;
//   - values that are assigned to a name like password or api_key;
//   - passwords, PINs and recovery codes in a sentence ("the password for staging is
//     …"), in a dozen languages. Near such a word, or in its column of a table, a word
//     that looks like a password or a generated key is found without a link.
//
// Most formats are rules of gitleaks; see gitleaks_rules.go, which also lists the rules
// that are left out, and why. Findings are in order and don't overlap. Of a connection
// string, an assignment or a sentence, only the value is found, so that its purpose stays
// readable.
//
// It is built for few false alarms, since readers lose what it finds. Digests, commit
// hashes, UUIDs, placeholders ("<your key>", "sk-...", "${TOKEN}", "xxxx") and names of
// variables are not secrets. A password of letters alone is found in configuration, in
// quotes, and at the end of a sentence such as "the password is …" if it does not read as a
// description, but not in code. A secret without a known format, and
// without a known name or word before it, is not found. So it reduces the risk of a leak
// and does not exclude it.
//
// Text is read as it is. Use Sanitize first to find secrets that invisible characters
// hide.
func Secrets(text string) []Finding {
	f := finder{text: text, detectors: anchors()}
	for i := 0; i+4 <= len(text); i++ {
		key := anchorKey(text, i)
		h := anchorHash(key)
		if anchorBits[h>>5]&(1<<(h&31)) == 0 {
			continue
		}
		if h = anchorRehash(key); anchorAgain[h>>5]&(1<<(h&31)) != 0 {
			i = f.at(i, key)
		}
	}
	n := len(f.found)
	for _, m := range f.manifests {
		f.found = m.find(f.found, text)
	}
	f.found = append(f.found, f.columns...)
	if len(f.found) > n {
		return merged(f.found)
	}
	return f.found
}

// finder collects the findings in a text.
type finder struct {
	text      string
	detectors map[uint32][]detector
	found     []Finding
	manifests manifests
	columns   []Finding // findings in columns of tables
	table     int       // end of the last table that was read
	last      int       // end of the last finding in found
}

// at calls the detectors of an anchor, and returns the position at which to continue.
func (f *finder) at(i int, key uint32) int {
	if key == kindKey {
		f.manifests.add(f.text, i)
	}
	if columnKeys[key] && i >= f.table {
		var below []Finding
		below, f.table = findColumns(f.text, i)
		f.columns = append(f.columns, below...)
	}
	for _, find := range f.detectors[key] {
		x, ok := find(f.text, i)
		if x.Start = max(x.Start, f.last); ok && x.Start < x.End {
			if x.Kind == "token" || x.Kind == "secret" { // a known format is more specific than the word before it
				if in := Secrets(f.text[x.Start:x.End]); len(in) > 0 && in[0].Start == 0 {
					x.Kind = in[0].Kind
				}
			}
			f.found = append(f.found, x)
			f.last = x.End
			return max(i, x.End-1)
		}
	}
	return i
}

// merged sorts findings, and merges those that overlap.
func merged(found []Finding) []Finding {
	slices.SortFunc(found, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	out := found[:1]
	for _, f := range found[1:] {
		if last := &out[len(out)-1]; f.Start < last.End {
			last.End = max(last.End, f.End)
			continue
		}
		out = append(out, f)
	}
	return out
}

// shape is a credential that is recognised by its issuer's format.
type shape struct {
	kind, prefix string
	min, max     int // number of bytes after the prefix; a max of 0 is no limit
	body         func(byte) bool
}

// shapes lists the formats. Of two with the same beginning, the longer prefix comes first.
var shapes = []shape{
	{"aws-access-key", "AKIA", 16, 16, upperDigit},
	{"aws-access-key", "ASIA", 16, 16, upperDigit},
	{"gcp-api-key", "AIza", 35, 35, wordDash},
	{"gcp-token", "ya29.", 20, 0, wordDash},
	{"gcp-client-secret", "GOCSPX-", 20, 0, wordDash},
	{"azure-sas", "sig=", 40, 0, percentBase64},
	{"github-token", "ghp_", 36, 0, alnum},
	{"github-token", "gho_", 36, 0, alnum},
	{"github-token", "ghu_", 36, 0, alnum},
	{"github-token", "ghs_", 36, 0, alnum},
	{"github-token", "ghr_", 36, 0, alnum},
	{"github-token", "github_pat_", 36, 0, wordDash},
	{"gitlab-token", "glpat-", 20, 0, wordDash},
	{"gitlab-token", "gldt-", 20, 0, wordDash},
	{"gitlab-token", "glrt-", 20, 0, wordDash},
	{"slack-token", "xoxa-", 20, 0, wordDash},
	{"slack-token", "xoxb-", 20, 0, wordDash},
	{"slack-token", "xoxe-", 20, 0, wordDash},
	{"slack-token", "xoxp-", 20, 0, wordDash},
	{"slack-token", "xoxr-", 20, 0, wordDash},
	{"slack-token", "xoxs-", 20, 0, wordDash},
	{"slack-token", "xapp-", 20, 0, wordDash},
	{"slack-webhook", "hooks.slack.com/services/", 30, 0, wordSlash},
	{"stripe-key", "sk_live_", 16, 0, alnum},
	{"stripe-key", "sk_test_", 16, 0, alnum},
	{"stripe-key", "rk_live_", 16, 0, alnum},
	{"stripe-key", "rk_test_", 16, 0, alnum},
	{"stripe-key", "whsec_", 24, 0, alnum},
	{"anthropic-key", "sk-ant-", 24, 0, wordDash},
	{"openai-key", "sk-proj-", 24, 0, wordDash},
	{"openai-key", "sk-svcacct-", 24, 0, wordDash},
	{"openai-key", "sk-admin-", 24, 0, wordDash},
	{"openai-key", "sk-or-v1-", 32, 0, alnum},
	{"openai-key", "sk-", 32, 0, alnum},
	{"npm-token", "npm_", 36, 0, alnum},
	{"pypi-token", "pypi-AgEI", 40, 0, wordDash},
	{"huggingface-token", "hf_", 34, 0, alnum},
	{"groq-key", "gsk_", 40, 0, alnum},
	{"xai-key", "xai-", 60, 0, alnum},
	{"nvidia-key", "nvapi-", 50, 0, wordDash},
	{"tavily-key", "tvly-", 24, 0, wordDash},
	{"replicate-token", "r8_", 37, 0, alnum},
	{"cerebras-key", "csk-", 40, 0, alnum},
	{"docker-token", "dckr_pat_", 20, 0, wordDash},
	{"mailgun-key", "key-", 32, 32, hexLower},
	{"vault-token", "hvb.", 24, 0, wordDash},
	{"atlassian-api-token", "ATATT3", 100, 0, tokenByte},
	{"sentry-token", "sntrys_", 60, 0, tokenByte},
	{"facebook-token", "EAA", 100, 0, alnum},
	{"discord-webhook", "discord.com/api/webhooks/", 60, 0, webhookByte},
	{"docker-token", "dckr_oat_", 20, 0, wordDash},
	{"supabase-key", "sbp_", 40, 0, alnum},
	{"supabase-key", "sb_secret_", 20, 0, wordDash},
	{"tailscale-key", "tskey-", 20, 0, wordDash},
	{"figma-token", "figd_", 30, 0, wordDash},
	{"notion-token", "ntn_", 40, 0, alnum},
	{"posthog-key", "phx_", 36, 0, alnum},
	{"digitalocean-token", "dop_v1_", 64, 64, alnum},
	{"vault-token", "hvs.", 24, 0, wordDash},
	{"bearer-token", "Bearer ", 20, 0, tokenByte},
}

func hexLower(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

func webhookByte(c byte) bool { return wordDash(c) || c == '/' }

// minDistinct is the minimum number of different characters in a real key. Made-up keys
// (xxxx, 1111, abcabc) have fewer.
const minDistinct = 8

func (sh shape) find(s string, i int) (Finding, bool) {
	if !strings.HasPrefix(s[i:], sh.prefix) || i > 0 && wordDash(s[i-1]) {
		return Finding{}, false
	}
	start := i + len(sh.prefix)
	end := start
	for end < len(s) && sh.body(s[end]) {
		end++
	}
	body := s[start:end]
	if len(body) < sh.min || sh.max > 0 && len(body) > sh.max || isPlaceholder(body) || distinct(body) < minDistinct {
		return Finding{}, false
	}
	if digits(body) < 2 && sh.kind != "aws-access-key" && !shuffled(body) && !(len(sh.prefix) > 4 && bothCases(body) >= 4) {
		return Finding{}, false // words joined by dashes, or the name of a variable
	}
	switch sh.kind {
	case "bearer-token", "azure-sas": // the prefix is no part of the secret
		if entropy(body) < 3.5 {
			return Finding{}, false
		}
		return Finding{sh.kind, start, end}, true
	}
	return Finding{sh.kind, i, end}, true
}

// bothCases returns the number of capitals or of small letters, whichever is less.
func bothCases(v string) int {
	upper, lower := 0, 0
	for i := range len(v) {
		switch {
		case 'A' <= v[i] && v[i] <= 'Z':
			upper++
		case 'a' <= v[i] && v[i] <= 'z':
			lower++
		}
	}
	return min(upper, lower)
}

// shuffled reports whether letters change their case too often for words.
func shuffled(v string) bool {
	n := 0
	for i := 1; i < len(v); i++ {
		if letter(v[i]) && letter(v[i-1]) && (v[i]^v[i-1])&0x20 != 0 {
			n++
		}
	}
	return len(v) >= 16 && n*3 > len(v)
}

// findJWT finds header.payload.signature, the first two of which are JSON.
func findJWT(s string, i int) (Finding, bool) {
	if !strings.HasPrefix(s[i:], "eyJ") || i > 0 && wordDash(s[i-1]) {
		return Finding{}, false
	}
	end := i
	for part, min := range [3]int{10, 10, 16} {
		start := end
		if part == 1 && !strings.HasPrefix(s[start:], "eyJ") {
			return Finding{}, false
		}
		for end < len(s) && wordDash(s[end]) {
			end++
		}
		if end-start < min {
			return Finding{}, false
		}
		if part < 2 {
			if end == len(s) || s[end] != '.' {
				return Finding{}, false
			}
			end++
		}
	}
	return Finding{"jwt", i, end}, true
}

// issued are words at the end of a prefix with which issuers mark a credential.
var issued = []string{"sk", "pat", "key", "tok", "tkn", "token", "api", "secret", "_live"}

// findIssued finds a credential of an issuer that is in no list. It has a prefix in lower
// case that ends with a word of issued and with _ or -, and then random letters of both
// cases and digits. i is at that word.
func findIssued(s string, i int) (Finding, bool) {
	const least, maxPrefix = 20, 24
	from, end := i, i
	for from > 0 && i-from < maxPrefix && (wordDash(s[from-1]) && (s[from-1] < 'A' || s[from-1] > 'Z')) {
		from--
	}
	for end < len(s) && 'a' <= s[end] && s[end] <= 'z' {
		end++
	}
	if end == len(s) || s[end] != '_' && s[end] != '-' || from > 0 && (alnum(s[from-1]) || s[from-1] == '.' || s[from-1] == '/') {
		return Finding{}, false
	}
	word := s[from:end]
	if !slices.ContainsFunc(issued, func(w string) bool { return strings.HasSuffix(word, w) }) {
		return Finding{}, false
	}
	start := end + 1
	for end = start; end < len(s) && wordDash(s[end]); end++ {
	}
	v := s[start:end]
	run, longest := 0, 0
	for k := range len(v) {
		if run++; !alnum(v[k]) {
			run = 0
		}
		longest = max(longest, run)
	}
	return Finding{"issued-token", from, end}, longest >= least && digits(v) >= 3 && strings.ToLower(v) != v && strings.ToUpper(v) != v && entropy(v) > 3.5 && !isPlaceholder(v)
}
