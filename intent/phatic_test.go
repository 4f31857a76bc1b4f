package intent

import (
	"strings"
	"testing"
)

func TestPhaticMessagesAskNothing(t *testing.T) {
	for text := range strings.SplitSeq("Have a nice weekend!|happy new year|Congratulations!|Who are you?|what can you do?|tell me a joke|"+
		"Can you hear me?|one moment please|Wait a second.|Could you say that again?|shorter please|never mind|Forget it, it's fine.|"+
		"That's all for today, thanks|see you tomorrow|I agree|I don't think so|you're the best|good bot|stop|In other words?|Sorry, I was away|"+
		"Thanks, that's all for now. Have a great evening!|Nice to meet you|how was your weekend?|hmm, let me think|"+
		"thank you so much, that was really helpful|great, let's do that|haha, that's funny", "|") {
		if analyze(text).Asks {
			t.Errorf("%q asks", text)
		}
	}
	for text := range strings.SplitSeq("Who are you going to deploy with?|what can you do about the failing build?|stop the server|try again with Postgres|"+
		"have a look at the log|is anyone there who knows the ledger?|I don't know why it fails|What did you say about the cache?|"+
		"see you tomorrow at the review of the parser|good point about locks|tell me a joke about Go|`stop`|let's do that with Postgres|is that useful for the parser?", "|") {
		if !analyze(text).Asks {
			t.Errorf("%q asks nothing", text)
		}
	}
}
