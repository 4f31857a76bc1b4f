package guardrail

import (
	"strings"
	"testing"
)

var (
	goSource = strings.Repeat("// Get returns the token for key, or an error when the password is wrong.\n"+
		"func (s *Store) Get(ctx context.Context, key string) (Token, error) {\n\tif len(key) < 1 || s.m[key] == nil {\n"+
		"\t\treturn Token{}, fmt.Errorf(\"get %q: %w\", key, errNone)\n\t}\n\treturn s.m[key].At(https://example.com), nil\n}\n", 5000)[:1<<20]
	chinese = strings.Repeat("部署在星期二运行，由平台团队负责。回滚需要批准〈见手册〉。", 13000)[:1<<20-1]
)

func benchmark(b *testing.B, f func(string)) {
	for _, tt := range []struct{ name, text string }{{"code", goSource}, {"chinese", chinese}} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.text)))
			b.ReportAllocs()
			for b.Loop() {
				f(tt.text)
			}
		})
	}
}

func BenchmarkStripReasoning(b *testing.B) { benchmark(b, func(s string) { StripReasoning(s) }) }
func BenchmarkNeutralize(b *testing.B)     { benchmark(b, func(s string) { Neutralize(s) }) }
func BenchmarkSanitize(b *testing.B)       { benchmark(b, func(s string) { Sanitize(s) }) }
func BenchmarkSecrets(b *testing.B)        { benchmark(b, func(s string) { Secrets(s) }) }

// What most writes are: a message or a claim of a kilobyte or two, without secrets.
func BenchmarkSecretsClean(b *testing.B) {
	prose := strings.Repeat("Deploys run on Tuesday and are owned by the platform team; ask there before you touch the runners. "+
		"They asked for a linear history, so rebase first. Rolling back takes two minutes and is written down in the handbook.\n", 7)
	shell := strings.Repeat("$ git log --oneline -5 && go test ./store/... -run TestOpen -count 3 | tee /tmp/out.txt\n"+
		"ok  \tgithub.com/acme/payments/store\t0.312s\nls -la ~/src/api/docs # see https://example.com/docs/api?page=2\n", 7)
	for _, tt := range []struct{ name, text string }{{"prose", prose}, {"code", goSource[:1600]}, {"shell", shell}} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.text)))
			b.ReportAllocs()
			for b.Loop() {
				Secrets(tt.text)
			}
		})
	}
}
