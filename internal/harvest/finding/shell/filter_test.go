package shell_test

import (
	"testing"

	"github.com/kenlayer/ken/internal/harvest/finding/shell"
)

func TestFilter(t *testing.T) {
	for line, want := range map[string]string{
		"go test ./pay -run TestGood":                     "-run TestGood",
		"go test -run=TestGood ./pay":                     "-run=TestGood",
		"cd pay && go test -v -run 'TestGood|TestFine' .": "-run TestGood|TestFine",
		"go test ./... -skip TestBad":                     "-skip TestBad",
		"go test pay/good_test.go":                        "pay/good_test.go",
		"sh -c 'go test ./pay -run TestGood'":             "-run TestGood",
		"CI=1 timeout 60 go test ./pay -run TestGood":     "-run TestGood",
		"pytest -k good":                                  "-k good",
		"python -m pytest tests -m 'not slow'":            "-m not slow",
		"pytest tests/test_pay.py::test_good":             "tests/test_pay.py::test_good",
		"uv run pytest --lf":                              "--lf",
		"npx jest -t good":                                "-t good",
		"npm test -- --grep good":                         "--grep good",
		"mocha --grep good":                               "--grep good",
		"cargo test money::rounds":                        "money::rounds",
		"cargo test -p pay -- rounds":                     "rounds",
		"mvn -Dtest=MoneyTest test":                       "-Dtest=MoneyTest",
		"./gradlew test --tests MoneyTest":                "--tests MoneyTest",
		"dotnet test --filter Money":                      "--filter Money",
		"go test ./...":                                   "",
		"go test -race -count=1 ./pay":                    "",
		"go test -run . ./pay":                            "",
		"go test -bench=. -run=^ ./pay":                   "",
		"pytest tests/test_pay.py -x -q":                  "",
		"python -m pytest tests":                          "",
		"cargo test -p pay --features money":              "",
		"npm test":                                        "",
		"make test":                                       "",
		"git commit -m 'run the tests'":                   "",
		"":                                                "",
	} {
		if got := shell.Parse(line, "").Filter; got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
