//go:build !unix

package observe

import (
	"os"
	"os/signal"
)

// Signals returns the signals to pass on to a command, from now until stop is called.
func Signals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, os.Interrupt)
	return c, func() { signal.Stop(c) }
}

func ends(sig os.Signal) bool { return sig == os.Interrupt }

// alreadySignalled reports whether the command received the signal itself: a console sends it
// to all its processes.
func alreadySignalled(os.Signal) bool { return true }
