package trained

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kenlayer/ken/internal/analysis"
)

// kind is the form of a token.
type kind byte

const (
	plain    kind = 'w' // a word in lower case, or the first of its sentence
	name     kind = 'N' // a word with a capital letter within a sentence
	number   kind = '#'
	ident    kind = 'i' // letters with digits or signs: pg-7, v2, snake_case
	month    kind = 'm' // also names of days
	unspaced kind = 'c' // a character of a script without spaces between words
	mark     kind = '.' // punctuation
)

// token is a word of a statement, with its byte range in the text.
type token struct {
	form  string // in lower case
	stem  string
	kind  kind
	empty bool // a function word
	from  int  // byte offset in the text
	to    int
}

// content reports whether a token names something.
func (t *token) content() bool { return !t.empty && t.kind != mark }

// value reports whether a token is probably the value of something.
func (t *token) value() bool {
	return t.kind == number || t.kind == ident || t.kind == name || t.kind == month
}

// word returns the token in the form that a model uses: its kind for a value, its stem for
// another content word, and its form otherwise.
func (t *token) word() string {
	switch {
	case t.value():
		return string(t.kind)
	case t.kind == plain && !t.empty:
		return t.stem
	}
	return t.form
}

// mostTokens is the maximum number of tokens of a statement; the rest is ignored.
const mostTokens = 80

// tokensOf splits a text into words, numbers, single characters of scripts without spaces,
// and punctuation.
func tokensOf(text string) (out []token) {
	opens := true // a sentence begins
	for i := 0; i < len(text) && len(out) < mostTokens; {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case analysis.Unspaced(r):
			s := text[i : i+size]
			out = append(out, token{form: s, stem: s, kind: unspaced, empty: unicode.In(r, unicode.Hiragana) || strings.ContainsRune(emptyHan, r), from: i, to: i + size})
			opens = false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			end := wordEnd(text, i)
			t := tokenOf(text[i:end], opens)
			t.from, t.to = i, end
			out = append(out, t)
			opens, size = false, end-i
		case unicode.IsSpace(r):
		default:
			if strings.ContainsRune(".!?:。！？", r) {
				opens = true
			}
			if n := len(out); strings.ContainsRune("$€£%", r) || n > 0 && out[n-1].kind != mark {
				out = append(out, token{form: string(r), stem: string(r), kind: mark, from: i, to: i + size})
			}
		}
		i += size
	}
	return out
}

// wordEnd returns the end of the word at i, including signs within it.
func wordEnd(text string, i int) int {
	end := i
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) || analysis.Unspaced(r) {
			next, _ := utf8.DecodeRuneInString(text[end+size:])
			if !strings.ContainsRune("-_./:'’@+#", r) || !(unicode.IsLetter(next) || unicode.IsDigit(next)) || analysis.Unspaced(next) {
				break
			}
		}
		end += size
	}
	return end
}

func tokenOf(w string, opens bool) token {
	low := strings.ToLower(w)
	low = strings.TrimSuffix(strings.TrimSuffix(low, "'s"), "’s")
	t := token{form: low, stem: low, kind: plain}
	first, _ := utf8.DecodeRuneInString(w)
	digits := strings.ContainsFunc(low, unicode.IsDigit)
	letters := strings.ContainsFunc(low, unicode.IsLetter)
	switch {
	case digits && !letters:
		t.kind = number
	case digits, strings.ContainsAny(low, "_/@.:"), unicode.IsLower(first) && strings.ContainsFunc(w, unicode.IsUpper):
		t.kind = ident
	case calendar[strings.TrimSuffix(low, "s")] || calendar[low]:
		t.kind = month
	case function[low]:
		t.empty = true
	case unicode.IsUpper(first) && (!opens || strings.ContainsFunc(w[utf8.RuneLen(first):], unicode.IsUpper)):
		t.kind = name
	}
	if t.kind == plain || t.kind == name {
		t.stem = analysis.Stem(low)
	}
	return t
}

// emptyHan holds Chinese characters that are function words.
const emptyHan = "的了在是我你他她它们这那就也和与及很都要会把被吧呢吗啊"

var calendar = analysis.Set(`monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december
	mon tue wed thu fri montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz april mai juni juli oktober dezember
	lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août septembre octobre novembre décembre
	lune marte miércole jueve vierne sábado domingo lunes martes miércoles jueves viernes enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
	segunda terça quarta quinta sexta janeiro fevereiro março maio junho julho setembro outubro novembro dezembro`)

// function holds words that name nothing.
var function = analysis.Set(`a an the this that these those i you he she it we they me him her us them my your his its our their mine yours ours theirs who whom whose which what when where why how
	is are was were be been being am do does did done have has had having will would shall should can could may might must
	and or but so nor yet if then than as of in on at by for from with without to into onto over under about after before between through during until till since because while though although
	not no never don't doesn't isn't aren't didn't can't won't there here now just only also too very really still already again some any all both each every other another such same own
	up down out off back i'm it's we're you're they're i've we've i'll we'll that's let's ok okay yes btw actually instead anymore
	der die das den dem des ein eine einen einem einer ist sind war waren sein wird werden wurde hat haben hatte ich du er sie es wir ihr uns unser unsere mein meine dein und oder aber wenn dann als wie von im in am an auf aus bei mit nach zu zum zur für über unter vor nicht kein keine nur noch schon auch jetzt mehr
	le la les un une des du de d l et ou mais si que qui est sont était être a ont avait on nous vous ils elle elles je tu il mon ma mes notre nos votre ce cette ces dans sur sous avec sans pour par plus ne pas aux au en y se
	el los las una unos unas del al y o pero que quien es son era ser está están estaba hay ha han yo tú nosotros nuestro nuestra mi mis tu su sus en con sin por para más no ya se lo le
	os as um uma do da dos das no na nos nas e ou mas que quem é são foi está estão eu você ele ela eles nós nosso nossa meu minha seu sua em com sem por para mais não já se`)
