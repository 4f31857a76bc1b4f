package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// part is a package of the simulated service.
type part struct {
	name  string
	doc   string
	files map[string][]string // names of functions by file
	team  string
}

// parts lists the packages in a fixed order, unlike a map.
var parts = []part{
	{"money", "Package money holds amounts in cents and rounds them half to even.", map[string][]string{"money": {"Parse", "Format"}, "round": {"Round", "RoundTo"}, "split": {"Split", "SplitByWeight"}}, "@paylane/core"},
	{"invoice", "Package invoice draws up invoices and moves them through their states.", map[string][]string{"invoice": {"New", "Finalize"}, "state": {"Transition", "CanVoid"}, "number": {"NextNumber", "FormatNumber"}}, "@paylane/billing"},
	{"store", "Package store keeps invoices and events in PostgreSQL.", map[string][]string{"store": {"Open", "Close"}, "invoices": {"SaveInvoice", "LoadInvoice"}, "events": {"AppendEvent", "ReplayEvents"}, "migrate": {"Migrate", "Version"}}, "@paylane/platform"},
	{"webhook", "Package webhook delivers events to merchants and retries what fails.", map[string][]string{"deliver": {"Deliver", "SignPayload"}, "retry": {"Backoff", "NextAttempt"}, "queue": {"Enqueue", "Drain"}}, "@paylane/platform"},
	{"ledger", "Package ledger books every movement of money twice.", map[string][]string{"book": {"Book", "Reverse"}, "balance": {"Balance", "BalanceAt"}}, "@paylane/core"},
	{"api", "Package api serves the public HTTP interface, version 2.", map[string][]string{"server": {"NewServer", "Shutdown"}, "invoices": {"HandleCreate", "HandleVoid"}, "auth": {"Authenticate", "RequireScope"}, "limit": {"RateLimit", "Allow"}}, "@paylane/api"},
	{"fx", "Package fx converts between currencies at the rate of the day.", map[string][]string{"rates": {"Rate", "Refresh"}, "convert": {"Convert", "Invert"}}, "@paylane/core"},
	{"dunning", "Package dunning reminds customers of what they owe.", map[string][]string{"schedule": {"NextReminder", "Pause"}, "letter": {"RenderLetter", "Subject"}}, "@paylane/billing"},
}

// fileNames returns the files of a part, in order.
func (p *part) fileNames() []string {
	return slices.DeleteFunc(strings.Fields(`money round split invoice state number store invoices events migrate deliver retry queue
		book balance server auth limit rates convert schedule letter`), func(name string) bool { return p.files[name] == nil })
}

// files returns the repository as of the first day.
func files() map[string]string {
	fs := map[string]string{
		"go.mod":                       "module example.com/paylane\n\ngo 1.25\n\nrequire (\n\tgithub.com/go-chi/chi/v5 v5.1.0\n\tgithub.com/jackc/pgx/v5 v5.6.0\n\tgithub.com/google/uuid v1.6.0\n)\n",
		"Makefile":                     "build:\n\tgo build ./...\n\ntest:\n\tgo test ./...\n\nlint:\n\tgolangci-lint run\n\nmigrate:\n\tgo run ./cmd/migrate\n\nseed:\n\tgo run ./cmd/seed\n",
		"README.md":                    "# Paylane\n\nPaylane takes payments for merchants and pays them out once a day. It is a Go service with a web front in TypeScript.\n\n## Start\n\nRun `make migrate` first.\n",
		"CODEOWNERS":                   "# who reviews what\n/money/ @paylane/core\n/ledger/ @paylane/core\n/store/ @paylane/platform\n/web/ @paylane/front ada@paylane.example\n",
		"compose.yaml":                 "services:\n  db:\n    image: postgres:16\n  redis:\n    image: redis:7\n",
		"web/package.json":             "{\n  \"name\": \"paylane-web\",\n  \"scripts\": {\n    \"dev\": \"vite\",\n    \"build\": \"vite build\",\n    \"test\": \"vitest run\",\n    \"lint\": \"eslint .\"\n  },\n  \"dependencies\": {\n    \"react\": \"18.3.1\"\n  }\n}\n",
		"web/src/checkout.tsx":         "// The checkout page: amount, method, confirmation.\nexport function Checkout(props: CheckoutProps) {\n  return <Form amount={props.amount} />\n}\n\nexport class CheckoutError extends Error {}\n",
		"web/src/api.ts":               "/** Calls of the public interface, with retries on 503. */\nexport async function createInvoice(draft: Draft) {\n  return post('/v2/invoices', draft)\n}\n",
		"scripts/seed.py":              "\"\"\"Fill a local database with merchants and invoices.\"\"\"\n\ndef main():\n    seed(100)\n\ndef seed(n):\n    pass\n",
		"docs/decisions/0001-ids.md":   "# 1. Invoice ids are UUIDs\n\nStatus: Accepted\n\nWe use version 7 so that they sort by time.\n",
		"docs/decisions/0002-cents.md": "# 2. Amounts are integers of cents\n\nStatus: Accepted\n\nFloats lose cents.\n",
		"docs/runbook.md":              "# Runbook\n\nWhat to do when deliveries to merchants pile up in the queue.\n\n## Queue\n\nDrain it by hand with `paylane drain`.\n",
		".env":                         "DATABASE_URL=postgres://paylane:v3ry-L0ng" + "-pw@localhost:5432/paylane\nSTRIPE_KEY=sk_" + "live_q7RzT1mXv8KpLw3NcYh6BdJg\n",
	}
	for i := range parts {
		p := &parts[i]
		for j, name := range p.fileNames() {
			fs[p.name+"/"+name+".go"] = p.source(name, j == 0)
			fs[p.name+"/"+name+"_test.go"] = p.tests(name)
		}
	}
	return fs
}

func (p *part) source(name string, first bool) string {
	var b strings.Builder
	if first {
		b.WriteString("// " + p.doc + "\n")
	}
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n)\n", p.name)
	for i, fn := range p.files[name] {
		fmt.Fprintf(&b, "\n// %s is step %d of what %s does.\nfunc %s(in string) (string, error) {\n\tif in == \"\" {\n\t\treturn \"\", errors.New(\"%s: nothing given\")\n\t}\n\tlimit := %d\n\treturn fmt.Sprint(in, limit), nil\n}\n",
			fn, i+1, name, fn, strings.ToLower(fn), 10*(i+1))
	}
	return b.String()
}

func (p *part) tests(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport \"testing\"\n", p.name)
	for _, fn := range p.files[name] {
		fmt.Fprintf(&b, "\nfunc Test%s(t *testing.T) {\n\tif _, err := %s(\"\"); err == nil {\n\t\tt.Error(\"no error\")\n\t}\n}\n", fn, fn)
	}
	return b.String()
}
