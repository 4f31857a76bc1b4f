// Package handler is the HTTP API of the payments service.
package handler

import (
	"encoding/json"
	"net/http"

	"example.com/payments/bank"
	"example.com/payments/ledger"
	"example.com/payments/retry"
)

// Handler answers POST /transfers and POST /refunds.
type Handler struct {
	book *ledger.Ledger
	bank *bank.Client
	mux  *http.ServeMux
}

// New returns a handler over a ledger and a bank.
func New(book *ledger.Ledger, b *bank.Client) *Handler {
	h := &Handler{book: book, bank: b, mux: http.NewServeMux()}
	h.mux.HandleFunc("POST /transfers", h.transfer)
	h.mux.HandleFunc("POST /refunds", h.refund)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

func (h *Handler) transfer(w http.ResponseWriter, r *http.Request) {
	var t ledger.Transfer
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	if err := retry.Do(r.Context(), func() error { return h.bank.Send(r.Context(), t.Reference, t.Cents) }); err != nil {
		fail(w, http.StatusBadGateway, err)
		return
	}
	if err := h.book.Post(t); err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
