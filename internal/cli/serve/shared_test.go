package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kenlayer/ken/config"
)

// hold connects to a shared ken serve as a program does.
func hold(t *testing.T, at sharedAddress) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.Hold)
	if err != nil {
		t.Fatal(err)
	}
	if err := at.greet(conn); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A second start finds the first one, and the first one ends when nobody holds it.
func TestShared(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	cfg, root := config.Default(), t.TempDir()
	s, _, err := takeShared(t.Context(), cfg, root)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	var out bytes.Buffer
	if err := s.announce(&out, "http://127.0.0.1:1", "ken_key"); err != nil {
		t.Fatal(err)
	}
	var told sharedAddress
	if err := json.Unmarshal(out.Bytes(), &told); err != nil || told.URL != "http://127.0.0.1:1" || told.Key != "ken_key" {
		t.Fatalf("%s: %v", &out, err)
	}
	if info, err := os.Stat(s.file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the key: %v, %v", info.Mode(), err)
	}
	one, two := hold(t, told), hold(t, told)
	if again, at, err := takeShared(t.Context(), cfg, root); again != nil || at != told || err != nil {
		t.Errorf("a second start: %v, %v, %v", again, at, err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	s.expire() // as the timer does
	if ctx.Err() != nil {
		t.Error("it ends while a program holds it")
	}
	s.mu.Lock()
	s.linger = 0
	s.mu.Unlock()
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if _, err := os.Stat(s.file); !os.IsNotExist(err) {
		t.Errorf("its address stays: %v", err)
	}
	next, _, err := takeShared(t.Context(), cfg, root)
	if err != nil || next == nil {
		t.Fatalf("the next start: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
}

// Programs learn at once that the server ends, while answers are still under way.
func TestSharedLetsItsProgramsGo(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	s, _, err := takeShared(t.Context(), config.Default(), t.TempDir())
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	if err := s.announce(io.Discard, "http://127.0.0.1:1", ""); err != nil {
		t.Fatal(err)
	}
	conn := hold(t, s.at)
	defer conn.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// What a server that was killed has left is believed by nobody, whoever has its port now.
func TestSharedIsNotWhoHasItsPort(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	cfg, root := config.Default(), t.TempDir()
	other, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	answers := []string{"ken\n", "ken " + strings.Repeat("0", 64) + "\n"}
	go func() {
		for i := 0; ; i++ {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, answers[i%len(answers)])
			_ = conn.Close()
		}
	}()
	left, err := json.Marshal(map[string]string{"url": "http://127.0.0.1:1", "hold": other.Addr().String(), "token": "old"})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(cfg.State(root), ".gateway", "shared.json")
	write := func() {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, left, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	s, _, err := takeShared(t.Context(), cfg, root)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	defer s.Close()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the address of the server before is still there: %v", err)
	}
	write()
	for range answers {
		at, err := readShared(file)
		if err != nil {
			t.Fatal(err)
		}
		if at.runs(t.Context()) {
			t.Errorf("%v is taken for a ken serve", at)
		}
	}
}

// A start that waits for another one stops waiting with its context.
func TestSharedWaits(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	cfg, root := config.Default(), t.TempDir()
	s, _, err := takeShared(t.Context(), cfg, root)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if again, _, err := takeShared(ctx, cfg, root); again != nil || err == nil {
		t.Errorf("%v, %v", again, err)
	}
}
