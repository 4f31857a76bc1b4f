package middleware_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/retriever"
)

// What a project has decided comes into turns as its other documents do, and what it
// has given up does not, but can be looked for.
func TestDecisionsThatHoldNoMoreAreNotInjected(t *testing.T) {
	ctx := context.Background()
	l := open(t, settings(func(c *config.Config) { c.Repository.Index = true }))
	for name, text := range map[string]string{
		"docs/adr/0001-queue.md":         "# 1. Use RabbitMQ for the invoice queue\n\n## Status\n\nSuperseded by [2](0002-queue.md)\n\n## Decision\n\nInvoices travel over RabbitMQ with quorum queues.\n",
		"docs/adr/0002-queue.md":         "# 2. Use NATS for the invoice queue\n\n## Status\n\nAccepted\n\n## Decision\n\nInvoices travel over NATS JetStream with three replicas.\n",
		"docs/adr/0003-kafka.md":         "# 3. Use Kafka for the invoice queue\n\n## Status\n\nRejected\n\n## Decision\n\nInvoices travel over Kafka.\n",
		"docs/adr/archive/0000-email.md": "# 0. Send the invoice queue by e-mail\n\n## Status\n\nAccepted\n\n## Decision\n\nInvoices travel by e-mail.\n",
		"docs/guide.md":                  "# Superseded words in a guide\n\n## Status\n\nSuperseded by nothing: the invoice queue is drained by hand on Sundays.\n",
	} {
		path := filepath.Join(l.Root(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Refresh(ctx, ""); err != nil {
		t.Fatal(err)
	}
	a := l.Assemble(ctx, asked("How do invoices travel to the invoice queue?"))
	for _, c := range []struct {
		text string
		in   bool
	}{{"NATS JetStream", true}, {"RabbitMQ", false}, {"over Kafka", false}, {"by e-mail", false}, {"drained by hand", true}} {
		if in := strings.Contains(a.Receipt.Block, c.text); in != c.in {
			t.Errorf("%q injected: %v\n%s", c.text, in, a.Receipt.Block)
		}
	}
	s, release, err := l.Store(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	res, err := retriever.Keyword(s).Search(ctx, &retriever.Query{Signals: ken.Signals{Keywords: []string{"rabbitmq"}, Question: "rabbitmq"},
		Filter: &ken.Filter{Statuses: []ken.Status{ken.StatusSuperseded}}, Limit: 5})
	if err != nil || len(res.Hits) == 0 {
		t.Errorf("looked for: %+v, %v", res.Hits, err)
	}
}
