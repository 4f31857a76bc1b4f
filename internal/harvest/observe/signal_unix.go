//go:build unix

package observe

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signals returns the signals to pass on to a command, from now until stop is called. SIGPIPE is
// included so that a closed output does not end this process before the command.
func Signals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE)
	return c, func() { signal.Stop(c) }
}

func ends(sig os.Signal) bool {
	return sig == syscall.SIGINT || sig == syscall.SIGTERM || sig == syscall.SIGHUP || sig == syscall.SIGQUIT
}

// alreadySignalled reports whether the command must not be sent the signal. Signals from a
// terminal's keys go to all processes in the foreground. A broken pipe concerns only this process.
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
