//go:build !windows

package connect

import (
	"fmt"
	"os/exec"
	"syscall"
)

// startAlone starts a program that goes on when this process and its terminal are gone.
func startAlone(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return cmd.Process.Release()
}
