package guardrail

import (
	"slices"
	"strings"
)

// shape is a credential that is known by how its issuer writes it.
type shape struct {
	kind, prefix string
	min, max     int // bytes behind the prefix; a max of 0 is no limit
	body         func(byte) bool
}

// shapes lists them; of two that start alike, the longer prefix comes first.
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

// minDistinct is how many different characters a real key of any shape has at
// the least; ones made up by hand (xxxx, 1111, abcabc) have fewer.
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
	if len(body) < sh.min || sh.max > 0 && len(body) > sh.max || placeholder(body) || distinct(body) < minDistinct {
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

// bothCases counts the capitals or the small letters, whichever are fewer.
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

// shuffled reports letters that change their case too often for words.
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

// issued are the words at the end of a prefix by which an issuer marks a credential.
var issued = []string{"sk", "pat", "key", "tok", "tkn", "token", "api", "secret", "_live"}

// findIssued finds a credential of an issuer that is in no list: a prefix in lower case
// that ends in a word of issued and in _ or -, and behind it letters of both cases and
// digits that nobody thinks of. i is that word.
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
	return Finding{"issued-token", from, end}, longest >= least && digits(v) >= 3 && strings.ToLower(v) != v && strings.ToUpper(v) != v && entropy(v) > 3.5 && !placeholder(v)
}
