package operator_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/access"
	"github.com/kenlayer/ken/internal/knowledge/operator"
)

var keysNow = time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)

func keysIn(t *testing.T) (*operator.Keys, string) {
	t.Helper()
	path := operator.KeysPath(filepath.Join(t.TempDir(), "state"))
	return operator.OpenKeys(path, func() time.Time { return keysNow }), path
}

// A key is shown once and kept as a hash, in a file that nobody else can read.
func TestCreateAndRevokeKeys(t *testing.T) {
	s, path := keysIn(t)
	other := operator.OpenKeys(path, nil)
	if list, err := other.List(); err != nil || list != nil || other.Changed() {
		t.Fatalf("%v %v", list, err)
	}
	secret, made, err := s.Create(t.Context(), config.GatewayKey{Name: "ci", Owner: "ana", Rights: []string{"chat"}, Models: []string{"gpt-5*"},
		Expires: keysNow.Add(time.Hour), RequestsPerDay: 10, TokensPerDay: 1000}, nil)
	if err != nil || made.Hash != access.HashKey(secret).String() || !made.Created.Equal(keysNow) {
		t.Fatalf("%+v %v", made, err)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(b), secret) {
		t.Errorf("%s %v", b, err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi, err)
	}
	if !other.Changed() {
		t.Error("another reader doesn't notice")
	}
	list, err := other.List()
	if err != nil || len(list) != 1 || list[0].TokensPerDay != 1000 || list[0].Ended(keysNow) || !list[0].Ended(keysNow.Add(time.Hour)) || other.Changed() {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := s.Revoke(t.Context(), "ci"); err != nil || !other.Changed() {
		t.Fatal(err)
	}
	if list, err = other.List(); err != nil || len(list) != 1 || !list[0].Ended(keysNow) {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := s.Revoke(t.Context(), "ci"); !errors.Is(err, ken.ErrNotFound) || ken.Hint(err) == "" {
		t.Errorf("a second time: %v", err)
	}
	if again, _, err := s.Create(t.Context(), config.GatewayKey{Name: "ci"}, nil); err != nil || again == secret {
		t.Errorf("the name again: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	s, _ := keysIn(t)
	if _, _, err := s.Create(t.Context(), config.GatewayKey{Name: "a"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key   config.GatewayKey
		code  error
		field string
	}{
		{config.GatewayKey{Name: "a"}, ken.ErrExists, "name"},
		{config.GatewayKey{Name: "configured"}, ken.ErrExists, "name"},
		{config.GatewayKey{}, ken.ErrInvalid, "name"},
		{config.GatewayKey{Name: "b", Owner: "../b"}, ken.ErrInvalid, "owner"},
		{config.GatewayKey{Name: "b", Rights: []string{"all"}}, ken.ErrInvalid, "rights[0]"},
		{config.GatewayKey{Name: "b", Models: []string{""}}, ken.ErrInvalid, "models[0]"},
		{config.GatewayKey{Name: "b", TokensPerDay: -1}, ken.ErrInvalid, "tokens_per_day"},
	} {
		_, _, err := s.Create(t.Context(), tt.key, []config.GatewayKey{{Name: "configured"}})
		var e *ken.Error
		if !errors.Is(err, tt.code) || !errors.As(err, &e) || e.Field != tt.field || e.Try == "" {
			t.Errorf("%+v: %v", tt.key, err)
		}
	}
	if list, err := s.List(); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}

// What can't be believed is not read, and not written over.
func TestKeyFilesThatAreRefused(t *testing.T) {
	for text, code := range map[string]error{"{": ken.ErrCorrupt, `{"keys":[{"name":"a","hash":"ken_x"}]}`: ken.ErrCorrupt, "open": ken.ErrRefused} {
		s, path := keysIn(t)
		mode := os.FileMode(0o600)
		if text == "open" {
			text, mode = `{"keys":[]}`, 0o666
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.List(); !errors.Is(err, code) || ken.Hint(err) == "" || strings.Contains(err.Error(), "ken_x") {
			t.Errorf("%s: %v", text, err)
		}
		if _, _, err := s.Create(t.Context(), config.GatewayKey{Name: "b"}, nil); !errors.Is(err, code) {
			t.Errorf("%s: created: %v", text, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("written over: %s %v", b, err)
		}
	}
}

// Of keys that are made at once by several processes none is lost.
func TestKeysMadeAtOnce(t *testing.T) {
	_, path := keysIn(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, _, err := operator.OpenKeys(path, nil).Create(context.Background(), config.GatewayKey{Name: strconv.Itoa(i)}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := operator.OpenKeys(path, nil).List(); err != nil || len(list) != 8 {
		t.Errorf("%d keys, %v", len(list), err)
	}
}
