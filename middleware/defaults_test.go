package middleware_test

import (
	"testing"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/retriever"
)

// A retriever that a program makes by itself ranks as a configured one does.
func TestRetrieverAndConfigurationAgreeOnDefaults(t *testing.T) {
	k := config.Default().Knowledge
	if k.Sessions != retriever.DefaultSessions || k.Playbooks != retriever.DefaultPlaybooks {
		t.Errorf("the configuration has %d sessions and %d playbooks, the retriever %d and %d", k.Sessions, k.Playbooks, retriever.DefaultSessions, retriever.DefaultPlaybooks)
	}
	c := config.Default().Retrieval
	if got := retriever.Weights(c.Signals); got != retriever.DefaultWeights {
		t.Errorf("the configuration's weights are %+v, the retriever's %+v", got, retriever.DefaultWeights)
	}
	if c.Floor != retriever.DefaultFloor {
		t.Errorf("the configuration's floor is %v, the retriever's %v", c.Floor, retriever.DefaultFloor)
	}
}
