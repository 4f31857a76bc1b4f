package consolidate

import (
	"strings"
	"testing"
)

// rendered is a read statement: its words, and what was taken out of them.
func rendered(s string) string {
	t := read(s)
	var out []string
	for _, w := range t.words {
		n := w.norm
		switch {
		case w.has(past) && !w.has(be):
			n += "/past"
		case w.has(passive):
			n += "/passive"
		case w.has(going):
			n += "/ing"
		}
		out = append(out, n)
	}
	line := strings.Join(out, " ")
	if t.strong != "" {
		line += " !" + t.strong
	}
	if t.weak != "" {
		line += " ~" + t.weak
	}
	if len(t.when) > 0 {
		line += " @" + strings.Join(t.when, ",")
	}
	return line
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"  **The** `ledger`, runs! ":        "ledger run",
		"Ana doesn't eat meat":              "ana not eat meat",
		"Ana does not eat meat":             "ana not eat meat",
		"Ana can't come":                    "ana can not come",
		"Ana cannot come":                   "ana can not come",
		"We won't deploy":                   "we will not deploy",
		"It's the user's cat":               "it be user cat",
		"They’re O'Brien's":                 "they be o'brien",
		"Ana no longer smokes":              "ana not smoke !no longer",
		"Ana doesn't smoke anymore":         "ana not smoke !anymore",
		"Ana doesn't smoke any longer":      "ana not smoke !any longer",
		"Ana stopped smoking":               "ana not smoke !stopped",
		"Ana used to smoke":                 "ana not smoke !used to",
		"The flag is used to smoke out":     "flag be use/passive to smoke out",
		"Ana has to go":                     "ana must go",
		"Ana must go":                       "ana must go",
		"Ana has lived in Rome":             "ana live in rome",
		"Ana has eaten":                     "ana eat/past",
		"Ana had a dog":                     "ana have/past dog",
		"Ana did eat":                       "ana eat/past",
		"Ana ate":                           "ana eat/past",
		"The app is deployed":               "application be deploy/passive",
		"The app was deployed":              "application was deploy/passive",
		"The app gets rebuilt":              "application be rebuild/passive",
		"The app is run by cron":            "application be run/passive by cron",
		"Ana is working at Acme":            "ana work at acme",
		"Ana is singing":                    "ana be sing/ing",
		"Ana is based in Oslo":              "ana live in oslo",
		"The port of the ledger is 80":      "ledger port be 80",
		"The ledger's port is 80":           "ledger port be 80",
		"The port for the ledger is 80":     "ledger port be 80",
		"The database for the app is big":   "database for application be big",
		"Port: 8080":                        "port be 8080",
		"PORT=8080":                         "port be 8080",
		"PORT = 8080":                       "port be 8080",
		"The limit is 1,000 users":          "limit be 1000 users",
		"Use 1,2 or 3":                      "use 1,2 or 3",
		"wait 30s":                          "wait 30 second",
		"wait 30 secs":                      "wait 30 second",
		"wait days":                         "wait days",
		"the second attempt":                "second attempt",
		"v1.2 and version 1.2":              "1.2 and 1.2",
		"due on 15th of October":            "due on october 15",
		"due on Oct 15":                     "due on october 15",
		"due on 3 May 2026":                 "due on may 3 2026",
		"Ana may go":                        "ana may go",
		"Since May 2026 Ana lives in Rome":  "ana live in rome ~since May @may,2026",
		"As of now Ana leads":               "ana lead ~as now",
		"slow since the upgrade":            "slow because upgrade",
		"From June on Ana leads":            "ana lead ~from June @june",
		"Ana now leads":                     "ana lead ~now",
		"spaces instead of tabs":            "spaces instead-of tabs !instead of",
		"Ana's new phone number is 5":       "ana phone number be 5 ~new",
		"Note that CI is slow":              "ci be slow",
		"Remember: CI is slow":              "ci be slow",
		"I prefer tabs":                     "user prefer tabs",
		"my sister":                         "user sister",
		"two cats":                          "2 cats",
		"the prod DB":                       "production database",
		"Golang and Go":                     "go and go",
		"getUser in GetUser":                "getUser in getuser",
		"Postgres on GitHub":                "postgresql on github",
		"see a/x.go, pkg.Func and --dry":    "see a/x.go pkg.Func and --dry",
		"a read-only, well known flag":      "read only well know/past flag",
		"C++ is not C":                      "C++ be not c",
		"x → y -> z":                        "x -> y -> z",
		"UTC+2 > UTC-2":                     "UTC+2 > UTC-2",
		"the health check port is 1":        "health check port be 1",
		"health checks run":                 "health checks run",
		"the rate limit of the API is 5":    "api rate limit be 5",
		"Go modules are cached":             "go modules be cache/passive",
		"the build runs":                    "build run",
		"Das Team nutzt den Port":           "das team nutzt den port",
		"Le test ne passe pas":              "le test ne passe pas",
		"the MIT license":                   "mit licence",
		"用户喜欢喝茶。":                           "用户喜欢喝茶",
		"１０ ｐｏｒｔｓ":                          "10 ports",
		"The team has two offices, in Rome": "team have 2 offices in rome",
	} {
		if got := rendered(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestReadTells(t *testing.T) {
	for text, want := range map[string]func(text) bool{
		"用户喜欢喝茶":                          func(t text) bool { return t.raw },
		"Der Server ist langsam":          func(t text) bool { return t.notEnglish && !t.raw },
		"The server is slow":              func(t text) bool { return !t.notEnglish && t.parts == 1 },
		"It is slow. It is old.":          func(t text) bool { return t.parts == 2 },
		"Is it slow?":                     func(t text) bool { return t.asks },
		"if (a) { b(); }":                 func(t text) bool { return t.code },
		"see https://acme.dev/a":          func(t text) bool { return !t.code },
		"Ana also sings":                  func(t text) bool { return t.also },
		"P(A) = P(B) + P(C)":              func(t text) bool { return t.code },
		"PORT = 8080":                     func(t text) bool { return !t.code },
		"Ana sings, and Bo dances, too":   func(t text) bool { return t.also },
		"The API is slow, i.e. unhelpful": func(t text) bool { return t.parts >= 1 },
	} {
		if got := read(text); !want(got) {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
