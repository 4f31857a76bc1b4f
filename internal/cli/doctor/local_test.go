package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/harvest/model"
)

// serving is a server that lists models.
func serving(t *testing.T, models ...string) localServer {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		var list []string
		for _, m := range models {
			list = append(list, `{"id":"`+m+`"}`)
		}
		_, _ = w.Write([]byte(`{"data":[` + strings.Join(list, ",") + `]}`))
	}))
	t.Cleanup(s.Close)
	return localServer{"Local", s.URL + "/v1"}
}

func TestALocalModelIsOffered(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	nobody := localServer{"Nobody", "http://127.0.0.1:1/v1"}
	good := serving(t, "nomic-embed-text", "llama3.2:latest")
	began := time.Now()
	got := suggestModel(t.Context(), []localServer{{"Hangs", hangs.URL + "/v1"}, nobody, serving(t), serving(t, "embedder-only"), good})
	if !strings.Contains(got, `upstream: {base_url: "`+good.url+`", model: "llama3.2:latest", api_key_env: ""}`) {
		t.Error(got)
	}
	line := got[strings.Index(got, "upstream:"):]
	c, err := config.Parse([]byte(line))
	if err != nil || c.HarvestModel() != "llama3.2:latest" {
		t.Errorf("%q is no configuration: %v", line, err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if got := suggestModel(t.Context(), []localServer{nobody}); !strings.Contains(got, "harvest.command") {
		t.Error(got)
	}
}

func TestWithoutAModelTheDoctorSaysWhatIsMissed(t *testing.T) {
	was := localServers
	localServers = nil
	defer func() { localServers = was }()
	f := examineHarvest(t.Context(), config.Default())
	if f.State != stateOK || f.Detail != model.Without || f.Try == "" {
		t.Errorf("%+v", f)
	}
	for in, want := range map[string]string{
		"harvest: {model: 'off'}": "harvest.model is off", "harvest: {command: [surely-not-there]}": "is not found", "harvest: {sampling: true}": "sampling",
		"harvest: {tokens_per_day: 0}\nupstream: {base_url: 'http://127.0.0.1:1/v1', model: m}": "tokens_per_day is 0",
	} {
		c, err := config.Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if f := examineHarvest(t.Context(), c); !strings.Contains(f.Detail, want) {
			t.Errorf("%q: %+v", in, f)
		}
	}
}
