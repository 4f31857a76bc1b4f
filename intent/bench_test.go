package intent

import (
	"strings"
	"testing"

	"github.com/kenlayer/ken"
)

func BenchmarkAnalyze(b *testing.B) {
	question := "When did Caroline go to the LGBTQ support group yesterday?"
	log := strings.Repeat("2024-05-01T10:00:00Z INFO request handled path=/api/v1/items status=200 took=12ms\n", 12000)
	for _, bc := range []struct{ name, text string }{
		{"question", question},
		{"thanks", "Thanks, that works!"},
		{"trace", goTrace},
		{"log1MB", log + question},
		{"codes1MB", strings.Repeat("E0308 ", 170000)},
	} {
		messages := []ken.Message{{Role: "system", Text: "You help."}, {Role: "user", Text: bc.text}}
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Analyze(messages)
			}
		})
	}
}

const goTrace = `The worker dies. What is wrong?

panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.readClaims(0xc000012345, 0x5)
	/home/me/app/store/claims.go:42 +0x1d
main.main()
	/home/me/app/main.go:17 +0x25
exit status 2
`
