package serve

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/durable"
)

// A shared ken serve belongs to the programs that use it: the first one starts it, and it ends after
// the last one. Each program keeps a connection to it open. The system closes that connection when
// the program ends, however it ends.

// linger is how long a shared ken serve waits for another program after the last one.
const linger = 10 * time.Second

// sharedWait is how long a start waits for another one that is starting or ending in the same
// project.
const sharedWait = 30 * time.Second

// greetingWait is how long a shared ken serve waits for the first line of a program.
const greetingWait = 10 * time.Second

// sharedAddress is the address of a shared ken serve. It is printed as a line of JSON, and stored in
// the state folder while the server runs.
type sharedAddress struct {
	URL  string `json:"url"`
	Hold string `json:"hold"` // host and port; the server runs while a program is connected there

	// Key is the bearer token of requests; "" if the gateway has keys of its own. It is valid only
	// until the server ends, so a later program on the same port can't use it.
	Key string `json:"key,omitempty"`

	// Token is a secret of this server. It proves that the address still belongs to it: when a server
	// is killed, any account can use its port.
	Token string `json:"token"`
}

// welcome returns the answer to a program's first line. Only the server that has the token can
// compute it.
func (at sharedAddress) welcome(line string) string {
	mac := hmac.New(sha256.New, []byte(at.Token))
	_, _ = io.WriteString(mac, line) // never fails
	return "ken " + hex.EncodeToString(mac.Sum(nil)) + "\n"
}

// shared holds a project's lock for the shared ken serve, and the server's state.
type shared struct {
	file string
	lock *flock.Flock
	hold net.Listener
	stop context.CancelFunc
	at   sharedAddress // set by announce

	mu     sync.Mutex // guards the fields below
	linger time.Duration
	open   map[net.Conn]bool // connections of the programs
	over   bool
	timer  *time.Timer
}

// takeShared locks the project for a shared ken serve. If one runs already, it returns nil and its
// address. Errors: ErrHeld when another start takes too long.
func takeShared(ctx context.Context, cfg config.Config, root string) (*shared, sharedAddress, error) {
	if err := cfg.MakeState(root); err != nil {
		return nil, sharedAddress{}, err
	}
	dir := filepath.Join(cfg.State(root), ".gateway")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, sharedAddress{}, fmt.Errorf("create the folder of the shared server: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, sharedWait)
	defer cancel()
	s := &shared{file: filepath.Join(dir, "shared.json"), lock: flock.New(filepath.Join(dir, "shared.lock")), linger: linger, open: map[net.Conn]bool{}}
	for {
		if ok, err := s.lock.TryLock(); err != nil {
			return nil, sharedAddress{}, fmt.Errorf("lock the shared server: %w", err)
		} else if ok {
			break
		}
		if at, err := readShared(s.file); err == nil && at.runs(ctx) {
			return nil, at, s.lock.Close()
		}
		select {
		case <-ctx.Done():
			return nil, sharedAddress{}, &ken.Error{Code: ken.CodeHeld, Msg: "another ken serve --shared is starting or ending in this project, and takes long",
				Try: "Try again, or look for a ken process that hangs.", Err: errors.Join(ctx.Err(), s.lock.Close())}
		case <-time.After(20 * time.Millisecond):
		}
	}
	err := os.Remove(s.file) // left by a server that was killed
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, sharedAddress{}, errors.Join(fmt.Errorf("remove the address of the server before: %w", err), s.lock.Close())
	}
	s.hold, err = (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, sharedAddress{}, errors.Join(fmt.Errorf("listen for programs: %w", err), s.lock.Close())
	}
	return s, sharedAddress{}, nil
}

// takePlace is takeShared for the command: if a shared ken serve runs, it prints the address and
// returns nil.
func (a *commands) takePlace(ctx context.Context, cfg config.Config) (*shared, error) {
	root, err := a.Project()
	if err != nil {
		return nil, err
	}
	s, at, err := takeShared(ctx, cfg, root)
	if s == nil && err == nil {
		err = json.NewEncoder(a.Out).Encode(at)
	}
	return s, err
}

func readShared(file string) (at sharedAddress, err error) {
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &at)
	}
	return at, err
}

// runs reports whether a shared ken serve at this address accepts programs.
func (at sharedAddress) runs(ctx context.Context) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", at.Hold)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // a server that hangs counts as none
	return at.greet(conn) == nil
}

// greet starts a connection to the address under Hold. It returns an error if another program listens
// there.
func (at sharedAddress) greet(conn net.Conn) error {
	line := rand.Text()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return err
	}
	got := make([]byte, len(at.welcome(line)))
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if !hmac.Equal(got, []byte(at.welcome(line))) {
		return errors.New("this is not the project's shared ken serve")
	}
	return nil
}

// announce publishes the address and starts to accept programs. It calls s.stop when none is left.
func (s *shared) announce(out io.Writer, url, key string) error {
	s.at = sharedAddress{URL: url, Key: key, Hold: s.hold.Addr().String(), Token: rand.Text()}
	line, err := json.Marshal(s.at)
	if err == nil {
		err = durable.WriteFile(s.file, line, 0o600)
	}
	if err != nil {
		return fmt.Errorf("announce the shared server: %w", err)
	}
	s.timer = time.AfterFunc(s.linger, s.expire)
	go s.accept()
	_, err = fmt.Fprintf(out, "%s\n", line)
	return err
}

func (s *shared) accept() {
	for {
		conn, err := s.hold.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			_ = conn.SetReadDeadline(time.Now().Add(greetingWait))
			line, err := bufio.NewReader(io.LimitReader(conn, 256)).ReadString('\n')
			if err != nil || !s.enter(conn) {
				return
			}
			defer s.leave(conn)
			_ = conn.SetReadDeadline(time.Time{})
			if _, err := io.WriteString(conn, s.at.welcome(strings.TrimSuffix(line, "\n"))); err == nil {
				_, _ = io.Copy(io.Discard, conn) // until the program ends
			}
		}()
	}
}

func (s *shared) enter(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.open[conn] = true
	s.timer.Stop()
	return true
}

func (s *shared) leave(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	if len(s.open) == 0 && !s.over {
		s.timer.Reset(s.linger)
	}
}

// expire ends the server, unless a program has connected meanwhile.
func (s *shared) expire() {
	s.mu.Lock()
	last := len(s.open) == 0 && !s.over
	if last {
		_ = s.end() // on an error, the next start removes what is left
	}
	s.mu.Unlock()
	if last {
		s.stop()
	}
}

// Close releases the project's lock before running answers and the harvest have ended, so that the
// next shared ken serve need not wait for them.
func (s *shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

// end implements Close. The caller holds s.mu.
func (s *shared) end() error {
	if s.over {
		return nil
	}
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
	err := s.hold.Close()
	for conn := range s.open {
		_ = conn.Close() // makes its program look for the next server
	}
	if rm := os.Remove(s.file); !errors.Is(rm, os.ErrNotExist) {
		err = errors.Join(err, rm)
	}
	return errors.Join(err, s.lock.Close())
}
