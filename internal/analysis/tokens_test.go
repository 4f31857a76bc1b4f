package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stream renders tokens with a slash between positions: "a b" share one.
func stream(text string) string {
	var b strings.Builder
	last := 0
	for _, t := range Tokens(nil, text) {
		switch {
		case last == 0:
		case t.Pos == last:
			b.WriteByte(' ')
		default:
			b.WriteString(" | ")
		}
		b.WriteString(t.Term)
		last = t.Pos
	}
	return b.String()
}

func TestTokens(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"only punctuation", "?!… — () 🎉", ""},
		{"question", "When did Caroline go to the LGBTQ support group?", "carolin | go | lgbtq | support | group"},
		{"irregular forms meet", "the children went; a child goes", "child | go | child | go"},
		{"negation stays", "do not use it; don't; never; can't; no", "not | use | not | never | not | no"},
		{"names that look like modals", "Will Mark call in May?", "will | mark | call | may"},
		{"code words that prose lists drop", "while not up or without any", "while | not | up | without | ani"},
		{"acronyms against pronouns", "IT told us about it in the US", "it | tell | us"},
		{"possessive and contraction", "Mel's dog isn't Caroline’s; they're what's left", "mel | dog | not | carolin | leav"},
		{"name with apostrophe", "O'Brien", "obrien brien"},
		{"elision and string prefix", "l'homme, f'total'", "homm | total"},
		{"initials", "at 3 p.m. in the U.S. e.g. here", "3 | pm | us"},

		{"camel", "parseJSON", "parsejson pars json"},
		{"pascal with acronym", "HTTPServer", "httpserver http server"},
		{"plural acronym", "userIDs and APIs", "userids user id | api"},
		{"snake", "max_results", "max_results max result"},
		{"dunder and emphasis", "__init__ _word_ _private", "__init__ init | word | privat"},
		{"kebab", "state-of-the-art", "state-of-the-art state art"},
		{"dotted", "ken.NewClaim(x)", "ken.newclaim ken newclaim new claim | x"},
		{"path and line", "store/bolt/log.go:42", "store/bolt/log.go store bolt log go | 42"},
		{"namespace", "std::vector", "std::vector std vector"},
		{"address", "Mail ann.lee@example.com.", "mail | ann.lee@example.com ann lee exampl com"},
		{"url", "https://example.com/docs?page=2", "https | example.com/docs exampl com doc | page | 2"},
		{"digits in names", "utf8, utf-8, python3, E0308", "utf8 utf | utf-8 utf 8 | python3 python | e0308 0308"},
		{"languages", "C++ and C# or i++", "c++ c | c# c | i++"},
		{"test names keep every part", "shouldReturnErrorWhenNotFound", "shouldreturnerrorwhennotfound return error not find"},
		{"hash stays whole", "commit a3f9c2d1e4b5", "commit | a3f9c2d1e4b5"},
		{"uuid", "550e8400-e29b-41d4-a716-446655440000",
			"550e8400-e29b-41d4-a716-446655440000 550 8400 29 41 716 446655440000"},

		{"numbers", "1,234,567.89 and 3.14 and 1,2,3", "1234567.89 1234567 | 3.14 | 1 | 2 | 3"},
		{"dates", "2023-05-08, 7th of May 2023", "2023-05-08 2023 05 08 | 7th 7 th | may | 2023"},
		{"times and versions", "10:30 v2.6.1 1.26", "10:30 | v2.6.1 v2 | 1.26"},

		{"accents", "Café naïve re\u0301sume\u0301", "cafe | naiv | resum"},
		{"other letters", "Straße Łódź ﬁle ＡＢＣ", "strass | lodz | file | abc"},
		{"greek and cyrillic", "ΕΛΛΆΣ Ёлка", "ελλασ | елка"},
		{"hebrew points", "שָׁלוֹם", "שלום"},
		{"arabic marks, stretch and digits", "السَّلامُ عليـكم ٢٠٢٣", "السلام | عليكم | 2023"},
		{"joiners", "می\u200cخواهم soft\u00adware", "میخواهم | softwar"},
		{"indic vowels are letters", "हिन्दी", "हिन्दी"},

		{"han", "知識層", "知識 | 識層"},
		{"han and latin", "用Go語言写", "用 | go | 語言 | 言写"},
		{"one character", "猫", "猫"},
		{"kana", "データベース", "デー | ータ | タベ | ベー | ース"},
		{"half-width kana", "ｶﾞｲﾄﾞ", "ガイ | イド"},
		{"hangul", "데이터를", "데이 | 이터 | 터를"},
		{"thai", "สวัสดี", "สวั | วัส | สดี"},

		{"nul and broken bytes", "\x00abc\xff\xfedef\xe4\xb8", "abc | def"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, stream(tc.text)); diff != "" {
				t.Errorf("Tokens(%q) (-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

func TestTokensOffsets(t *testing.T) {
	text := "Ann's HTTPServer, café"
	var got []string
	for _, tok := range Tokens(nil, text) {
		got = append(got, fmt.Sprintf("%s=%s@%d", tok.Term, text[tok.Start:tok.End], tok.Pos))
	}
	want := []string{"ann=Ann@1", "httpserver=HTTPServer@2", "http=HTTP@2", "server=Server@2", "cafe=café@3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTokensAppends(t *testing.T) {
	got := Tokens([]Token{{Term: "kept"}}, "word")
	if len(got) != 2 || got[0].Term != "kept" || got[1].Pos != 1 {
		t.Errorf("got %v", got)
	}
}

// Chinese, Japanese and Korean questions found nothing in stores whose
// tokenizer waits for spaces.
func TestQuestionWithoutSpacesMeetsText(t *testing.T) {
	for _, tc := range []struct{ question, text string }{
		{"数据库在哪里？", "我们的数据库部署在东京。"},
		{"データベースはどこ？", "本番のデータベースは東京にある。"},
		{"데이터베이스는 어디?", "데이터베이스를 서울에 둔다."},
		{"ฐานข้อมูลอยู่ที่ไหน", "ฐานข้อมูลอยู่ในกรุงเทพ"},
	} {
		if n := shared(tc.question, tc.text); n < 2 {
			t.Errorf("%q and %q share %d terms, want at least 2", tc.question, tc.text, n)
		}
	}
}

// Statements that differ in a day or a negation are different statements.
func TestNumbersAndNegationTellTextsApart(t *testing.T) {
	for _, tc := range [][2]string{
		{"The release is on Oct 15", "The release is on Oct 16"},
		{"She does eat meat", "She doesn't eat meat"},
		{"Deployed v1.2.3", "Deployed v1.2.4"},
		{"limit is 1,500", "limit is 1,600"},
	} {
		if cmp.Equal(Terms(tc[0]), Terms(tc[1])) {
			t.Errorf("%q and %q give the same terms", tc[0], tc[1])
		}
	}
}

func TestSpellingsMeet(t *testing.T) {
	for _, tc := range [][2]string{
		{"getUserName", "get user name"}, {"get_user_name", "getUserName"}, {"doesn't", "does not"},
		{"résumé", "resume"}, {"1,500", "1500"}, {"NewClaim", "ken.NewClaim(text)"}, {"log.go", "store/bolt/log.go"},
		{"painting", "painted"}, {"utf8", "UTF-8"},
	} {
		if shared(tc[0], tc[1]) == 0 {
			t.Errorf("%q %q and %q %q share no term", tc[0], Terms(tc[0]), tc[1], Terms(tc[1]))
		}
	}
}

func shared(a, b string) (n int) {
	in := map[string]bool{}
	for _, t := range Terms(a) {
		in[t] = true
	}
	for _, t := range Terms(b) {
		if in[t] {
			n++
		}
	}
	return n
}

func TestLongTokens(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		most       int // tokens
	}{
		{"word", strings.Repeat("x", 1000), 1},
		{"cyrillic word", strings.Repeat("ж", 1000), 1},
		{"accented word", strings.Repeat("é", 1000), 1},
		{"marks", "e" + strings.Repeat("\u0301", 1000), 1},
		{"base64", strings.Repeat("aGVsbG8gd29ybGQg", 50), 1},
		{"path", strings.Repeat("folder/", 40) + "file.go", 42},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tokens := Tokens(nil, tc.text)
			if len(tokens) == 0 || len(tokens) > tc.most {
				t.Errorf("%d tokens, want 1 to %d", len(tokens), tc.most)
			}
			for _, tok := range tokens {
				if len(tok.Term) > MaxTermBytes {
					t.Errorf("%d bytes: %q", len(tok.Term), tok.Term)
				}
			}
		})
	}
}

func TestTerms(t *testing.T) {
	if got := Terms(""); got == nil || len(got) != 0 {
		t.Errorf("Terms of nothing = %#v, want an empty slice", got)
	}
	if diff := cmp.Diff([]string{"retri", "polici"}, Terms("retries, retried policy")); diff != "" {
		t.Error(diff)
	}
	var long strings.Builder // enough for the other way of removing repeats
	for i := range 200 {
		fmt.Fprintf(&long, "word%c ", 'a'+i%50)
	}
	seen := map[string]bool{}
	for _, term := range Terms(long.String()) {
		if seen[term] {
			t.Errorf("%q twice", term)
		}
		seen[term] = true
	}
}

func TestTokensIsSafeForConcurrentUse(t *testing.T) {
	text := strings.Repeat("alpha beta gammaDelta epsilon_zeta running ", 50)
	want := Tokens(nil, text)
	done := make(chan []Token)
	for range 8 {
		go func() { done <- Tokens(nil, text) }()
	}
	for range 8 {
		if got := <-done; !cmp.Equal(want, got) {
			t.Error("another stream in another goroutine")
		}
	}
}
