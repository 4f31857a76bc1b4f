package consolidate

import (
	"strconv"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/run/session"
)

func BenchmarkCompare(b *testing.B) {
	for _, bc := range []struct{ name, old, new string }{
		{"same", "The production ledger runs on PostgreSQL 15 in eu-west-1", "the production ledger runs on PostgreSQL 15 in eu-west-1."},
		{"updates", "The staging database of the ledger runs in us-east-1", "The staging database of the ledger was migrated from us-east-1 to eu-central-1"},
		{"refines", "Deploys to production happen on Fridays", "Deploys to production happen on Fridays because the traffic is low over the weekend"},
		{"contradicts", "The ledger's API listens on port 5432 in every environment", "The ledger's API does not listen on port 5432 in every environment"},
		{"distinct", "The user prefers short answers with code first and prose after", "The nightly backup of the billing database takes forty minutes on the replica"},
		{"cjk", "本番環境のデータベースはPostgreSQLで、毎晩二時に別のリージョンへ複製されます", "検証環境のデータベースはPostgreSQLで、毎晩二時に別のリージョンへ複製されます"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			before, after := Statement{Text: bc.old}, Statement{Text: bc.new}
			b.ReportAllocs()
			for b.Loop() {
				Compare(before, after)
			}
		})
	}
}

func BenchmarkPlan(b *testing.B) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	claim := func(id, text string) ken.Claim {
		e := ken.FromUserStatement(id, "m1")
		e.FetchedAt = at
		return ken.Claim{ID: id, Kind: ken.KindFact, Text: text, Evidence: []ken.Evidence{e}, Status: ken.StatusObserved, Confidence: 0.8, Session: id}
	}
	var known []ken.Claim
	for i, j := range load(b, "development.jsonl")[:20] {
		known = append(known, claim(strconv.Itoa(i), j.Old))
	}
	c := claim("new", "The staging database of the ledger was migrated from us-east-1 to eu-central-1")
	b.ReportAllocs()
	for b.Loop() {
		Plan(c, known)
	}
}

func BenchmarkRepeats(b *testing.B) {
	var injected []session.Injection
	for i, j := range load(b, "development.jsonl")[:200] {
		injected = append(injected, session.Injection{ID: strconv.Itoa(i), Text: j.Old})
	}
	e := NewEcho(injected)
	b.ReportAllocs()
	for b.Loop() {
		e.Repeats("As noted earlier, the staging database runs in us-east-1")
		e.Repeats("The nightly backup of the billing database takes forty minutes")
	}
}
