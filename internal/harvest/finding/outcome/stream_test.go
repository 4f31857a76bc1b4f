package outcome

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// An output in pieces says what it says as a whole.
func TestStreamIsTests(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, output := range []string{
		"=== RUN   TestA\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\tpay/web 0.1s\nok  \tpay/store\t1.2s\tcoverage: 80.1% of statements",
		`{"Action":"pass","Package":"pay","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"pay"}` + "\n" + `{"Action":"pa`,
		"tests/test_a.py ..s.    [ 66%]\r\ntests/test_b.py .F    [100%]\r\n=== 1 failed, 4 passed in 0.12s ===",
		"PASS src/a.test.ts\n  Button\n    ✓ renders (12 ms)\n    ✕ clicks (3 ms)\nTests: 1 failed",
		"vite v5.4.0 building for production...\n✓ 31 modules transformed.\n✓ built in 2.31s",
		"test money::rounds ... ok\ntest money::splits ... FAILED\n",
		"TAP version 13\nok 1 - adds numbers\nnot ok 2 - splits",
		"nothing to see", "",
	} {
		var s Stream
		for rest := output; rest != ""; {
			n := 1 + rng.IntN(len(rest))
			if k, err := s.Write([]byte(rest[:n])); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		got, complete := s.Tests()
		if spell(got) != spell(Tests(output)) || !complete {
			t.Errorf("%q\ngot  %s\nwant %s", output, spell(got), spell(Tests(output)))
		}
	}
}

func TestStreamIsBounded(t *testing.T) {
	var s Stream
	for i := range 3 * MaxTests {
		fmt.Fprintf(&s, "--- PASS: Test%d (0.00s)\n", i)
	}
	fmt.Fprintf(&s, "%s\n--- FAIL: TestLast (0.00s)\nFAIL\tpay\t0.1s\n", strings.Repeat("x", 1<<20))
	got, complete := s.Tests()
	if len(got) != MaxTests+2 || got[MaxTests].Name != "TestLast" || !got[MaxTests+1].Group || complete {
		t.Errorf("%d, complete %v", len(got), complete)
	}
	if cap(s.line) > 2*maxLine {
		t.Errorf("holds %d bytes", cap(s.line))
	}
}

func TestStreamWithoutColours(t *testing.T) {
	var s Stream
	fmt.Fprint(&s, "\x1b[32m--- PASS: TestA (0.00s)\x1b[0m\n")
	if got, _ := s.Tests(); spell(got) != "+TestA" {
		t.Error(spell(got))
	}
}
