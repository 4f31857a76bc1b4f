package handler

import (
	"encoding/json"
	"net/http"

	"example.com/payments/ledger"
)

// MaxRefundDays is how long after a transfer it can be refunded.
const MaxRefundDays = 30

func (h *Handler) refund(w http.ResponseWriter, r *http.Request) {
	var t ledger.Transfer
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	t.Cents = -t.Cents
	if err := h.book.Post(t); err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
