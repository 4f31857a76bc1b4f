package shell

import "testing"

// The same command must be recognised next time, whatever stood around it.
func TestTextIsTheSameNextTime(t *testing.T) {
	const root = "/home/ada/pay"
	for _, tt := range []struct{ name, line, want string }{
		{"plain", "go test ./...", "go test ./..."},
		{"spaces", "  go   test\t./... ", "go test ./..."},
		{"comment", "make lint # again", "make lint"},
		{"into the project", "cd /home/ada/pay && go test ./store", "go test ./store"},
		{"into the project, with a semicolon", "cd ~/pay; go test ./store", "go test ./store"},
		{"a folder within it means another command", "cd web && npm test", "cd web && npm test"},
		{"the same folder, from the top", "cd /home/ada/pay/web && npm test", "cd web && npm test"},
		{"environment", "CGO_ENABLED=0 GOFLAGS=-count=1 go build ./cmd/pay", "go build ./cmd/pay"},
		{"env", "env -i PATH=/bin make", "make"},
		{"export", "export CI=1 && npm run lint", "npm run lint"},
		{"virtual environment", "source .venv/bin/activate && pytest -q", "pytest -q"},
		{"timeout", "timeout -k 5 300s go test ./...", "go test ./..."},
		{"timeout and time", "time timeout 60 make check", "make check"},
		{"output thrown away", "make check > /tmp/out.log 2>&1", "make check"},
		{"output thrown away at once", "make check &>/dev/null", "make check"},
		{"a filter", "go test ./... 2>&1 | tail -20", "go test ./..."},
		{"two filters", "go test ./... 2>&1 | grep -v ok | head -5", "go test ./..."},
		{"echo of the status", "go vet ./...; echo \"exit: $?\"", "go vet ./..."},
		{"or true", "npm run lint || true", "npm run lint"},
		{"a shell in between", `bash -lc "go test ./..."`, "go test ./..."},
		{"compound", "go build ./... && go test ./...", "go build ./... && go test ./..."},
		{"continued line", "docker run \\\n  --rm pay:dev", "docker run --rm pay:dev"},
		{"temporary path", "./bin/pay --config /tmp/pay-8123/config.yaml", "./bin/pay --config <tmp>"},
		{"mktemp", "go test -coverprofile=$(mktemp) ./...", "go test -coverprofile=<tmp> ./..."},
		{"commit", "git cherry-pick 4f5e6d7a", "git cherry-pick <hash>"},
		{"uuid", "./pay show 0190a5b4-6c3e-7f2a-8d1b-2c3d4e5f6a7b", "./pay show <id>"},
		{"date", "./pay report --day 2026-05-15T10:00:00Z", "./pay report --day <time>"},
		{"epoch", "./pay replay 1747303200", "./pay replay <time>"},
		{"port", "curl -fsS http://localhost:43817/health", "curl -fsS http://localhost:<port>/health"},
		{"port option", "npm run dev -- --port 5199", "npm run dev -- --port <port>"},
		{"message", `git commit -m "fix rounding" store`, `git commit -m "…" store`},
		{"long literal", `./pay query "select id, total, currency from invoices where total > 100"`, `./pay query "…"`},
		{"short literal", `go test -run "TestRound$" ./money`, `go test -run "TestRound$" ./money`},
		{"own home", "ls-lint /home/bob/x", "ls-lint ~/x"},
		{"path in the project", "gofmt -l /home/ada/pay/store", "gofmt -l store"},
		{"a word that looks like a hash", "make deadbee", "make deadbee"},
		{"no script", "for f in *.go; do gofmt -l $f; done", ""},
		{"no second line", "cd x\ngo build", ""},
		{"no here-document", "cat > a.go <<EOF\npackage a\nEOF", ""},
		{"nothing", "   ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Parse(tt.line, root)
			if c.Text != tt.want {
				t.Errorf("%q, want %q", c.Text, tt.want)
			}
			if again := Parse(c.Text, root); c.Text != "" && again.Text != c.Text {
				t.Errorf("not stable: %q becomes %q", c.Text, again.Text)
			}
		})
	}
}

// "go test | tail" exits 0 whatever the tests did: taken for a success, it would
// verify a falsehood.
func TestExitStatusOfAnotherCommand(t *testing.T) {
	for line, want := range map[string]bool{
		"go test ./...":                              true,
		"cd /src && go test ./... 2>&1":              true,
		"go build ./... && go test ./...":            true,
		"go test ./... && echo ok":                   true,
		"timeout 60 go test ./...":                   true,
		"set -o pipefail && go test ./... | tail -5": true,
		"go test ./... | tail -5":                    false,
		"go test ./... 2>&1 | grep FAIL":             false,
		"go test ./... || true":                      false,
		"go test ./...; echo $?":                     false,
		"go test ./...; go vet ./...":                false,
		"./server &":                                 false,
		"generate | import --all":                    false,
		"ls; ":                                       true,
		"":                                           false,
	} {
		if got := Parse(line, "").OwnExit; got != want {
			t.Errorf("%q: own exit is %v", line, got)
		}
	}
}

// A runner's summary stands at the end of its output; "| grep ok" shows what one
// wants to see.
func TestWholeOutputEndsWithTheSummary(t *testing.T) {
	for line, want := range map[string]bool{
		"go test ./...": true, "go test ./... 2>&1 | tail -5": true, "go test ./... | tee out.txt": true, "go test ./...; echo done": true,
		"go test ./... | head": false, "go test ./... | grep ok": false, "go test ./... | grep -v x | tail": false, "": false,
	} {
		if got := Parse(line, "").OwnEnd; got != want {
			t.Errorf("%q: own end is %v", line, got)
		}
	}
}

func TestWhatIsWorthRemembering(t *testing.T) {
	const trivial, routine, worth = "trivial", "routine", "worth"
	for line, want := range map[string]string{
		"ls -la":                               trivial,
		"cd /x && pwd && cat go.mod":           trivial,
		"git status":                           trivial,
		"git -C sub log --oneline -5":          trivial,
		"git diff HEAD~1 | head -50":           trivial,
		"sed -n '1,80p' a.go":                  trivial,
		"find . -name '*.go' | xargs grep foo": trivial,
		"go version":                           trivial,
		"node --version":                       trivial,
		"python3 -c 'print(1)'":                trivial,
		"uv run python -c 'print(1)'":          trivial,
		"psql -c 'select 1'":                   trivial,
		"kubectl -n pay get pods":              trivial,
		"docker ps -a":                         trivial,
		"mkdir -p a && cp x a":                 trivial,
		"npm help":                             trivial,
		"echo hello && sleep 1":                trivial,
		"cat <<EOF\nx\nEOF":                    trivial,
		"git commit -m x":                      routine,
		"git add -A && git commit -m x":        routine,
		"git push origin main":                 routine,
		"go test ./...":                        worth,
		"sed -i 's/a/b/' x":                    routine,
		"find . -name '*.tmp' -delete":         routine,
		"python3 -m pytest -q":                 worth,
		"python3 scripts/seed.py":              worth,
		"docker compose up -d":                 worth,
		"kubectl apply -f x.yaml":              worth,
		"npm run build":                        worth,
		"git add -A && npm run lint":           worth,
		"cat x && make check":                  worth,
	} {
		c, got := Parse(line, ""), worth
		if c.Routine {
			got = routine
		}
		if c.Trivial {
			got = trivial
		}
		if got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"go test ./... 2>&1 | tail -5", "a 'b", `a "b\`, "x <<EOF\ny\nEOF\nz", "$(a (b) ", "cd x && y; z &", "timeout -k", "`", "a <<", "bash -lc 'x <<E\nE'", "env env env", ">", "2>&1 >"} {
		f.Add(s, "/r")
	}
	f.Fuzz(func(t *testing.T, line, root string) {
		c := Parse(line, root)
		if len(c.Text) > maxText {
			t.Errorf("%d bytes", len(c.Text))
		}
		if c.Text == "" && !c.Trivial {
			t.Error("nothing, and not trivial")
		}
		a, ok := Acts(line)
		if ok && a.Verb == "" || ok && a.Verb == Moves && len(a.Paths) != 2 {
			t.Errorf("%+v", a)
		}
	})
}
