package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kenlayer/ken/internal/lazyregexp"
)

// spoken are the sources whose passages are turns of a conversation.
var spoken = []string{"synthetic-persona-chat", "qmsum", "molweni", "taskmaster", "pseudo:synthetic-persona-chat", "pseudo:qmsum"}

// Questions makes pairs of the turns in which somebody speaks of themselves: the
// turn with a speaker's name, and a question about that person, as somebody asks
// who searches a conversation later ("I went hiking" becomes "When did Ana go
// hiking?"). Rules make them, so they are stiff; what a table learns from them is
// that names, verbs in another form and the words of a question belong to a turn.
// The source is "question:" and the turn's. It draws with seed.
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

// question turns one statement in the first person into a question, empty when no
// rule fits.
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

// aboutVerb asks about a verb with its object, in the third person.
func aboutVerb(r *rand.Rand, name string, words []string) string {
	for len(words) > 2 && slices.Contains(adverbs, words[0]) {
		words = words[1:]
	}
	verb, object := words[0], third(r, name, words[1:])
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

// third carries an object over to the third person: at most six words, some of
// them left out as people do.
func third(r *rand.Rand, name string, words []string) []string {
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
