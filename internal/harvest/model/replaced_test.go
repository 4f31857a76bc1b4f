package model_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/internal/harvest/draft"
	"github.com/kenlayer/ken/internal/harvest/model"
	"github.com/kenlayer/ken/internal/harvest/model/modeltest"
)

func TestReplaced(t *testing.T) {
	day := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	known := []draft.Dated{{Text: "The lobby is red.", At: day}, {Text: "The deploy day is Tuesday.", At: day}}
	fresh := []draft.Dated{{Text: "The gate is grey.", At: day.AddDate(0, 0, 7)}, {Text: "We deploy on Thursdays now.", At: day.AddDate(0, 0, 7)}}
	server := modeltest.Serve(t)
	server.Replaces = func(earlier, later string) bool {
		return strings.Contains(earlier, "Tuesday") && strings.Contains(later, "Thursdays")
	}
	got, err := client(t, server, model.Options{}).Replaced(t.Context(), known, fresh)
	if err != nil || len(got) != 2 || got[0] != nil || !slices.Equal(got[1], []int{1}) {
		t.Errorf("%v, %v", got, err)
	}
	requests := server.Requests()
	if text := requests[0].Messages[len(requests[0].Messages)-1].Content; len(requests) != 1 || !strings.Contains(text, `"2026-03-09"`) || !model.IsOwnRequest(requests[0].Messages[0].Content) {
		t.Errorf("%d requests, the first: %s", len(requests), text)
	}

	prose := modeltest.Serve(t) // it answers with a sentence
	got, err = client(t, prose, model.Options{}).Replaced(t.Context(), known, fresh)
	if !errors.Is(err, model.ErrUnusable) || got != nil {
		t.Errorf("prose: %v, %v", got, err)
	}
	if kenErr := (*ken.Error)(nil); !errors.As(err, &kenErr) || !strings.Contains(kenErr.Msg, "it is prose and not a JSON object") || kenErr.Try == "" {
		t.Errorf("prose: %v does not say what is wrong with the answer, and what to try", err)
	}

	asked := model.New(model.Options{Sample: func(context.Context, string, string, int) (string, string, error) {
		t.Error("a client's user was asked")
		return "", "", nil
	}})
	defer asked.Close()
	if got, err := asked.Replaced(t.Context(), known, fresh); got != nil || err != nil {
		t.Errorf("of a client's model: %v, %v", got, err)
	}
}
