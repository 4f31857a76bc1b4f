package jobs

import "errors"

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent marks an error that another attempt would meet again, such as a
// payload that makes no sense: the job is dead at once. It is nil for nil, and
// may be wrapped further.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

func isPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}
