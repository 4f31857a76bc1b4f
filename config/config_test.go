package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
)

func TestEmptyFileMeansDefaults(t *testing.T) {
	for _, in := range []string{"", "\n", "# nothing\n", "---\n", "null\n", "\uFEFF", "upstream:\n", "upstream: {}\n",
		"retrieval:\n  legs:\n  # keyword: 50\n", "knowledge:\r\nbudget:\r\n"} {
		got, err := config.Parse([]byte(in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if d := cmp.Diff(config.Default(), got); d != "" {
			t.Errorf("%q:\n%s", in, d)
		}
	}
}

func TestDefaultsAreTheContract(t *testing.T) {
	for path, want := range map[string]string{
		"middleware.knowledge": "true", "knowledge.embeddings": "true", "knowledge.owner": "default",
		"budget.chars": "6000", "budget.memory_chars": "8000", "retrieval.deadline": "150ms",
		"retrieval.legs.keyword": "50", "retrieval.legs.vector": "50", "retrieval.pool": "100", "retrieval.rrf_k": "60",
		"retrieval.min_trust": "external", "retrieval.scopes": "", "injection.as": "message", "upstream.timeout": "2m",
	} {
		if got, err := config.Default().Get(path); err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", path, got, err, want)
		}
	}
	if err := config.Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	got, err := config.Parse([]byte(`
upstream: {base_url: http://localhost:11434/v1, model: "llama3.1:8b", api_key_env: ""}
knowledge:
  embed_model: nomic-embed-text
  embed_timeout: 0.5s
middleware:
  vector: false
retrieval:
  legs:
    keyword: 0x14
  floor: 1
  min_trust: agent
  weight: high
  scopes: [repo:github.com/acme/payments, "agent:coder"]
repository:
  exclude:
    - testdata/
    - '*.min.js'
`))
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Upstream.BaseURL, want.Upstream.Model, want.Upstream.APIKeyEnv = "http://localhost:11434/v1", "llama3.1:8b", ""
	want.Knowledge.EmbedModel, want.Knowledge.EmbedTimeout = "nomic-embed-text", 500*time.Millisecond
	want.Middleware.Vector = false
	want.Retrieval.Legs.Keyword, want.Retrieval.Floor = 20, 1
	want.Retrieval.MinTrust, want.Retrieval.Weight = ken.TrustAgent, ken.WeightHigh
	want.Retrieval.Scopes = []ken.Scope{{Type: ken.ScopeRepo, ID: "github.com/acme/payments"}, {Type: ken.ScopeAgent, ID: "coder"}}
	want.Repository.Exclude = []string{"testdata/", "*.min.js"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		field      string
		msg, try   string // parts of each
		keepSecret string // must not be repeated
	}{
		{"misspelled key", "upstream:\n  timoeut: 3s\n", "upstream.timoeut", "unknown key (line 2)", "Use upstream.timeout.", ""},
		{"misspelled section", "retriever:\n  floor: 0.2\n", "retriever", "line 1", "Use retrieval", ""},
		{"key of another section", "\nembed_model: x\n", "embed_model", "line 2", "knowledge.embed_model", ""},
		{"misspelled key of another section", "upstream:\n  embedd_model: x\n", "upstream.embedd_model", "line 2", "knowledge.embed_model", ""},
		{"key of a deeper section", "retrieval:\n  vector: 20\n", "retrieval.vector", "line 2", "retrieval.legs.vector", ""},
		{"key of two other sections", "floor: 0.2\n", "floor", "line 1", "Use middleware.floor or retrieval.floor.", ""},
		{"section one level down", "upstream:\n  budget: {}\n", "upstream.budget", "line 2", "Use budget, without indentation.", ""},
		{"dotted key", "retrieval.floor: 0.2\n", "retrieval.floor", "unknown key", "Write floor on a line of its own under retrieval", ""},
		{"key like no other", "zzzzzzzz: 1\n", "zzzzzzzz", "unknown", "Use one of upstream, knowledge", ""},
		{"key like no other in a section", "breaker: {zzzzzz: 1}\n", "breaker.zzzzzz", "unknown", "keys of breaker: failures, open", ""},
		{"repeated key", "upstream:\n  model: a\n  model: b\n", "upstream.model", "again after line 2 (line 3)", "Keep one", ""},
		{"repeated section", "breaker: {open: 1s}\nbreaker: {open: 2s}\n", "breaker", "again after line 1 (line 2)", "Keep one", ""},
		{"text for a number", "budget: {chars: many}\n", "budget.chars", `"many" is not a whole number from 500`, "Give", ""},
		{"quoted number", "budget: {chars: \"600\"}\n", "budget.chars", `"600" is in quotes`, "Remove the quotes.", ""},
		{"quoted truth", "injection: {sticky: 'true'}\n", "injection.sticky", `"true" is in quotes`, "Remove the quotes.", ""},
		{"quoted word", "injection: {sticky: 'auto'}\n", "injection.sticky", `"auto" is not true or false`, "", ""},
		{"time in days", "session:\n  idle: 1d\n", "session.idle", `"1d" is not a length of time`, "(ms, s, m or h)", ""},
		{"tab", "session:\n\tidle: 30m\n", "", "a tab (line 2)", "Use spaces", ""},
		{"no space after the colon", "session:\n  idle:30m\n", "session", `"idle:30m" is not a section (line 2)`, "Put a space after the colon.", ""},
		{"plain value for a list of sections", "gateway: {keys: abc}\n", "gateway.keys", "is not a list", "Begin each element with a dash", ""},
		{"decimals for a whole number", "budget:\n  chars: 6000.0\n", "budget.chars", "whole number", "", ""},
		{"number out of range", "budget:\n\n  chars: 10\n", "budget.chars", "10", "from 500 to 1000000", ""},
		{"huge number", "budget: {chars: 99999999999999999999999}\n", "budget.chars", "whole number", "", ""},
		{"floor out of range", "retrieval: {floor: 1.5}\n", "retrieval.floor", "a number from 0 to 1", "", ""},
		{"floor is not a number", "retrieval: {floor: .nan}\n", "retrieval.floor", "a number from 0 to 1", "", ""},
		{"number for text", "upstream: {model: 4}\n", "upstream.model", "4 is not", "quotes", ""},
		{"time without unit", "retrieval: {deadline: 150}\n", "retrieval.deadline", "150 is not a length of time from 1ms to 30s", "150ms", ""},
		{"time out of range", "retrieval: {deadline: 2m}\n", "retrieval.deadline", `"2m" is not`, "", ""},
		{"yes for true", "injection: {sticky: yes}\n", "injection.sticky", `"yes" is not true or false`, "", ""},
		{"unknown word", "retrieval: {rank: best}\n", "retrieval.rank", "evidence, rrf or weighted", "", ""},
		{"unknown trust", "retrieval: {min_trust: unknown}\n", "retrieval.min_trust", "external, agent or operator", "", ""},
		{"bad scope", "retrieval: {scopes: [payments]}\n", "retrieval.scopes[0]", `"payments" is not a scope`, "repo:", ""},
		{"plain value for a list", "repository: {exclude: vendor/}\n", "repository.exclude", "is not a list", "brackets", ""},
		{"number in a list", "repository: {exclude: [1]}\n", "repository.exclude[0]", "1 is not", "", ""},
		{"list for a plain value", "upstream: {model: [a]}\n", "upstream.model", "a list is not", "", ""},
		{"section for a value", "upstream:\n  model:\n    name: a\n", "upstream.model", "a section is not", "", ""},
		{"value for a section", "upstream: fast\n", "upstream", "is not a section (line 1)", "below it", ""},
		{"no value", "upstream:\n  model:\n", "upstream.model", "has no value (line 2)", "delete the line", ""},
		{"empty name", "repository: {exclude: ['']}\n", "repository.exclude[0]", "not empty", "", ""},
		{"owner that is a path", "knowledge: {owner: ../other}\n", "knowledge.owner", "starts with a letter", "", ""},
		{"list at the top", "- a\n", "", "a list is not a section", "", ""},
		{"text at the top", "hello\n", "", "is not a section", "", ""},
		{"second document", "breaker: {}\n---\nbreaker: {}\n", "", "second document (line 3)", "", ""},
		{"anchor", "upstream: &a {model: x}\n", "upstream", "is not a section", "", ""},
		{"alias", "upstream:\n  model: *a\n", "", "", "", ""},
		{"merge", "upstream:\n  <<: {model: x}\n", "upstream", "not a plain name", "", ""},
		{"brackets without an end", "upstream: " + strings.Repeat("[", 65_000), "", "nested more than 64 deep", "Close what was opened.", ""},
		{"dashes without an end", "upstream: " + strings.Repeat("- ", 32_000), "", "nested more than 64 deep", "", ""},
		{"not YAML", "upstream: [\n", "", "not valid YAML", "", ""},
		{"not UTF-8", "upstream: {model: \xff}\n", "", "UTF-8", "", ""},
		{"too large", strings.Repeat("# padding\n", 20_000), "", "at most", "", ""},
		{"pool smaller than top_k", "knowledge:\n  top_k: 20\nretrieval:\n  pool: 10\n", "knowledge.top_k", "retrieval.pool, 10 (line 2)", "", ""},
		{"static without a folder", "knowledge:\n  embed_provider: static\n", "knowledge.embed_provider", "embed_path (line 2)", "", ""},
		{"openai without an address", "knowledge: {embed_provider: openai, embed_model: m}\n", "knowledge.embed_provider", "address", "", ""},
		{"openai without a model", "upstream: {base_url: http://h/v1}\nknowledge: {embed_provider: openai}\n", "knowledge.embed_provider", "embed_model (line 2)", "v1/models", ""},

		{"secret under a key of its own", "upstream:\n  api_key: sk-live-123\n", "upstream.api_key", "secrets don't belong", "upstream.api_key_env", "sk-live-123"},
		{"secret at the top", "openai_api_key: sk-live-123\n", "openai_api_key", "secrets don't belong", "environment variable", "sk-live-123"},
		{"secret for a variable", "upstream:\n  api_key_env: sk-live-123\n", "upstream.api_key_env", "line 2", "environment variable", "sk-live-123"},
		{"number for a variable", "upstream: {api_key_env: 123456}\n", "upstream.api_key_env", "the value is not", "", "123456"},
		{"secret in an address", "upstream: {base_url: \"https://me:hunter2@host/v1\"}\n", "upstream.base_url", "without a user name", "environment variable", "hunter2"},
		{"secret beside a syntax error", "upstream:\n  api_key_env: sk-live-123\n  model: [\n", "", "not valid YAML", "", "sk-live-123"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Parse([]byte(tt.in))
			var e *ken.Error
			if !errors.As(err, &e) || !errors.Is(err, ken.ErrInvalid) {
				t.Fatalf("got %v, want an ErrInvalid", err)
			}
			if tt.name != "alias" && e.Field != tt.field {
				t.Errorf("field %q, want %q", e.Field, tt.field)
			}
			if !strings.Contains(e.Msg, tt.msg) || !strings.Contains(e.Try, tt.try) || e.Try == "" {
				t.Errorf("got %q, Try: %q\nwant %q, Try: %q", err, e.Try, tt.msg, tt.try)
			}
			if tt.keepSecret != "" && strings.Contains(err.Error()+e.Try, tt.keepSecret) {
				t.Errorf("the message repeats the secret: %v", err)
			}
		})
	}
}

// A program that changes a Config gets the same rules as a file.
func TestValidate(t *testing.T) {
	for field, change := range map[string]func(*config.Config){
		"budget.chars":          func(c *config.Config) { c.Budget.Chars = -1 },
		"retrieval.weight":      func(c *config.Config) { c.Retrieval.Weight = 9 },
		"retrieval.scopes[0]":   func(c *config.Config) { c.Retrieval.Scopes = []ken.Scope{{}} },
		"retrieval.rank":        func(c *config.Config) { c.Retrieval.Rank = "" },
		"breaker.open":          func(c *config.Config) { c.Breaker.Open = 0 },
		"knowledge.owner":       func(c *config.Config) { c.Knowledge.Owner = "" },
		"upstream.api_key_env":  func(c *config.Config) { c.Upstream.APIKeyEnv = "sk-live" },
		"repository.exclude[1]": func(c *config.Config) { c.Repository.Exclude = []string{"ok", ""} },
		"injection.as":          func(c *config.Config) { c.Injection.As = "system" },
		"knowledge.embed_model": func(c *config.Config) { c.Knowledge.EmbedModel = "a\nb" },
	} {
		c := config.Default()
		change(&c)
		var e *ken.Error
		if err := c.Validate(); !errors.As(err, &e) || e.Code != ken.CodeInvalid || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if err := (config.Config{}).Validate(); err == nil {
		t.Error("the zero Config passed")
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ken.yaml")
	if _, err := config.Load(path); !errors.Is(err, ken.ErrNotFound) || !errors.Is(err, os.ErrNotExist) || ken.Hint(err) == "" {
		t.Errorf("missing file: %v", err)
	}
	write(t, path, "breaker:\n  failurs: 3\n")
	_, err := config.Load(path)
	if want := "breaker.failurs: unknown key (" + path + ", line 2)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	write(t, path, "breaker:\n  failures: 3\n")
	if c, err := config.Load(path); err != nil || c.Breaker.Failures != 3 {
		t.Errorf("%+v, %v", c.Breaker, err)
	}
}

func TestFind(t *testing.T) {
	t.Setenv("KEN_CONFIG", "")
	root := t.TempDir()
	if p, ok := config.Find(root); ok {
		t.Errorf("found %s in an empty folder", p)
	}
	for _, name := range []string{"ken.yml", "ken.yaml", filepath.Join(".ken", "config.yml"), filepath.Join(".ken", "config.yaml")} { // the later one wins
		want := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(want), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, want, "")
		if got, ok := config.Find(root); !ok || got != want {
			t.Errorf("got %s, %v; want %s", got, ok, want)
		}
	}
	t.Setenv("KEN_CONFIG", "/nowhere/at/all.yaml")
	if got, ok := config.Find(root); !ok || got != "/nowhere/at/all.yaml" {
		t.Errorf("KEN_CONFIG did not win: %s, %v", got, ok)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
