package taint

import (
	"strings"
	"sync"
)

// A word's weight is what it says that two texts share it: nothing for words that
// are everywhere, and most for those that are dangerous in a command.
const (
	weightNone  = 0
	weightUsual = 1
	weightOwn   = 2
	weightRisk  = 3
)

// dangerous words make a short command worth a look.
var dangerous = set(`
	rm -rf -fr -r dd mkfs shred wipe format
	curl wget nc ncat netcat socat telnet ssh scp sftp rsync ftp tftp nslookup dig
	sudo su doas chmod chown chattr setfacl visudo usermod useradd passwd
	eval exec source base64 xxd bash sh zsh powershell pwsh iex iwr irm certutil bitsadmin mshta rundll32 osascript
	--force --no-verify --insecure --privileged --delete --hard --mirror --no-check-certificate --allow-root --yolo
	--extra-index-url --index-url --registry --trusted-host --unsafe-perm --dangerously-skip-permissions --no-sandbox
	crontab systemctl launchctl iptables ufw setenforce insmod ld_preload
	drop truncate delete grant revoke alter
	install clone
	authorized_keys id_rsa id_ed25519 sudoers shadow passwd
	xargs nohup disown kubectl terraform
`)

// ordinary words of prose and of programs, beyond those that say nothing.
var ordinary = sync.OnceValue(func() map[string]bool {
	return set(`
	able about above across after again against all almost alone along already also although always among another any anybody anyone
	anything around asked asks away back became because become becomes been before began behind being below best better between big both
	call called calls can't case cases change changed changes check checks clear close come comes common complete could day days default describe
	different does doesn't done don't down during each early either else end ends enough even ever every everybody everyone everything example
	examples exit fact failed fails failure far few file files find first fix fixed follow following follows found full further gave general get gets
	getting give given gives goes going good got great group had half happen happens hard having help here high hold home how however hour hours idea
	important include included includes input inside instead issue it's itself just keep keeps kind knew know known large last later latest least left
	less let like likely line lines list little live local long longer look looking looks low made main make makes making many matter may maybe mean
	means member message messages might minute minutes more most much must name names near need needed needs never new next night no nobody none note
	nothing now number numbers of off often old once one ones only open order other others our out output over own part parts people per person place
	please point possible present problem problems put question questions quite ran rather read ready real really reason result results return returned
	returns right run running runs said same save saw say says second seconds see seem seems seen set sets several shall she should show showed shown shows
	side simple simply since small so some somebody someone something soon start started starts state states still stop such support sure take taken takes
	tell test tests text than thank thanks that that's their them then there these they thing things think this those though thought three through time
	times today together told too took toward try trying turn two type types under until upon use used useful user users uses using usually value values
	version very via want wanted wants was way ways week weeks well went were what when where whether which while who whole whose why will with within
	without won't word words work worked working works would write written wrong wrote year years yes yet you your
	api app args array async await bin bool break build builds byte bytes cat catch cd class client clients cmd code com command commands commit
	config const container content context count create created cursor data database date debug dev dir docs double echo else elif empty env err error errors
	event events exception export fail false field fields float folder for foreach format from func function functions git github go golang grep handler
	header headers host html http https id if image import index init install int interface internal item items java javascript js json key keys len length
	let lib license licensed link local log logs loop ls make map match max md method methods min mod model module mv net new nil node npm null object
	option options org output package page parameter params parse pass passed path pattern pip port print private process program project public push
	py python query queue read readme record records request requests require requires response return root route rust schema script select self server
	service services size sql src static status stderr stdin stdout stream string struct style sum switch system table tag target task temp template
	temperature title tmp token tokens tool tools true type typescript undefined update updated url utf var void volume warning web x y yaml yml
	body div span href color width label button text input form charset application
	account address compliance copy customer except partner payment payments team
	i'm thank hi hello dear regards best
`)
})

// empty words carry a sentence and nothing else.
var empty = set(`
	a an and are as at be but by do for from has have he her his i if in into is it its me my not of on or s so t than that the their them they
	this to us was we were will with you your
`)

// weights of the words above.
var weights = sync.OnceValue(func() map[string]uint8 {
	out := map[string]uint8{}
	for w := range ordinary() {
		out[w] = weightUsual
	}
	for w := range dangerous {
		out[w] = weightRisk
	}
	for w := range empty {
		out[w] = weightNone
	}
	return out
})

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// weigh returns a word's weight. It is in lower case.
func weigh(w []byte) uint8 {
	if have, ok := weights()[string(w)]; ok {
		return have
	}
	if len(w) <= 2 || w[0] == '-' {
		return weightUsual
	}
	return weightOwn
}
