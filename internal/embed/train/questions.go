package train

import (
	"context"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/viterin/vek/vek32"

	"github.com/kenlayer/ken/internal/embed/table"
	"github.com/kenlayer/ken/internal/lazyregexp"
)

// spoken are the sources whose passages are turns of a conversation.
var spoken = []string{"synthetic-persona-chat", "qmsum", "molweni", "taskmaster", "pseudo:synthetic-persona-chat", "pseudo:qmsum"}

// Questions makes pairs from turns in which a speaker talks about themselves: a
// question about that person, as users ask when they search a conversation later, and
// the turn with the speaker's name ("I went hiking" becomes "When did Ana go hiking?").
// The questions are made by rules, so they sound stiff. A table learns from them that
// names, other forms of a verb and question words belong to a turn. The source is
// "question:" and the turn's source. seed determines the random choices.
func Questions(ctx context.Context, pairs []Pair, seed uint64) ([]Pair, error) {
	r := draw(seed, streamQuestions)
	seen := map[string]bool{}
	var made []Pair
	for i, p := range pairs {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !slices.Contains(spoken, p.Src) {
			continue
		}
		for _, turn := range [2]string{p.P, p.Q} {
			name, text := speaker(turn)
			if seen[text] || strings.HasPrefix(p.Src, "pseudo:") && turn == p.Q {
				continue
			}
			seen[text] = true
			if name == "" {
				name = names[r.IntN(len(names))]
			}
			for _, q := range about(r, name, text) {
				made = append(made, Pair{Q: q, P: name + ": " + text, Src: "question:" + strings.TrimPrefix(p.Src, "pseudo:")})
			}
		}
	}
	return made, nil
}

var prefix = lazyregexp.New(`^([A-Z][\w.-]{0,20}(?: [A-Z][\w.-]{0,20})?) ?: `)

// speaker splits a turn into the name before its colon, if any, and its text.
func speaker(turn string) (name, text string) {
	if m := prefix.FindStringSubmatch(turn); m != nil {
		return m[1], turn[len(m[0]):]
	}
	return "", turn
}

var sentences = lazyregexp.New(`[^.!?]+`)

// about returns at most two questions about the speaker of a text.
func about(r *rand.Rand, name, text string) []string {
	var all []string
	for _, s := range sentences.FindAllString(text, 8) {
		words := strings.Fields(strings.ToLower(apostrophes.Replace(s)))
		for i := range words {
			words[i] = strings.Trim(words[i], `,;:"'()*`)
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		if q := question(r, name, words); q != "" {
			all = append(all, q)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), 2)]
}

var apostrophes = strings.NewReplacer("I'm", "I am", "i'm", "i am", "I've", "I have", "I'll", "I will", "I'd", "I would",
	"we're", "we are", "We're", "We are", "We've", "We have", "we've", "we have", "don't", "do not", "didn't", "did not", "’", "'")

// question turns one statement in the first person into a question. It returns "" when
// no rule applies.
func question(r *rand.Rand, name string, words []string) string {
	for i, w := range words {
		rest := words[i+1:]
		switch {
		case w == "my" && len(rest) >= 3 && (slices.Contains(rest[:3], "is") || slices.Contains(rest[:3], "are")):
			n := slices.IndexFunc(rest, func(w string) bool { return w == "is" || w == "are" })
			return pick(r, "What is "+name+"'s "+join(rest[:n])+"?", "Who or what is "+name+"'s "+join(rest[:n])+"?")
		case (w == "i" || w == "we") && len(rest) >= 2:
			return aboutVerb(r, name, rest)
		}
	}
	return ""
}

// aboutVerb returns a question about a verb with its object, in the third person.
func aboutVerb(r *rand.Rand, name string, words []string) string {
	for len(words) > 2 && slices.Contains(adverbs, words[0]) {
		words = words[1:]
	}
	verb, object := words[0], toThirdPerson(r, name, words[1:])
	if len(object) == 0 {
		return ""
	}
	obj := join(object)
	switch verb {
	case "am", "are":
		if strings.HasSuffix(object[0], "ing") {
			return pick(r, "When is "+name+" "+obj+"?", "Why is "+name+" "+obj+"?", "What is "+name+" "+object[0]+"?")
		}
		return pick(r, "Is "+name+" "+obj+"?", "What is "+name+"?", "Who is "+obj+"?", "How long has "+name+" been "+obj+"?")
	case "was", "were":
		return pick(r, "When was "+name+" "+obj+"?", "Where was "+name+" "+obj+"?", "Was "+name+" "+obj+"?")
	case "love", "like", "enjoy", "prefer", "adore":
		return pick(r, "What does "+name+" "+[]string{"like", "enjoy", "love"}[r.IntN(3)]+"?", "Does "+name+" like "+obj+"?",
			"Who likes "+obj+"?", "What does "+name+" like about "+obj+"?", "What are "+name+"'s hobbies, "+obj+"?")
	case "have", "has", "got", "own":
		return pick(r, "What "+object[len(object)-1]+" does "+name+" have?", "Does "+name+" have "+obj+"?", "How many "+obj+" does "+name+" have?")
	case "want", "plan", "hope", "will", "would", "need":
		return pick(r, "What does "+name+" plan "+obj+"?", "When will "+name+" "+obj+"?", "What does "+name+" want "+obj+"?")
	case "do", "did", "can", "could", "should", "might", "not":
		return pick(r, "Does "+name+" "+obj+"?", "Why does "+name+" "+obj+"?")
	}
	base, past := lemma(verb)
	if past {
		return pick(r, "When did "+name+" "+base+" "+obj+"?", "Where did "+name+" "+base+" "+obj+"?", "Who did "+name+" "+base+" "+obj+" with?",
			"What did "+name+" "+base+"?", "Why did "+name+" "+base+" "+obj+"?", "How did "+name+" feel about "+obj+"?")
	}
	return pick(r, "What does "+name+" "+base+"?", "Where does "+name+" "+base+" "+obj+"?", "How often does "+name+" "+base+" "+obj+"?",
		"Does "+name+" "+base+" "+obj+"?")
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }

func join(words []string) string { return strings.Join(words, " ") }

// toThirdPerson converts an object to the third person. It keeps at most six words and omits
// some, as users do.
func toThirdPerson(r *rand.Rand, name string, words []string) []string {
	var out []string
	most := 2 + r.IntN(5)
	for _, w := range words {
		if len(out) == most || out != nil && (w == "and" || w == "but" || w == "because" || w == "so") {
			break
		}
		switch w {
		case "my", "our":
			w = pick(r, "her", "his", "their", name+"'s")
		case "i", "we":
			w = name
		case "me", "us":
			w = pick(r, "her", "him", "them")
		case "a", "an", "the", "really", "very", "just", "um", "uh":
			continue
		default:
			if out != nil && r.Float64() < 0.12 {
				continue
			}
		}
		out = append(out, w)
	}
	return out
}

// lemma returns a verb's base form, and whether it was in the past tense.
func lemma(verb string) (base string, past bool) {
	if b, ok := irregular[verb]; ok {
		return b, true
	}
	stem, ok := strings.CutSuffix(verb, "ed")
	n := len(stem)
	switch {
	case !ok || n < 3:
		return verb, false
	case stem[n-1] == 'i':
		return stem[:n-1] + "y", true
	case stem[n-1] == stem[n-2] && !strings.ContainsRune("lsz", rune(stem[n-1])):
		return stem[:n-1], true
	case strings.ContainsRune("vcszu", rune(stem[n-1])) || strings.HasSuffix(stem, "at") || strings.HasSuffix(stem, "ng"):
		return stem + "e", true
	}
	return stem, true
}

// HoldOut splits pairs into those to train with and about one in n to measure with, by
// a hash of the passage, so that all pairs of a passage are on one side. n <= 1 holds
// nothing out.
func HoldOut(pairs []Pair, n int) (rest, held []Pair) {
	const remainder = 7 // any would do
	for _, p := range pairs {
		h := fnv.New32a()
		_, _ = io.WriteString(h, p.P) // a hash never fails
		if n > 1 && int64(h.Sum32())%int64(n) == remainder%int64(n) {
			held = append(held, p)
		} else {
			rest = append(rest, p)
		}
	}
	return rest, held
}

// Score measures how well a table finds passages.
type Score struct {
	Pairs int `json:"pairs"`
	// MRR is the mean over the queries of 1/rank of their own passage among all
	// passages of the pairs, 0..1.
	MRR float64 `json:"mrr"`
	// Recall10 is the share of the queries whose passage is among the first ten.
	Recall10 float64 `json:"recall10"`
}

// maxScored is the maximum number of pairs that Measure uses: its work grows with the
// square.
const maxScored = 20_000

// Measure scores a table with pairs that it was not trained on. If there are too many
// pairs, it uses evenly spaced ones. A query without a vector counts as not found.
func Measure(ctx context.Context, m *table.Model, pairs []Pair, o Options) (Score, error) {
	o = o.common()
	if every := len(pairs)/maxScored + 1; every > 1 {
		var some []Pair
		for i := 0; i < len(pairs); i += every {
			some = append(some, pairs[i])
		}
		pairs = some
	}
	place := map[string]int{}
	var texts []string
	for _, p := range pairs {
		if _, ok := place[p.P]; !ok {
			place[p.P] = len(texts)
			texts = append(texts, p.P)
		}
	}
	vectors, err := m.Embed(ctx, texts)
	if err != nil {
		return Score{}, err
	}
	ranks := make([]int, len(pairs))
	parallel(ctx, o.Workers, len(pairs), func(i int) {
		ranks[i] = rank(m.EmbedQuery(pairs[i].Q, nil), vectors, place[pairs[i].P])
	})
	if ctx.Err() != nil {
		return Score{}, ctx.Err()
	}
	reciprocal, found := 0.0, 0
	for _, r := range ranks {
		if r > 0 {
			reciprocal += 1 / float64(r)
		}
		if r > 0 && r <= 10 {
			found++
		}
	}
	n := float64(max(len(pairs), 1))
	return Score{Pairs: len(pairs), MRR: reciprocal / n, Recall10: float64(found) / n}, nil
}

// rank returns the rank of vectors[own] by cosine to q, from 1, after equal ones; 0
// when there is no vector.
func rank(q []float32, vectors [][]float32, own int) int {
	if q == nil || vectors[own] == nil {
		return 0
	}
	score := vek32.Dot(q, vectors[own])
	r := 1
	for i, v := range vectors {
		if i != own && v != nil && vek32.Dot(q, v) >= score {
			r++
		}
	}
	return r
}

// runWords is the length of a run of words that two texts don't share by chance.
const runWords = 12

// Decontaminate removes the pairs that contain an evaluation: those that share a run of
// 12 words with one of texts, and those whose query is one of them, ignoring case and
// punctuation. It returns the rest, in order, and the number removed. It does not
// detect paraphrases.
func Decontaminate(ctx context.Context, pairs []Pair, texts []string, o Options) (kept []Pair, dropped int, err error) {
	o = o.common()
	runs, whole := map[uint64]bool{}, map[uint64]bool{}
	for _, t := range texts {
		whole[eachRun(t, func(h uint64) bool { runs[h] = true; return false })] = true
	}
	known := func(h uint64) bool { return runs[h] }
	const block = 8192
	bad := make([]bool, len(pairs))
	parallel(ctx, o.Workers, (len(pairs)+block-1)/block, func(b int) {
		for i := b * block; i < min((b+1)*block, len(pairs)); i++ {
			found := false
			check := func(h uint64) bool { found = found || known(h); return found }
			q := eachRun(pairs[i].Q, check)
			eachRun(pairs[i].P, check)
			bad[i] = found || whole[q]
		}
	})
	if ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	for i, p := range pairs {
		if bad[i] {
			dropped++
		} else {
			kept = append(kept, p)
		}
	}
	report(o.Progress, Progress{Stage: "decontaminate", Done: len(pairs), Total: len(pairs)})
	return kept, dropped, nil
}

// eachRun calls f with a hash of each run of words until f returns true, and returns a
// hash of all words.
func eachRun(text string, f func(uint64) bool) (all uint64) {
	const base = 0x9E3779B97F4A7C15 | 1
	top := uint64(1) // base to the power of runWords
	for range runWords {
		top *= base
	}
	var last [runWords]uint64
	var run uint64
	n, stop := 0, false
	table.Words(text, func(w []byte) {
		h := hashWord(w)
		all = (all ^ h) * base
		run = run*base + h - last[n%runWords]*top
		last[n%runWords] = h
		if n++; n >= runWords && !stop {
			stop = f(run)
		}
	})
	return all
}

// hashWord returns the FNV-1a hash of a word with mixed bits.
func hashWord(w []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range w {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}
