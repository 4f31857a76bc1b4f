package extract

import (
	"slices"
	"strings"
)

// plays lists how people begin a role play or something else that they make up, and onlyNow how they say that something
// holds this once or for the task at hand. They are separate from the cues of a language because a short message does
// not show its language.
var (
	plays = list(`imagine you are, imagine you're, imagine that you are, imagine that you're, imagine i am, imagine i'm, imagine that i am, imagine that i'm, imagine we are, imagine we're, imagine that we are, imagine that we're,
		pretend you are, pretend you're, pretend that you are, pretend that you're, pretend to be, pretend i am, pretend i'm, pretend that i am, pretend that i'm, pretend we are, pretend we're, let's pretend, let's imagine,
		let's role-play, let's roleplay, let's role play, let's play a role play, let's play a roleplay, let's play a role-play, let's play a role-playing game, let's do a role play, let's do a roleplay, let's do a role-play, let's do some role play,
		let's start a role play, let's start a role-play, let's start a roleplay, play the role of, play the part of, you play the role of, you play the part of,
		stell dir vor du bist, stell dir vor ich bin, stell dir vor wir sind, stell dir vor dass du, tu so als, tun wir so als, spiel die rolle, spiele die rolle, wir spielen ein rollenspiel, lass uns ein rollenspiel, machen wir ein rollenspiel,
		imagine que tu es, imaginez que vous êtes, imagine que je suis, imaginez que je suis, imagine que nous sommes, fais comme si, faites comme si, faisons un jeu de rôle, jouons un jeu de rôle, jouons à un jeu de rôle, joue le rôle, jouez le rôle,
		imagina que eres, imagine que usted es, imagina que soy, imagina que somos, haz como si, finge que, finge ser, hagamos un juego de rol, juguemos un juego de rol, juguemos a un juego de rol, vamos a jugar un juego de rol,
		imagine que você é, imagina que você é, imagina que és, imagina que tu és, imagine que eu sou, imagina que eu sou, imagine que sou, finja que, finja ser, faz de conta que, vamos fazer um jogo de papéis, vamos jogar um rpg, vamos fazer um roleplay`)
	playsUnspaced = strings.Split("想象你是 想象一下你是 假设你是 假装你是 来玩角色扮演 来个角色扮演 ロールプレイをし ロールプレイし になりきって だと想像して", " ")

	onlyNow = list(`just this once, only this once, this once, just this time, only this time, this time only, just for today, only for today, for today only, just for now, only for now, for now only,
		for this task, only for this task, just for this task, for this one task, for this session, only for this session, just for this session, for this conversation, for this chat, for this request, for this one request, for this message, for this one message,
		for this reply, for this answer, for the duration of this task, for the duration of this session, for the duration of this conversation,
		nur dieses mal, nur dieses eine mal, bloß dieses eine mal, nur diesmal, nur für heute, nur für jetzt, nur für diese aufgabe, für diese aufgabe, nur für diese sitzung, für diese sitzung, nur für dieses gespräch, für dieses gespräch, nur für diese antwort, für diese antwort,
		juste cette fois, seulement cette fois, uniquement cette fois, pour cette fois, juste pour cette fois, rien que cette fois, juste pour aujourd'hui, pour cette tâche, seulement pour cette tâche, uniquement pour cette tâche, juste pour cette tâche, pour cette session, juste pour cette session,
		pour cette conversation, pour cette réponse,
		por esta vez, solo por esta vez, sólo por esta vez, solo esta vez, sólo esta vez, solo por hoy, sólo por hoy, para esta tarea, solo para esta tarea, sólo para esta tarea, para esta sesión, solo para esta sesión, sólo para esta sesión, para esta conversación, para esta respuesta,
		só desta vez, só dessa vez, apenas desta vez, apenas dessa vez, somente desta vez, só por hoje, para esta tarefa, só para esta tarefa, apenas para esta tarefa, para esta sessão, só para esta sessão, apenas para esta sessão, para esta conversa, para esta resposta`)
	onlyNowUnspaced = strings.Split("仅此一次 就这一次 只此一次 仅限这次 今回だけ 今回のみ 今回に限り このタスクだけ 今日だけは", " ")
)

// beginsPlay reports whether a sentence begins a role play, so that what follows in the message is made up.
func beginsPlay(s *sentence) bool {
	for i := 0; i < min(len(s.words), 5); i++ {
		if plays.starts(s.words[i:]) > 0 {
			return true
		}
		if w := &s.words[i]; !w.comma && !openings[w.low] && !leadIns[w.low] {
			break
		}
	}
	return hasUnspaced(s.text, playsUnspaced)
}

// holdsOnlyNow reports whether a sentence says at its start or end that it holds this once or for the task at hand.
func holdsOnlyNow(s *sentence) bool {
	w := s.words
	if len(w) > 0 && openings[w[0].low] && onlyNow.starts(w) == 0 {
		w = w[1:]
	}
	if i := onlyNow.in(w); i >= 0 {
		end := i + onlyNow.starts(w[i:])
		if i == 0 && (w[end-1].low != "time" || w[end-1].comma || end == len(w)) || i > 0 && end == len(w) && w[i-1].low != "even" && w[i-1].low != "not" {
			return true // not: "Only this time zone …"
		}
	}
	return hasUnspaced(s.text, onlyNowUnspaced)
}

// hasUnspaced reports whether a text in a script without spaces has one of the phrases.
func hasUnspaced(text string, phrases []string) bool {
	if len(text) == characters(text) {
		return false
	}
	for _, p := range phrases {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// notAsserted returns the reason why a sentence to an agent says nothing of the speaker's own about what is so: it
// supposes or wishes something, or tells what others say. It returns "" for other sentences.
func notAsserted(w []word) string {
	if i := hypotheses.in(w); i >= 0 && i < 4 && !isStanding(w) && !asksForHabit(w) {
		return reasonIf
	}
	if i := wishes.in(w); i >= 0 && i < 3 || w[0].low == "if" && has(w, len(w), irreal) {
		return reasonIf
	}
	if i := hearsay.in(w); i >= 0 && i < 2 && rules.in(w) < 0 && lasting.in(w) < 0 {
		return reasonQuoted
	}
	return ""
}

// asksForHabit reports whether a sentence asks for something each time, which is no hypothesis: "I'd appreciate it if you
// never sent …"
func asksForHabit(w []word) bool {
	n := asksFor.starts(w)
	return n > 0 && lasting.starts(w[n:]) > 0 && !has(w[n:], 4, pronouns)
}

// isStuck reports whether a sentence says what the speaker sees or works on at the moment: "I'm getting a 500 on
// /orders", "I'm on branch fix-42".
func isStuck(w []word) bool {
	if low(w, 0) != "i'm" && low(w, 0) != "we're" {
		return false
	}
	switch low(w, 1) {
	case "getting", "seeing", "hitting":
		return has(w, len(w), troubles) || slices.ContainsFunc(w, func(x word) bool {
			return len(x.low) == 3 && (x.low[0] == '4' || x.low[0] == '5') && numbered(x.low[1:2]) && numbered(x.low[2:])
		})
	case "on":
		return low(w, 2) == "branch"
	}
	return false
}
