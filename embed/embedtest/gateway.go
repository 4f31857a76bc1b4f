package embedtest

import (
	"encoding/json"
	"net/http"
)

// GatewayModel is the one model that a [Gateway] serves.
const GatewayModel = "bag-of-words"

// Gateway is an OpenAI-compatible server for tests, to be used with httptest.Server: it
// lists one model at /v1/models and embeds with [Bag] at /v1/embeddings. Like real
// gateways, it refuses an empty input and an unknown model.
func Gateway() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]string{"id": GatewayModel, "object": "model"}}})
	})
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model string   `json:"model"`
			Input []string `json:"input"` // token arrays do not decode
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		if req.Model != GatewayModel {
			refuse(w, http.StatusNotFound, "The model '"+req.Model+"' does not exist")
			return
		}
		var data []any
		for i, text := range req.Input {
			v := bag(text)
			if v == nil {
				refuse(w, http.StatusBadRequest, "input must not be empty")
				return
			}
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
		}
		answer(w, http.StatusOK, map[string]any{"object": "list", "model": req.Model, "data": data})
	})
	return mux
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the client is gone
}
