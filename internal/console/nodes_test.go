package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
)

// Without store.url there is one machine, and no page about others.
func TestNoNodes(t *testing.T) {
	c := open(t, bare)
	if status, _ := get(t, c, "/console/nodes"); status != http.StatusNotFound {
		t.Errorf("%d", status)
	}
	if _, p := get(t, c, "/console/health"); p.links("/console/nodes") {
		t.Error("the navigation leads there")
	}
}

// With a real server of NATS: the engine, this node, and whom it serves.
func TestNodes(t *testing.T) {
	nats := logtest.StartNATS(t, 1)
	c := open(t, bare, func(s *setup) { s.config.Store.URL, s.config.Store.Replicas = nats.URL(), 1 })
	c.learn("", "The ledger listens on port 8071.")
	_, p := get(t, c, "/console/health")
	if !p.links("/console/nodes") {
		t.Error("the navigation does not lead to the nodes")
	}
	status, p := get(t, c, "/console/nodes")
	rows := p.texts(`[aria-label="Owners"] tbody tr`)
	if status != http.StatusOK || len(p.all(`[aria-label="Nodes"] tbody tr`)) != 1 || len(rows) != 1 || !strings.HasPrefix(rows[0], operator.Owner+" ") || strings.Contains(rows[0], "nowhere") {
		t.Errorf("%d: %q: %s", status, rows, p.text())
	}
	for _, who := range []access.Principal{reader, bob} {
		if status, p := get(t, c, "/console/nodes", who); status != http.StatusForbidden || strings.Contains(p.text(), nats.URL()) {
			t.Errorf("%s: %d", who.Name, status)
		}
		if _, p := get(t, c, "/console/health", who); p.links("/console/nodes") {
			t.Errorf("%s is led to the nodes", who.Name)
		}
	}
	// An engine that is away is said on the page, without its address.
	nats.Kill(0)
	_, p = get(t, c, "/console/nodes")
	p.says("Check that its servers run")
	nats.Start(0)
}
