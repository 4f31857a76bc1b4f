//go:build unix

package observe

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signals returns the signals that are to be passed on, from now until stop is called.
// A reader of the output that goes away is no reason to die before it is told.
func Signals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)
	return c, func() { signal.Stop(c) }
}

func ends(sig os.Signal) bool {
	return sig == syscall.SIGINT || sig == syscall.SIGTERM || sig == syscall.SIGHUP || sig == syscall.SIGQUIT
}

// alreadySignalled reports whether the command got a signal by itself: what is typed in a terminal
// goes to all that runs in front. A broken pipe is nobody's but ours.
func alreadySignalled(sig os.Signal) bool {
	switch sig {
	case syscall.SIGPIPE:
		return true
	case syscall.SIGINT, syscall.SIGQUIT:
		front, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
		return err == nil && front == unix.Getpgrp()
	}
	return false
}
