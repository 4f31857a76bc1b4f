package caught

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	mine := errors.New("mine")
	for name, tt := range map[string]struct {
		fn    func() error
		err   error
		panic bool
	}{
		"nothing":               {func() error { return nil }, nil, false},
		"an error":              {func() error { return mine }, mine, false},
		"a panic with an error": {func() error { panic(mine) }, mine, true},
		"an index":              {func() error { _ = []int{}[len(name0)]; return nil }, nil, true},
	} {
		err := Run(tt.fn)
		if tt.err != nil && !errors.Is(err, tt.err) || Is(err) != tt.panic || (err == nil) != (name == "nothing") {
			t.Errorf("%s: %v", name, err)
		}
		if got := Stack(fmt.Errorf("read: %w", err)); strings.Contains(got, "caught_test.go") != tt.panic {
			t.Errorf("%s: stack %q", name, got)
		}
	}
}

var name0 = "x"
