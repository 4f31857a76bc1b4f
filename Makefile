# Every command of the project; CI runs the same ones.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help test alone check fmt vet staticcheck lint tidy drift race whole fuzz fuzzlist bench bench-gateway cover build docs eval eval-code eval-learn programs clients clients-go clients-node clients-python clients-agents browser pictures recordings engines faults chaos fuzz-text release release-twice packages-test first-hour site

# How long each fuzz target runs, which benchmarks run, and how often.
FUZZTIME ?= 10s
BENCH ?= .
COUNT ?= 1

# How many inputs each target of fuzz-text tries. It is no time: before Go 1.27, a search whose time
# ends may fail with "context deadline exceeded" (go.dev/issue/75804).
FUZZTEXT ?= 150000x

# Where eval-code looks for repositories, and puts those that it fetches.
REPOSITORIES ?= bin/repositories

# Where release puts what it makes, and for which platforms: PLATFORMS=linux/amd64 is quick.
DIST ?= dist
PLATFORMS ?= linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64

# Compiling and analysing make much garbage and end soon, so they collect it less often. Tests do not,
# because some of them measure memory.
SELDOM := GOGC=400

# How many faults the long form of the fault suite has.
FAULTS ?= 2000

# The race detector needs a C compiler. Nothing else does.
RACE := $(shell command -v gcc cc clang >/dev/null 2>&1 && echo -race)

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# What go test vets is part of what make vet does. Some tests ask the go command about this
# repository, and it compiles what is not compiled yet, beside the build of the tests and once
# more than that: so all is compiled before.
test: ## run the tests
	@$(SELDOM) go list -export -test ./... >/dev/null
	go test -vet=off ./...

alone: ## run the tests in a clone of the last commit, with nothing beside it
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	git clone -q . "$$folder/ken"; \
	env -u KEN_DATA $(MAKE) -s -C "$$folder/ken" test

check: fmt vet staticcheck lint tidy drift race whole ## everything that must pass before a commit

fmt: ## list files that gofmt would change
	@out=$$(git ls-files -co --exclude-standard -z '*.go' | xargs -0 gofmt -l); if [ -n "$$out" ]; then echo "run gofmt -w on:"; echo "$$out"; exit 1; fi

vet: ## go vet
	$(SELDOM) go vet ./...

staticcheck: ## staticcheck, at the version in go.mod
	$(SELDOM) go tool staticcheck ./...

lint: ## golangci-lint, where it is installed
	@if command -v golangci-lint >/dev/null; then golangci-lint run; else echo "golangci-lint is not installed: skipped"; fi

tidy: ## compare go.mod and go.sum with what the code needs
	go mod tidy -diff

drift: ## compare what the files import with .ken/architecture.yaml
	@go run ./cmd/ken drift --quiet

# The detector makes code ten times as slow, and finds only what goroutines do to each other. So
# it runs the packages that start some, in their own files or in the suites that their tests
# run. A test server alone is no reason: its goroutines share nothing with the package. The
# detector waits a second at the end of every process for races that are still to come, and each
# package is one.
STARTS := \bgo (func|[a-zA-Z_.]+\()|\.Go\(|synctest\.Test\(t, func\(t |\b[a-z]+test\.(Run|Shelf)
tested = $(shell go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' ./...)
raced = $(shell for dir in $(tested); do ! grep -qE '$(STARTS)' $$dir/*.go || echo $$dir; done)

race: ## run the tests of the packages that start goroutines, in random order with the race detector
	@[ -n "$(RACE)" ] || echo "no C compiler: the race detector is off"
	@echo "go test $(RACE) of the packages that start goroutines"
	@packages="$(raced)"; export CGO_ENABLED=$(if $(RACE),1,0); \
	$(SELDOM) go list -export $(RACE) -test $$packages >/dev/null; \
	GORACE="atexit_sleep_ms=50 $(GORACE)" go test $(RACE) -vet=off -shuffle=on $$packages

# Some tests do less under the detector (internal/race). This is built as make vet has built it
# already. CI runs all tests at full size in a clone without the evaluation data, so it sets WHOLE
# to the package of the tests that read the data.
WHOLE ?=
smaller = $(shell for dir in $(tested); do ! grep -qs 'ken/internal/$(or $(WHOLE),race)"' $$dir/*_test.go || echo $$dir; done)

whole: ## run at full size, without the detector, what make race leaves out or makes smaller
	go test -vet=off $(sort $(smaller) $(if $(WHOLE),,$(filter-out $(raced),$(tested))))

fuzzlist: ## list the fuzz targets
	@go test -list '^Fuzz' ./... | awk '/^Fuzz/ {t[n++] = $$1} /^ok/ {for (i = 0; i < n; i++) print $$2, t[i]; n = 0}'

# Shrinking what is merely interesting takes longer than a short run has, and one
# that is cut short fails.
fuzz: ## run every fuzz target for FUZZTIME
	@$(MAKE) -s fuzzlist | while read -r pkg target; do \
		echo "$$pkg $$target"; \
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$pkg" </dev/null; \
	done

# What reads free text with names that are known: a sentence must never end the process.
fuzz-text: ## try FUZZTEXT inputs each with the fuzz targets that read free text, two at a time
	@printf '%s\n' ./internal/knowledge/structure/reading:FuzzRead ./internal/knowledge/structure/reading:FuzzReadOfKnownNames ./internal/knowledge/structure:FuzzFocal ./internal/knowledge/structure/classify:FuzzAspect | \
		xargs -P 2 -I{} bash -c 't={}; echo "$$t"; go test -run "^$$" -fuzz "^$${t#*:}\$$" -fuzztime $(FUZZTEXT) -fuzzminimizetime 20x -parallel 1 "$${t%:*}" </dev/null'

# Tests of stores that several machines share start real servers of NATS, and of PostgreSQL
# where Debian's packages or pg_ctl are there. Without them they are skipped by name.
NATS ?= v2.15.2

engines: ## install the server of NATS into bin, for the tests of stores that machines share
	@[ -x bin/nats-server ] || GOBIN=$(CURDIR)/bin GOFLAGS=-trimpath CGO_ENABLED=0 go install github.com/nats-io/nats-server/v2@$(NATS)

chaos: engines ## kill, pause and cut off nodes and their engine's servers, FAULTS times each, and compare with what was acknowledged
	KEN_FAULTS=$(FAULTS) go test -count=1 -timeout 5h -run Faults -v ./internal/faults/nodes

# On Linux, as root or where FUSE may be mounted; skipped by name elsewhere.
faults: ## let the disk fail and processes die, FAULTS times, and compare with what was acknowledged
	KEN_FAULTS=$(FAULTS) go test -count=1 -timeout 90m -run Faults -v ./internal/faults

bench: ## run benchmarks: BENCH=pattern COUNT=n
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

bench-gateway: ## print what the gateway costs beside Go's ReverseProxy; KEN_BENCH_STREAMS=60s for long streams
	go test -run '^$$' -bench '^BenchmarkTable$$' -benchtime 1x -timeout 20m ./gateway

eval: ## measure recall on every data set in a folder: DATA=folder EVAL='more flags'
	@[ -n "$(DATA)" ] || { echo "say where the data sets are: make eval DATA=folder"; exit 1; }
	@go run ./cmd/ken eval sweep --data $(DATA) $(EVAL)

# What a package registry does not give is named and left out.
eval-code: ## ask questions about ten repositories, fetched into REPOSITORIES, and fail if too few get their answer
	@CGO_ENABLED=0 go run -trimpath ./cmd/ken eval code --data internal/evals/coderecall/testdata --repositories $(REPOSITORIES) --fetch --at-least 60

eval-learn: ## harvest labelled sessions by rules, and fail if more than a third of what is kept is junk
	@CGO_ENABLED=0 go run -trimpath ./cmd/ken eval learn --data internal/evals/learning/testdata --texts ../shared/data --most-junk 33

cover: ## write cover.out and print the total
	go test -coverprofile=cover.out ./...
	go tool cover -func=cover.out | tail -1

build: ## build bin/ken, without cgo
	CGO_ENABLED=0 go build -trimpath -o bin/ken ./cmd/ken

# The tool that packs is a module of its own: see docs/decisions/0038. Programs for other platforms take minutes to compile at first.
release: ## build the files of a release for PLATFORMS into DIST, and upload nothing
	@cd packaging && CGO_ENABLED=0 go build -trimpath -o ../bin/packaging .
	bin/packaging -out $(DIST) -platforms '$(PLATFORMS)'

release-twice: ## make a release for PLATFORMS in two clones of the last commit, and compare every byte
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	for clone in one "another folder"; do \
		git clone -q . "$$folder/$$clone" && (cd "$$folder/$$clone" && $(MAKE) -s release PLATFORMS='$(PLATFORMS)' DIST=dist); \
	done; \
	cmp "$$folder/one/dist/SHA256SUMS" "$$folder/another folder/dist/SHA256SUMS"; \
	echo "the same bytes: $$(wc -l <"$$folder/one/dist/SHA256SUMS") files"

# What this machine can't try is named, and left out. KEN_DEBIAN=bookworm adds a bare root made by debootstrap.
packages-test: programs ## make a release for this machine in bin/release, install each package afresh and run it
	@if (cd packaging && go mod download) 2>/dev/null; then \
		(cd packaging && CGO_ENABLED=0 go test ./...); \
		$(MAKE) -s release PLATFORMS=linux/$$(go env GOARCH) DIST=bin/release; \
		packaging/test/run bin/release bin/upstream; \
	else echo "SKIPPED: packages: the modules of packaging can't be downloaded"; fi

# A Go engineer, a Python engineer, a JavaScript user, a platform engineer and an agent's user, each from a package to a fact of one session in the
# next. packages-test is the short form. The clients that they bring are installed first, which is not timed. KEN_DEBIAN=bookworm adds a bare root.
first-hour: programs ## play the first hour of five kinds of users, from packages made here, and print how long each waits
	@for folder in python node agents; do internal/clients/$$folder/run install; done
	@$(MAKE) -s release PLATFORMS=linux/$$(go env GOARCH) DIST=bin/release
	@packaging/test/run bin/release bin/upstream go wheel npm deb image agent

# The programs that the tests in other languages start.
programs: build
	CGO_ENABLED=0 go build -trimpath -o bin/upstream ./internal/gateway/upstreamtest/cmd/upstream
	CGO_ENABLED=0 go build -trimpath -o bin/furnish ./internal/console/consoletest/cmd/furnish

# What is missing is named, and its part left out: only Go and make are required. make -j runs the parts beside each other.
clients: clients-python clients-node clients-agents clients-go ## run real clients against ken serve and ken mcp, if they can be installed

clients-go: programs
	@if (cd internal/clients/go && go mod download) 2>/dev/null; then \
		echo "== the OpenAI client for Go"; \
		cd internal/clients/go && KEN_BIN=$(CURDIR)/bin/ken KEN_UPSTREAM_BIN=$(CURDIR)/bin/upstream go test -count=1 ./...; \
	else echo "SKIPPED: the OpenAI client for Go: its module can't be downloaded"; fi

clients-node clients-python clients-agents: clients-%: programs
	@internal/clients/$*/run

browser: programs ## test the console in a real browser, if there is one
	@internal/clients/console/run

site: ## build the documentation site in bin/site, if MkDocs can be installed
	@internal/clients/site/run

pictures: programs ## make the pictures of the console in docs/pictures anew
	@internal/clients/console/run pictures

recordings: build ## record the terminals in docs/pictures anew
	@internal/clients/site/run recordings

docs: ## rewrite the files that are generated from code
	go test ./config -run File -update
	go test ./cmd/ken -run Reference -update
