// Package caught turns panics into errors. It is for goroutines that parse untrusted text:
// the caller can't recover a panic there, and the process would end.
package caught

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is a recovered panic as an error.
type Panic struct {
	Value any
	Stack []byte
}

// Error returns the value of the panic as text.
func (p *Panic) Error() string { return fmt.Sprintf("panicked: %v", p.Value) }

// Unwrap returns the value of the panic, if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Run calls fn and returns its error, or its panic as a *Panic. Reading a mapped file that
// was truncated, or that the disk can't read, also panics instead of ending the process.
func Run(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &Panic{v, debug.Stack()}
		}
	}()
	return fn()
}

// Is reports whether err is a panic.
func Is(err error) bool {
	_, ok := errors.AsType[*Panic](err)
	return ok
}

// Stack returns the stack of a panic, for a log; "" if err is not a panic.
func Stack(err error) string {
	if p, ok := errors.AsType[*Panic](err); ok {
		return string(p.Stack)
	}
	return ""
}
