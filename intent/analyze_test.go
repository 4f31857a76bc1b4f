package intent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func user(text string) ken.Message { return ken.Message{Role: "user", Text: text} }

func analyze(text string) ken.Signals { return Analyze([]ken.Message{user(text)}) }

func TestAnalyze(t *testing.T) {
	for _, tc := range []struct {
		name, text         string
		keywords, symbols  string // separated by |
		failures, entities string
	}{
		// Questions to a chat memory.
		{name: "when", text: "When did Caroline go to the LGBTQ support group?",
			keywords: "caroline|lgbtq|support|group|go", entities: "Caroline|LGBTQ"},
		{name: "possessives", text: "what's mel's favourite book, and did Caroline’s mom like \"Charlotte's Web\"?",
			keywords: "mel|favourite|book|caroline|mom|charlotte|web|like", entities: "Charlotte's Web|mel|Caroline"},
		{name: "sequences", text: "Dr. Seuss met Ludwig van Beethoven at the Golden Gate Bridge in May",
			keywords: "dr|seuss|met|ludwig|van|beethoven|golden|gate|bridge|may", entities: "Dr. Seuss|Ludwig van Beethoven|Golden Gate Bridge"},
		{name: "statement", text: "Melanie moved to Berlin on 7 May 2023.",
			keywords: "melanie|moved|berlin|7|2023|may", entities: "Melanie|Berlin"},
		{name: "an owner that is nobody", text: "what is in the user's basket today",
			keywords: "user|basket|today"},
		{name: "mention", text: "ask @bob-lee about lunch", keywords: "bob-lee|lunch|ask", entities: "bob-lee"},
		{name: "heading in capitals", text: "HOW DO I FIX THE BUILD OF KEN", keywords: "fix|build|ken"},

		// Questions about code.
		{name: "symbols", text: "Why does `retry` in store/bolt/log.go:42 call AuthService.Login twice with max_results?",
			keywords: "retry|call|twice", symbols: "retry|store/bolt/log.go|AuthService.Login|max_results", entities: "retry"},
		{name: "a call", text: "what calls peek()? It is not peek (the game)", keywords: "peek|calls|game", symbols: "peek"},
		{name: "camel and pascal", text: "where is parseJSON used by the HTTPServer and std::vector",
			keywords: "used", symbols: "parseJSON|HTTPServer|std::vector"},
		{name: "not symbols", text: "and/or APIs e.g. v1.2.3 at example.com, see https://a.io/b_c well-known",
			keywords: "apis|e.g|v1.2.3|example.com|well-known|see", entities: "APIs"},
		{name: "windows path", text: `open C:\src\main.cs please`, keywords: "open", symbols: `C:\src\main.cs`},
		{name: "pasted code comes last", text: "```go\nfoo_bar(x.y1)\nfoo_bar()\n```\nwhat does newClaim do?",
			symbols: "newClaim|foo_bar|x.y1"},
		{name: "inline block", text: "```run_it``` does what to Rome?", keywords: "rome", symbols: "run_it", entities: "run_it|Rome"},
		{name: "languages", text: "port this from C++ to C#", keywords: "port|c++|c#", entities: "C++|C#"},
		{name: "dates and numbers", text: "did revenue pass 1,500 on 2023-05-08",
			keywords: "revenue|pass|1|500|2023-05-08"},

		// Failures.
		{name: "prose", text: "The build fails with exit code 137 and parseConfig doesn't work. Why?",
			keywords: "build|fails|exit|code|137|work", symbols: "parseConfig",
			failures: "exit code 137|build fails with exit code|parseConfig doesn't work"},
		{name: "status", text: "I'm getting a 503 from the billing endpoint, then HTTP 404",
			keywords: "503|billing|endpoint|http|404|getting", failures: "HTTP 503|HTTP 404", entities: "HTTP"},
		{name: "not a status", text: "I paid 500 dollars for a 404 page poster",
			keywords: "paid|500|dollars|404|page|poster"},
		{name: "codes", text: "npm says ECONNREFUSED, tsc says TS2322 and rustc E0308, but RFC2616 and SHA256 are fine",
			failures: "ECONNREFUSED|TS2322|E0308", entities: "RFC2616|SHA256"},
		{name: "sentinel", text: "who returns ErrNotFound?", keywords: "returns", symbols: "ErrNotFound", failures: "ErrNotFound"},
		{name: "go panic", text: goTrace,
			symbols:  "main.readClaims|main.main|/home/me/app/store/claims.go|/home/me/app/main.go",
			failures: "exit code 2|panic: runtime error: index out of range [5] with length 3|/home/me/app/store/claims.go:42|/home/me/app/main.go:17"},
		{name: "python", text: "Traceback (most recent call last):\n  File \"app.py\", line 10, in <module>\n    run()\nTypeError: can't multiply 'str' twice",
			symbols:  "app.py|TypeError",
			failures: "TypeError|TypeError: can't multiply 'str' twice|app.py:10", entities: "app.py|str"},
		{name: "java", text: "java.lang.NullPointerException: name is null\n\tat com.foo.Bar.baz(Bar.java:42)\n\tat com.foo.Main.main(Main.java:7)",
			symbols:  "java.lang.NullPointerException|com.foo.Bar.baz|Bar.java|com.foo.Main.main|Main.java",
			failures: "NullPointerException|java.lang.NullPointerException: name is null|Bar.java:42|Main.java:7"},
		{name: "javascript", text: "TypeError: Cannot read properties of undefined (reading 'map')\n    at render (/app/src/list.jsx:10:5)",
			symbols:  "TypeError|/app/src/list.jsx",
			failures: "TypeError|TypeError: Cannot read properties of undefined (reading 'map|/app/src/list.jsx:10", entities: "map"},
		{name: "rust", text: "error[E0308]: mismatched types\n --> src/main.rs:3:14",
			symbols: "src/main.rs", failures: "E0308|error[E0308]: mismatched types|src/main.rs:3"},

		// Other scripts.
		{name: "chinese", text: "我们的数据库在哪里？", keywords: "数据库|里"},
		{name: "japanese", text: "データベースの接続エラー ECONNREFUSED はなぜ？",
			keywords: "データベース|接続|エラー|econnrefused|はなぜ|の", failures: "ECONNREFUSED"},
		{name: "korean", text: "데이터베이스는 어디에 있나요?", keywords: "데이터베이스는|어디에|있나요"},
		{name: "mixed", text: "用Go語言写的retry_policy", keywords: "語言写|用|go", symbols: "retry_policy", entities: "Go"},
		{name: "quoted japanese", text: "「千と千尋」を見た？", keywords: "千尋|千|見|と|を|た", entities: "千と千尋"},
		{name: "hebrew", text: "מתי דנה נסעה לחיפה?", keywords: "מתי|דנה|נסעה|לחיפה"},
		{name: "arabic", text: "أين تقع قاعدة البيانات؟", keywords: "أين|تقع|قاعدة|البيانات"},
		{name: "accents", text: "Où est le café d’Élodie?", keywords: "où|est|le|café|d’élodie"},
		{name: "nul", text: "where\x00is\x00the cache\xff?", keywords: "cache"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := analyze(tc.text)
			if !s.Asks {
				t.Error("asks nothing")
			}
			if tc.keywords != "" {
				equal(t, "keywords", tc.keywords, s.Keywords)
			}
			equal(t, "symbols", tc.symbols, s.Symbols)
			equal(t, "failures", tc.failures, s.Failures)
			equal(t, "entities", tc.entities, s.Entities)
		})
	}
}

func equal(t *testing.T, what, want string, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, strings.Join(got, "|")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Layers that inject on every turn put a block before "thanks!".
func TestSmallTalkAsksNothing(t *testing.T) {
	for _, text := range []string{
		"", "  \n", "👍", "🎉🎉", "...", "?", "thanks!", "Thank you so much!", "ty", "ok", "OK.", "k", "great, that works", "Perfect",
		"hi", "Hello!", "hey there", "Hi Claude!", "Thanks Mel", "good morning", "how are you?", "Hi, how are you doing?", "What's up?",
		"yes", "yes please do", "Yes, go ahead.", "no", "nope", "no thanks", "continue", "go on", "sounds good to me", "got it, thanks",
		"I see", "that makes sense", "Thanks for explaining that!", "thank you for your help", "2", "lol", "bye, see you later",
		"you're welcome", "no problem", "looks good", "LGTM", "+1", "done", "谢谢", "好的", "ありがとうございます！", "감사합니다", "merci", "спасибо",
		"شكرا", "תודה", "Thanks! 😊", "Awesome!!", "y",
	} {
		s := analyze(text)
		if s.Asks {
			t.Errorf("%q asks: %+v", text, s)
		}
		if n := len(s.Keywords) + len(s.Symbols) + len(s.Failures) + len(s.Entities); n != 0 {
			t.Errorf("%q: %d signals", text, n)
		}
	}
}

func TestDoubtAsks(t *testing.T) {
	for _, text := range []string{
		"no, use Postgres", "yes, but with retries", "thanks, now deploy it to staging", "how does that work?", "why?", "does it work?",
		"is it done?", "fix it", "try again", "hi, where is the config?", "Thanks for the config. Where is it read?", "ok, and the tests?",
		"great, what next?", "what do you know about me", "Caroline", "log.go", "ECONNREFUSED", "really?", "no error handling", "run `make`",
		"数据库", "ok 42 items", "hello world program", "good morning routine of Mel", "thanks for v2.1, deploy it", "2023",
	} {
		if !analyze(text).Asks {
			t.Errorf("%q asks nothing", text)
		}
	}
}

func TestTurnIsAboutTheLastUserMessage(t *testing.T) {
	s := Analyze([]ken.Message{
		{Role: "system", Text: "You know Kubernetes."},
		user("Tell me about Paris."),
		{Role: "assistant", Text: "Paris has a Tower."},
		user("[Pipeline Knowledge]\nSecretThing is true."),
		user("Where does Rome keep its fountains?"),
		user("[Pipeline Knowledge]\nOtherThing is true."),
	})
	equal(t, "keywords", "rome|fountains|keep", s.Keywords)
	equal(t, "entities", "Rome", s.Entities)
	if s.Question != "Where does Rome keep its fountains?" {
		t.Errorf("question %q", s.Question)
	}
}

func TestToolLoop(t *testing.T) {
	s := Analyze([]ken.Message{
		user("Fix the failing login test."),
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "1", Name: "run"}}},
		{Role: "tool", ToolCallID: "1", Text: "OldError: gone by now"},
		{Role: "assistant", ToolCalls: []ken.ToolCall{{ID: "2", Name: "run"}}},
		{Role: "tool", ToolCallID: "2", Text: "--- FAIL: TestLogin\n    login_test.go:42: got 401\nSecretName said a word about errors in passing\nexit status 1"},
		user("[Pipeline Knowledge]\nBlockError: not of this turn"),
	})
	equal(t, "keywords", "fix|failing|login|test", s.Keywords)
	equal(t, "symbols", "", s.Symbols)
	equal(t, "entities", "", s.Entities)
	equal(t, "failures", "HTTP 401|exit code 1|Fix the failing login test|FAIL: TestLogin|login_test.go:42", s.Failures)
}

func TestFollowUpTakesTheEarlierTopic(t *testing.T) {
	s := Analyze([]ken.Message{
		user("Where do we keep the invoices of Acme?"), {Role: "assistant", Text: "In the vault."},
		user("thanks"), {Role: "assistant", Text: "Welcome."},
		user("And why is that?"),
	})
	equal(t, "keywords", "invoices|acme|keep", s.Keywords)
	equal(t, "entities", "Acme", s.Entities)
	if want := "Where do we keep the invoices of Acme?\nAnd why is that?"; s.Question != want || !s.Asks {
		t.Errorf("question %q, asks %v", s.Question, s.Asks)
	}
}

func TestNoUserMessage(t *testing.T) {
	for _, messages := range [][]ken.Message{nil, {{Role: "system", Text: "Where is Rome?"}}, {user("[Pipeline Knowledge] x")}} {
		s := Analyze(messages)
		raw, err := json.Marshal(s)
		if err != nil || s.Asks || string(raw) != `{"keywords":[],"symbols":[],"failures":[],"entities":[]}` {
			t.Errorf("%s, %v, asks %v", raw, err, s.Asks)
		}
	}
}

func TestTextFromParts(t *testing.T) {
	s := Analyze([]ken.Message{{Role: "user", Parts: []ken.Part{{Type: "text", Text: "Who painted"}, {Type: "image_url"}, {Type: "text", Text: "this sunrise?"}}}})
	equal(t, "keywords", "painted|sunrise", s.Keywords)
	if s.Question != "Who painted\nthis sunrise?" {
		t.Errorf("question %q", s.Question)
	}
}

func TestLongMessage(t *testing.T) {
	log := strings.Repeat("10:00:00 INFO request handled took=12ms\n", 30000)
	text := "Why does the importer stop?\n" + log[:4000] + "ERROR: disk quota exceeded on node7\n" + log + "panic: lost lease\nIt is about the Berlin cluster."
	s := analyze(text)
	n := utf8.RuneCountInString(s.Question)
	if n > maxQuestion {
		t.Errorf("question of %d characters", n)
	}
	for _, part := range []string{"Why does the importer stop?", "ERROR: disk quota exceeded on node7", "It is about the Berlin cluster."} {
		if !strings.Contains(s.Question, part) {
			t.Errorf("question lacks %q", part)
		}
	}
	for _, k := range []string{"importer", "stop", "berlin", "cluster"} {
		if !slices.Contains(s.Keywords, k) {
			t.Errorf("keywords lack %q: %q", k, s.Keywords)
		}
	}
	if !slices.Contains(s.Failures, "panic: lost lease") {
		t.Errorf("failures %q", s.Failures)
	}
}

func TestBounds(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		b.WriteString("word" + name + " sym_" + name + " met Person" + name + ". E0" + string(rune('1'+i%9)) + string(rune('1'+i/9)) + "0 ")
	}
	s := analyze(b.String())
	if len(s.Keywords) != 15 || len(s.Symbols) != 10 || len(s.Failures) != 10 || len(s.Entities) != 10 {
		t.Errorf("%d keywords, %d symbols, %d failures, %d entities", len(s.Keywords), len(s.Symbols), len(s.Failures), len(s.Entities))
	}
}

func TestQuestionIsCutBetweenCharacters(t *testing.T) {
	for _, text := range []string{strings.Repeat("知", 9000), strings.Repeat("é ", 20000), strings.Repeat("x", 1<<20)} {
		q := analyze("a" + text).Question
		if n := utf8.RuneCountInString(q); n > maxQuestion || n < 1000 || !utf8.ValidString(q) {
			t.Errorf("%d characters, valid %v", n, utf8.ValidString(q))
		}
	}
}

func TestAConversationThatBeginsWithGoingOnResumes(t *testing.T) {
	before := []ken.Message{user("How do I build it?"), {Role: "assistant", Text: "With make."}}
	for _, tc := range []struct {
		messages []ken.Message
		resumes  bool
	}{
		{[]ken.Message{user("continue")}, true},
		{[]ken.Message{{Role: "system", Text: "You are an agent."}, user("Please carry on.")}, true},
		{[]ken.Message{user("ok, go on")}, true},
		{[]ken.Message{user("keep going")}, true},
		{[]ken.Message{user("hi")}, false},
		{[]ken.Message{user("thanks!")}, false},
		{append(before, user("continue")), false}, // goes on with this conversation
		{[]ken.Message{user("continue with the ledger migration")}, false},
	} {
		s := Analyze(tc.messages)
		if s.Resumes != tc.resumes || s.Resumes && s.Asks {
			t.Errorf("%q: resumes %v, asks %v", tc.messages[len(tc.messages)-1].Text, s.Resumes, s.Asks)
		}
	}
}

// A follow-up takes its subject from an earlier message, within the same limit.
func TestTheQuestionKeepsItsLimitWhateverCameBefore(t *testing.T) {
	long := "s " + strings.Repeat("%", maxQuestion-2) // fills the limit by itself
	s := Analyze([]ken.Message{user("Where is Rome?"), {Role: "assistant", Text: "In Italy."}, user(long)})
	if n := utf8.RuneCountInString(s.Question); n > maxQuestion {
		t.Errorf("%d characters", n)
	}
}
