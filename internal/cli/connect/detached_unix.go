//go:build !windows

package connect

import (
	"fmt"
	"os/exec"
	"syscall"
)

// startDetached starts a program that keeps running when this process and its terminal end.
func startDetached(program string, args []string) error {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return cmd.Process.Release()
}
