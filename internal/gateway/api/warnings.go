package api

import (
	"errors"

	"github.com/kenlayer/ken"
)

// missing makes warnings of what a list could not read, since the rest of it is good;
// any other error stays one.
func missing(err error) (warnings []string, other error) {
	if err == nil {
		return nil, nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			w, other := missing(e)
			if other != nil {
				return nil, err
			}
			warnings = append(warnings, w...)
		}
		return warnings, nil
	}
	var e *ken.Error
	if errors.As(err, &e) && e.Code == ken.CodeCorrupt {
		return []string{sentence(e)}, nil
	}
	return nil, err
}
