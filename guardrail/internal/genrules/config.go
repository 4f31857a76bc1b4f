package main

import (
	"fmt"

	"github.com/BurntSushi/toml"
)

// config is gitleaks' configuration. Fields without a reader are those that may be ignored.
type config struct {
	Title, MinVersion string
	Allowlist         allowlist // for every rule
	Rules             []source
}

// source is a rule of gitleaks.
type source struct {
	ID, Description, Regex, Path string
	Keywords                     []string
	Entropy                      float64
	SecretGroup                  int
	Allowlists                   []allowlist
}

// allowlist describes findings that are no secrets.
type allowlist struct {
	Description string
	RegexTarget string // what the patterns are matched with: the secret if empty, else match or line
	Condition   string // AND: every part has to match
	Regexes     []string
	Stopwords   []string
	Paths       []string
}

// parse parses a configuration. An unknown table or key is an error, so that a new
// version is not used incompletely.
func parse(text string) (c config, err error) {
	known, err := toml.Decode(text, &c)
	if rest := known.Undecoded(); err == nil && len(rest) > 0 {
		err = fmt.Errorf("unknown key %s", rest[0])
	}
	return c, err
}
