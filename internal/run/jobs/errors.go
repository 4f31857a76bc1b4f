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

type laterError struct{ err error }

func (e *laterError) Error() string { return e.err.Error() }
func (e *laterError) Unwrap() error { return e.err }

// Later marks an error that says nothing of the job, such as that what it needs is
// held by somebody: it is tried again after the first pause, and the attempt does not
// count. It is nil for nil, and may be wrapped further.
func Later(err error) error {
	if err == nil {
		return nil
	}
	return &laterError{err}
}

func isLater(err error) bool {
	var l *laterError
	return errors.As(err, &l)
}
