package train

import "strings"

// adverbs may stand between a person and the verb.
var adverbs = strings.Fields(`also really just always never often usually sometimes recently finally actually still already once
	even definitely probably only now then mostly truly absolutely have`)

// irregular is the base form of past tenses that do not end in -ed.
var irregular = func() map[string]string {
	m := map[string]string{}
	for pair := range strings.FieldsSeq(`went:go bought:buy saw:see made:make took:take got:get found:find met:meet ate:eat ran:run
		wrote:write read:read began:begin told:tell gave:give came:come left:leave felt:feel had:have did:do said:say
		thought:think knew:know brought:bring taught:teach caught:catch fought:fight sold:sell won:win lost:lose spent:spend
		built:build sent:send kept:keep slept:sleep drove:drive rode:ride flew:fly grew:grow drew:draw threw:throw swam:swim
		sang:sing drank:drink broke:break spoke:speak chose:choose woke:wake wore:wear fell:fall held:hold heard:hear
		paid:pay put:put cut:cut hurt:hurt quit:quit set:set let:let stood:stand understood:understand became:become
		started:start learned:learn learnt:learn moved:move decided:decide lived:live used:use loved:love hoped:hope
		planned:plan baked:bake hiked:hike danced:dance joined:join adopted:adopt volunteered:volunteer visited:visit`) {
		past, base, _ := strings.Cut(pair, ":")
		m[past] = base
	}
	return m
}()

// names are given to speakers that have none.
var names = strings.Fields(`Ana Ben Carla David Emma Felix Grace Henry Ivy Jack Kate Leo Mia Noah Olivia Paul Quinn Rosa Sam Tina
	Uma Victor Wendy Xavier Yara Zoe Alice Bob Chloe Daniel Elena Frank Gina Hugo Irene James Karen Liam Maria Nick Oscar Paula
	Ravi Sofia Tom Ursula Vera Will Yusuf Amir Beth Carlos Diana Erik Fatima George Hannah Ian Julia Kevin Laura Mark Nina Omar
	Peter Rachel Steve Tara Vikram Wei Yuki Aisha Brian Claire Dmitri Eva Gareth Ingrid Jonas Lucia Marta Nadia Pedro Raj Sara
	user assistant`)
