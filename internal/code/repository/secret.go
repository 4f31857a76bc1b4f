package repository

import (
	"path"
	"slices"
	"strings"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/guardrail"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// secretGlobs are lower-case file names whose whole purpose is to hold secrets.
var secretGlobs = []string{
	".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials", "credentials.json", "credentials.y*ml", "credentials.csv",
	"secrets.json", "secrets.y*ml", "secrets.toml", "secrets.env", "service-account*.json", "service_account*.json",
	"client_secret*.json", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg",
	".pypirc", "kubeconfig", "*.kubeconfig", "*.tfstate", "*.tfstate.backup", "*.tfvars", "*.agekey",
}

// sampleSuffixes mark a file as the example of one that would hold secrets.
var sampleSuffixes = []string{".example", ".sample", ".template", ".dist", ".tmpl", ".defaults"}

// secretFile reports whether the name alone says that a file holds secrets.
func secretFile(rel string) bool {
	base := strings.ToLower(path.Base(rel))
	for _, s := range sampleSuffixes {
		if strings.HasSuffix(base, s) {
			return false
		}
	}
	for _, g := range secretGlobs {
		if globMatch(g, base) {
			return true
		}
	}
	switch dir := path.Base(path.Dir(rel)); dir {
	case ".ssh", ".aws", ".gnupg", ".docker", ".kube":
		return base == "config" || base == "config.json" || dir == ".gnupg"
	}
	return false
}

// npmToken is the line that makes an .npmrc a secret; without one it is settings.
var npmToken = lazyregexp.New(`(?mi)_(authToken|auth|password)\s*=\s*[^\s$]`)

// withholdFile reports whether the content says that no part of a file may be
// shown.
func withholdFile(rel, text string) bool {
	switch path.Base(rel) {
	case ".npmrc", ".yarnrc", ".yarnrc.yml":
		return npmToken.MatchString(text)
	}
	return false
}

// withhold drops the chunks of text that hold any part of a secret, in their
// text or in the heading above it, and says what was dropped.
func withhold(text string, chunks []chunk) ([]ken.Claim, []Withheld) {
	secrets := findSecrets(text)
	claims := make([]ken.Claim, 0, len(chunks))
	var dropped []Withheld
	for _, c := range chunks {
		if i := slices.IndexFunc(secrets, c.holds); i >= 0 {
			dropped = append(dropped, Withheld{Line: c.first, What: secrets[i].kind})
			continue
		}
		claims = append(claims, c.Claim)
	}
	return claims, dropped
}

type secret struct {
	kind, text  string
	first, last int // lines
}

func findSecrets(text string) []secret {
	var out []secret
	line, at := 1, 0
	for _, f := range guardrail.Secrets(text) {
		line += strings.Count(text[at:f.Start], "\n")
		at = f.Start
		out = append(out, secret{f.Kind, text[f.Start:f.End], line, line + strings.Count(text[f.Start:f.End], "\n")})
	}
	return out
}

// holds reports whether any part of a secret stands in the lines of the chunk, or
// all of it in what the chunk repeats from elsewhere.
func (c chunk) holds(s secret) bool {
	return c.first <= s.last && c.last >= s.first ||
		s.text != "" && (strings.Contains(c.Heading, s.text) || strings.Contains(c.Text, s.text))
}
