package structure_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/knowledge/structure"
)

func TestStepsInWords(t *testing.T) {
	for _, tt := range []struct {
		how  string
		out  bool
		want string
	}{
		{"requires", true, "which payments requires"},
		{"requires", false, "which requires payments"},
		{"owned_by", true, "which owns payments"},
		{"owned_by", false, "which payments owns"},
		{"informs", true, "which payments informs"},
	} {
		s := structure.Step{Focus: "payments", Entity: "ledger", Type: tt.how, Out: tt.out}
		equal(t, tt.how, s.Clause(), tt.want)
	}
}
