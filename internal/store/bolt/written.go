package bolt

import (
	"encoding/json"
	"errors"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/store"
)

// written is the outcomes of a write in a form that is kept with it.
type written struct{ out []store.Outcome }

// keptOutcome is one of them. An error keeps what a caller can branch on and a
// person can act on.
type keptOutcome struct {
	ID      string   `json:"id,omitempty"`
	Changed bool     `json:"changed,omitempty"`
	Code    ken.Code `json:"code,omitempty"`
	Field   string   `json:"field,omitempty"`
	Msg     string   `json:"msg,omitempty"`
	Try     string   `json:"try,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (w *written) MarshalJSON() ([]byte, error) {
	kept := make([]keptOutcome, len(w.out))
	for i, o := range w.out {
		k := keptOutcome{ID: o.ID, Changed: o.Changed}
		if o.Err != nil {
			k.Code, k.Msg, k.Try = ken.CodeInternal, o.Err.Error(), ken.Hint(o.Err)
			var e *ken.Error
			if errors.As(o.Err, &e) {
				k.Code, k.Field, k.Msg = e.Code, e.Field, e.Msg
			}
		}
		kept[i] = k
	}
	return json.Marshal(kept)
}

// UnmarshalJSON implements json.Unmarshaler.
func (w *written) UnmarshalJSON(b []byte) error {
	var kept []keptOutcome
	if err := json.Unmarshal(b, &kept); err != nil {
		return err
	}
	w.out = make([]store.Outcome, len(kept))
	for i, k := range kept {
		w.out[i] = store.Outcome{ID: k.ID, Changed: k.Changed}
		if k.Code != "" {
			w.out[i].Err = &ken.Error{Code: k.Code, Field: k.Field, Msg: k.Msg, Try: k.Try}
		}
	}
	return nil
}
