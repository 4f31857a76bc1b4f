package handler

import (
	"encoding/json"
	"net/http"
)

// problem is the body of every error: code and message, never a stack trace.
type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(problem{code, err.Error()})
}
