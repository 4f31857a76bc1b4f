// Package caught turns panics into errors. It is for goroutines that parse untrusted
// text: a panic there can't be recovered by the caller and would end the process.
package caught

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// Panic is a panic as an error.
type Panic struct {
	Value any
	Stack []byte
}

// Error says what was panicked with.
func (p *Panic) Error() string { return fmt.Sprintf("panicked: %v", p.Value) }

// Unwrap returns what was panicked with, where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Run calls fn and returns its error, or its panic as a *Panic. Reading a mapped file that
// has become shorter, or that the disk can't read, is such a panic too, and not the end of
// the process.
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
	var p *Panic
	return errors.As(err, &p)
}

// Stack is where err panicked, for a log; "" when it did not.
func Stack(err error) string {
	var p *Panic
	if !errors.As(err, &p) {
		return ""
	}
	return string(p.Stack)
}
