package intent

import (
	"strings"
	"sync"
)

// phaticParts are things that people say to be polite, to keep a conversation
// going, or to steer it: nothing that was learned answers them. The notation is
// that of frameParts; a contracted verb ("that's") is no word of its own.
const phaticParts = `
	good|great|nice|lovely|happy day|morning|afternoon|evening|night|weekend|one|trip|holidays|birthday|anniversary everyone|all|there|to_you?
	have|having a good|great|nice|lovely|safe|wonderful|fun day|morning|afternoon|evening|night|weekend|one|trip|time
	happy new year
	merry christmas
	congratulations|congrats on|to_you?
	who|what are you
	what can you do for_me?
	what do you do
	what is|are your name|names
	tell me a joke
	tell|say me? something funny
	can you hear|see me
	are|is you|anyone|anybody there|awake|ready|ok|okay
	could|can|would you say|repeat that again?
	say|come that|it again
	what did you say
	shorter|longer|slower|again|simpler please?
	keep it short|brief|simple
	in other words
	one|a moment|second|sec|minute please?
	just|wait|hold|hang on? a|one moment|second|sec|minute please?
	hold|hang on
	let me think about|it|that|this?
	never mind
	forget it|that|about_it|about_that
	that|it is|was? all for? today|now?
	that|it is? fine|ok|okay|all_right|alright
	see you|ya tomorrow|later|soon|around|then|monday|tuesday|wednesday|thursday|friday
	take care
	talk to_you? later|soon|tomorrow
	i am|was|feel? a_bit|a_little|so|very|just? tired|away|busy|back|sleepy|bored|hungry|late
	sorry about|for? that|this|late|away?
	sorry i was? late|away|busy
	i agree|disagree|understand|see
	i do|don't think so|know
	i don't know
	well done
	good|great|nice|bad bot|job|work|one|point|idea|question
	you are? the|so|very? best|great|awesome|amazing|funny|welcome
	stop that|it|now?
	go|keep on|ahead|going
	nice|lovely|bad|terrible weather today?
	isn't|aren't|right it|you|they?
	how is|are|was? you|it|everything|things|life|your_day|your_weekend going?
	that is|was? really|very|so|super|pretty|all? helpful|useful|funny|great|good|nice|perfect|awesome|cool|interesting|kind|quick
	let|lets|let's do that|it|this|so
	long time no see
	nice to meet|see you
	thank|thanks you? for? that|it|this|everything|your_help?`

var phatic = sync.OnceValue(func() *phrases {
	root := &phrases{}
	for line := range strings.Lines(phaticParts) {
		if slots := strings.Fields(line); len(slots) > 0 {
			root.add(slots)
		}
	}
	return root
})

// onlyPhatic reports whether such phrases and words of courtesy are all that was
// said, with at least one phrase among them.
func onlyPhatic(words []word) bool {
	found, phatic := false, phatic()
	for i := 0; i < len(words); {
		w := &words[i]
		if n := phatic.longest(words[i:]); n > 0 && w.quoted != '`' {
			found = true
			i += n
			continue
		}
		if !known(w) || w.code || w.quoted == '`' {
			return false
		}
		i++
	}
	return found
}
