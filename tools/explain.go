package tools

import (
	"context"
	"errors"
	"strings"

	"github.com/kenlayer/ken"
)

// Explain is an error of a call as a text for the model that made it: what is wrong
// and how to mend it. What went wrong within Ken is not told in detail, because it may
// name paths and addresses that are no model's business; the registry's log has it.
func Explain(err error) string {
	var e *ken.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "The call was stopped before it was done."
	case internal(err):
		return "The tool failed (internal). Go on without it, or try it again later; the operator's log says why."
	}
	errors.As(err, &e)
	var b strings.Builder
	b.WriteString("The call failed (" + string(e.Code) + ")")
	if said := strings.Trim(e.Field+": "+e.Msg, ": "); said != "" {
		b.WriteString(": " + said)
	}
	if hint := ken.Hint(err); hint != "" {
		b.WriteString("\nTry: " + hint)
	}
	return bounded(safe(b.String()), maxExplained)
}

// internal reports a fault of ours.
func internal(err error) bool {
	var e *ken.Error
	return !errors.As(err, &e) || e.Code == ken.CodeInternal || e.Code == ken.CodeCorrupt
}

// maxExplained bounds an error's text, in code points.
const maxExplained = 2000

// unfit is the error of arguments that do not fit.
func unfit(t *Tool, faults []fault) error {
	msgs := make([]string, len(faults))
	for i, f := range faults {
		msgs[i] = f.String()
		if i == 0 {
			msgs[i] = f.msg
		}
	}
	return &ken.Error{Code: ken.CodeInvalid, Field: faults[0].field, Msg: strings.Join(msgs, "; "),
		Try: "Call " + t.Name + " again with arguments such as " + t.Example}
}

func invalid(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeInvalid, Field: field, Msg: msg, Try: try}
}

func refused(field, msg, try string) error {
	return &ken.Error{Code: ken.CodeRefused, Field: field, Msg: msg, Try: try}
}

func notFound(id string) error {
	return &ken.Error{Code: ken.CodeNotFound, Field: "id", Msg: "there is no claim " + clipped(id),
		Try: "Take the id from memory_recall, or the letters after k: in a block."}
}
