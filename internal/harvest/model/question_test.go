package model_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

func question() model.Question {
	return model.Question{Name: "colours", System: "Name a colour.", User: `{"of":"the sky"}`, Schema: json.RawMessage(`{"type":"object"}`), Temperature: 0.1}
}

func TestQuestionIsSentAsItIs(t *testing.T) {
	server := modeltest.Serve(t)
	c := model.New(model.Options{BaseURL: server.URL, Model: modeltest.Model, APIKey: "k"})
	defer c.Close()
	text, err := c.Ask(t.Context(), question())
	if err != nil || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	req := server.Requests()[0]
	if len(req.Messages) != 2 || req.Messages[0].Content != "Name a colour." || req.Messages[1].Content != `{"of":"the sky"}` {
		t.Errorf("%+v", req.Messages)
	}
	if req.Temperature == nil || *req.Temperature < 0.09 || *req.Temperature > 0.11 || req.Format != "json_schema" || string(req.Schema) != `{"type":"object"}` || req.Key != "k" {
		t.Errorf("temperature %v, format %s, schema %s", req.Temperature, req.Format, req.Schema)
	}
}

func TestQuestionWithoutAModelOrASchema(t *testing.T) {
	c := model.New(model.Options{BaseURL: "http://127.0.0.1:1/v1"})
	defer c.Close()
	if _, err := c.Ask(t.Context(), question()); !errors.Is(err, ken.ErrInvalid) {
		t.Errorf("without a model: %v", err)
	}
	c = model.New(model.Options{BaseURL: "http://127.0.0.1:1/v1", Model: "m"})
	defer c.Close()
	if _, err := c.Ask(t.Context(), question()); !errors.Is(err, ken.ErrUnavailable) {
		t.Errorf("nothing listens: %v", err)
	}
	q := question()
	q.Schema = nil
	if _, err := c.Ask(t.Context(), q); err == nil || !strings.Contains(err.Error(), "schema") {
		t.Errorf("without a schema: %v", err)
	}
}
