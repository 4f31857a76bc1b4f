package model_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

func formats(s *modeltest.Server) []string {
	var all []string
	for _, r := range s.Requests() {
		all = append(all, r.Format)
	}
	return all
}

// An endpoint that refuses a format is asked with the next, and never again with
// one that it refused.
func TestFormatThatWorksIsRemembered(t *testing.T) {
	for name, tt := range map[string]struct {
		refused []string
		want    []string
	}{
		"all":        {nil, []string{"json_schema", "json_schema"}},
		"no schema":  {[]string{"json_schema"}, []string{"json_schema", "json_object", "json_object"}},
		"no formats": {[]string{"json_schema", "json_object"}, []string{"json_schema", "json_object", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.Serve(t, modeltest.RefusesFormat(modeltest.Good(), tt.refused...))
			c := client(t, server, model.Options{})
			for range 2 {
				if d, err := c.Draft(t.Context(), modeltest.Session(), nil); err != nil || len(d.Statements) != 5 {
					t.Fatalf("%v, %d statements", err, len(d.Statements))
				}
			}
			if diff := cmp.Diff(tt.want, formats(server)); diff != "" {
				t.Errorf("formats (-want +got):\n%s", diff)
			}
			for _, r := range server.Requests() {
				if told := strings.Contains(r.Messages[0].Content, `"additionalProperties": false`); told != (r.Format != "json_schema") {
					t.Errorf("format %q: the rules show the schema: %v", r.Format, told)
				}
			}
		})
	}
}

// Refusals in the words of gateways that do it; none of them says the same.
func TestFormatsAreRefusedInManyWords(t *testing.T) {
	for _, message := range []string{
		"'response_format.type' must be 'text' or 'json_object'",
		"This response_format type is unavailable now",
		"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
		"grammar is not supported", "Unrecognized request argument supplied", "",
	} {
		for _, status := range []int{http.StatusBadRequest, http.StatusUnprocessableEntity} {
			d, server := extract(t, modeltest.Session(), model.Options{}, modeltest.Fails(status, message), modeltest.Good())
			if len(d.Statements) != 5 || len(server.Requests()) != 2 {
				t.Errorf("%d %q: %d statements, %d requests", status, message, len(d.Statements), len(server.Requests()))
			}
		}
	}
}

// Refusals that are about something else are not tried again in another format.
func TestOtherRefusalsAreNotAboutTheFormat(t *testing.T) {
	for message, field := range map[string]string{
		"This model's maximum context length is 4096 tokens, however you requested 9000": "harvest.window",
		"model 'auxiliary' not found": "harvest.model",
	} {
		server := modeltest.Serve(t, modeltest.Fails(http.StatusBadRequest, message))
		_, err := client(t, server, model.Options{}).Draft(t.Context(), modeltest.Session(), nil)
		wantError(t, err, ken.CodeInvalid, field)
		if len(server.Requests()) != 1 {
			t.Errorf("%q: %d requests", message, len(server.Requests()))
		}
	}
}

func TestRefusalOfEveryFormatEnds(t *testing.T) {
	server := modeltest.Serve(t, modeltest.Fails(http.StatusBadRequest, "no"))
	_, err := client(t, server, model.Options{}).Draft(t.Context(), modeltest.Session(), nil)
	wantError(t, err, ken.CodeInvalid, "harvest.model")
	if diff := cmp.Diff([]string{"json_schema", "json_object", ""}, formats(server)); diff != "" {
		t.Errorf("formats (-want +got):\n%s", diff)
	}
}

// Models that think refuse a temperature. Some are known by name, and the others
// say so.
func TestTemperatureThatIsRefused(t *testing.T) {
	refuses := func(play modeltest.Play) modeltest.Play {
		return func(w http.ResponseWriter, r *http.Request, req *modeltest.Request) {
			if req.Temperature != nil {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","param":"temperature"}}`)
				return
			}
			play(w, r, req)
		}
	}
	for name, want := range map[string]int{"thinker": 3, "o3-mini": 2} {
		server := modeltest.Serve(t, refuses(modeltest.Good()))
		c := client(t, server, model.Options{Model: name})
		for range 2 {
			if _, err := c.Draft(t.Context(), modeltest.Session(), nil); err != nil {
				t.Fatal(name, err)
			}
		}
		if n := len(server.Requests()); n != want {
			t.Errorf("%s: %d requests, want %d", name, n, want)
		}
	}
}

// One Client serves all workers: sessions that end together find out together
// what the endpoint reads.
func TestClientIsSafeForConcurrentUse(t *testing.T) {
	server := modeltest.Serve(t, modeltest.RefusesFormat(modeltest.Good(), "json_schema"))
	c := client(t, server, model.Options{})
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			d, err := c.Draft(t.Context(), modeltest.Session(), nil)
			if err == nil && len(d.Statements) != 5 {
				err = fmt.Errorf("%d statements", len(d.Statements))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if _, err := c.Draft(t.Context(), modeltest.Session(), nil); err != nil || formats(server)[len(formats(server))-1] != "json_object" {
		t.Errorf("%v, formats %q", err, formats(server))
	}
}
