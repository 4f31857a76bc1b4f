package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kenlayer/ken"
)

func testQuestion(k *kit) {
	sagas := k.write("The payments service uses the saga pattern for multi-step transactions.")
	retries := k.write("Checkout retries a failed card authorization three times.")
	k.write("The office coffee machine is on the second floor.")
	tagged := k.write("Orders are written ahead.", func(c *ken.Claim) {
		c.Heading, c.Tags, c.Entities = "Durability", []string{"outbox"}, []string{"OrderRelay"}
	})

	for _, tt := range []struct {
		name, question string
		want           []string
	}{
		{"a whole question, not a substring of the text", "What pattern do we use for our transactions?", []string{sagas}},
		{"any word is enough", "zebra authorization quagmire", []string{retries}},
		{"words of two claims find both", "saga authorization", []string{sagas, retries}},
		{"case does not matter", "SAGA Pattern", []string{sagas}},
		{"another form of the word", "retry authorizing", []string{retries}},
		{"the heading counts", "durability", []string{tagged}},
		{"a tag counts", "outbox", []string{tagged}},
		{"an entity counts, whole and in parts", "orderrelay relay", []string{tagged}},
		{"nothing bears on it", "photosynthesis", nil},
		{"stop words alone find nothing", "what is the of and", nil},
		{"operators are not syntax", `+saga -payments "exact phrase`, []string{sagas}},
		{"a field name is not syntax", "owner:default AND status:*", nil},
		{"a regular expression is not syntax", "/.*/ .* ? [a-z]+", nil},
		{"a very long question", strings.Repeat("unrelated verbiage ", 5000) + "saga", []string{sagas}},
		{"bytes that are not text", "\xff\x00saga\x00", []string{sagas}},
	} {
		if got := k.ask(tt.question); !sameSet(got, tt.want) {
			k.Errorf("%s: %.60q finds %v, want %v", tt.name, tt.question, got, tt.want)
		}
	}
}

func testLanguage(k *kit) {
	for _, tt := range []struct{ name, text, question, unrelated string }{
		{"Chinese", "数据库连接池的上限是二十个连接", "连接池", "天气预报"},
		{"Chinese inside a sentence", "我们的支付服务使用传奇模式处理事务", "支付服务用什么模式", "咖啡机"},
		{"Japanese", "本番環境のデータベースは東京リージョンにあります", "データベース", "天気"},
		{"Korean", "데이터베이스는 서울 리전에 있습니다", "데이터베이스", "날씨"},
		{"Arabic", "قاعدة البيانات موجودة في برلين", "البيانات", "طقس"},
		{"Hebrew", "מסד הנתונים נמצא בברלין", "הנתונים", "קפה"},
		{"Russian", "База данных находится в Берлине", "данных", "погода"},
		{"German", "Die Größe des Verbindungspools ist begrenzt", "größe", "wetter"},
		{"accents", "The café serves the naïve résumé parser", "cafe resume", "weather"},
		{"emoji beside words", "deploys 🚀 happen on Tuesdays", "🚀 tuesdays", "🐟"},
	} {
		k.sub(tt.name, func(k *kit) {
			id := k.write(tt.text)
			k.write("An entirely different statement.")
			if got := k.ask(tt.question); !slices.Equal(got, []string{id}) {
				k.Errorf("%s finds %d claims, want the one", tt.question, len(got))
			}
			if got := k.ask(tt.unrelated); len(got) != 0 {
				k.Errorf("%s finds %d claims, want none", tt.unrelated, len(got))
			}
		})
	}
}

func testOrder(k *kit) {
	k.sub("best first", func(k *kit) {
		k.write("The saga of the office plants is long.")
		both := k.write("The saga pattern compensates failed payments.")
		k.write("Payments are settled at night.")
		got := k.ask("saga payments")
		if len(got) != 3 || got[0] != both {
			k.Errorf("found %v, want all three and %s first", got, both)
		}
	})

	k.sub("a rare word weighs more than a common one", func(k *kit) {
		for i := range 8 {
			k.write(fmt.Sprintf("The service has a common trait, number %d.", i))
		}
		rare := k.write("The service has a peculiar trait.")
		if got := k.ask("service peculiar"); len(got) == 0 || got[0] != rare {
			k.Error("the claim with the rare word is not first")
		}
	})

	k.sub("repeated questions give one order", func(k *kit) {
		for range 12 {
			k.write("Twelve claims of one text.")
		}
		first := k.ask("twelve claims")
		for range 5 {
			if again := k.ask("twelve claims"); !slices.Equal(first, again) {
				k.Fatalf("order changed:\n%v\n%v", first, again)
			}
		}
	})

	k.sub("no question gives the newest first", func(k *kit) {
		var want []string
		for i := range 5 {
			want = append(want, k.write(fmt.Sprintf("claim %d", i)))
		}
		old := k.write("an old claim, written last", func(c *ken.Claim) { c.CreatedAt = epoch.AddDate(-1, 0, 0) })
		slices.Reverse(want)
		if got := k.ask(""); !slices.Equal(got, append(want, old)) {
			k.Errorf("got %v, want %v", got, append(want, old))
		}
	})

	k.sub("limit", func(k *kit) {
		for i := range 13 {
			k.write(fmt.Sprintf("sagas, part %d", i))
			k.write(fmt.Sprintf("sagas, disputed part %d", i), withStatus(ken.StatusDisputed))
		}
		for _, question := range []string{"", "sagas"} {
			for limit, want := range map[int]int{0: 10, -1: 10, 1: 1, 12: 12, 13: 13, 14: 13, many: 13} {
				if got := len(k.query(ken.Query{Question: question, Limit: limit})); got != want {
					k.Errorf("%q with limit %d gives %d claims, want %d", question, limit, got, want)
				}
			}
		}
	})
}

// A caller may do what it likes with what it gave and what it got.
func testCopies(k *kit) {
	code := 1
	given := claim("payments uses sagas", func(c *ken.Claim) {
		c.Tags, c.Entities, c.Body = []string{"saga"}, []string{"payments"}, json.RawMessage(`{"a":"b"}`)
		c.Evidence = []ken.Evidence{{Kind: ken.EvidenceExitCode, ID: "make", ExitCode: &code}}
	})
	id, err := k.s.WriteClaim(k.ctx, given)
	if err != nil {
		k.Fatal(err)
	}
	before, err := json.Marshal(k.get(id))
	if err != nil {
		k.Fatal(err)
	}
	spoil := func(c ken.Claim) {
		c.Tags[0], c.Entities[0] = "spoilt", "spoilt"
		copy(c.Body, `{"x":"y"}`)
		c.Evidence[0].Detail, *c.Evidence[0].ExitCode = "spoilt", 99
	}
	check := func(after string) {
		k.Helper()
		now, err := json.Marshal(k.get(id))
		if err != nil {
			k.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(now)); diff != "" {
			k.Errorf("after changing %s (-before +now):\n%s", after, diff)
		}
	}
	spoil(given)
	check("the claim that was written")
	for _, question := range []string{"sagas", ""} {
		spoil(k.query(ken.Query{Question: question})[0])
		check(fmt.Sprintf("what %q found", question))
	}
	k.history(id)[0].Evidence[0].Detail = "spoilt"
	*k.history(id)[0].Evidence[0].ExitCode = 99
	if e := k.history(id)[0].Evidence[0]; e.Detail != "" || *e.ExitCode != 1 {
		k.Errorf("after changing the history: %+v", e)
	}
}
