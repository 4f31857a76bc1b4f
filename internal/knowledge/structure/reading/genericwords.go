package reading

// genericWords are the nouns of any talk about a project: what carries one of these
// as its name is called by more words than that. The other common words ("search",
// "scheduler", "reports") are names of things where a rule or a dependency speaks of
// them, or where a record carries them already.
const genericWords = `
	main test tests tester testing file files data code codes coding error errors thing things system systems service services user users value values case cases way ways time times
	set sets get run runs use usage put call calls change changes fix update updates check checks build builds start stop open close add edit work works try turn look play show talk talks need needs help
	love like live life light match matter mind move need read write save load join pull push cut drop hit wait walk watch win sort split start switch select reset reload
	name names type types list lists line lines key keys number numbers word words text title part parts place point points piece problem problems question questions answer answers reason result results
	step steps side sense kind level levels state states status end info input inputs output outputs item items object objects detail details example examples option options issue issues bug bugs
	feature features function functions class classes method methods module modules component components package packages lib library libraries application applications app apps api apis project projects
	program programs product products production prod environment environments env version versions release releases server servers client clients database databases db table tables row rows column columns
	field fields record records entry entries entity entities folder folders directory dir path paths process processes machine device devices web url urls host hosts http https ip io id ids ui ux
	json xml yaml csv html css sql pdf cli sdk cpu ram tool tools team teams person people man men woman women kid kids child friend friends family mom dad guy day days week weeks month months year years
	hour hours minute minutes second seconds night morning evening today date dates moment period past future current daily home house room
	everything everybody everyone anything anybody nothing someone something somewhere one none null true false yes note notes off on not
	string strings int variable var variables arg args argument parameter parameters index instance instances interface integration implementation language languages framework frameworks format formats
	request requests response responses command commands script scripts design plan plans idea ideas goal goals rule rules reference example task tasks topic topics effort effect impact difference amount count size sizes length
	rate range risk chance choice condition context content contents control cost country course area base block blocks board body box bit background benefit best couple bunch half top front back bottom
	break copy create debug delete deploy deploys deployment deployments hash import install limit limits print restart return share store touch trust upgrade commit commits comment comments empty demo default defaults
	delta dependency dependencies dev developer developers decision decisions doc docs documentation fact facts failure config configs configuration location mistake operation operations outcome pair present practice
	prior priority primary performance public quick raw repo repository repositories security self spec timing understanding valid validation virtual world deal cat dog wall water sun town trip story sleep movie movies
	music feeling experience knowledge history lead manager math mind party power prompt proof school student song study term terms theme thought vm weather win
	role action activity access ability able approach attempt advice support standard structure stuff subject summary style string solution situation scope section sections set setup setting settings
	page pages view views link links image images icon button buttons form forms element node nodes group groups map mode model models layer layers line log logs loop logic feedback focus force
	new old good bad real important trouble luck fun hand hands heart hope smile spot tons tough vibes use business company customer customers member members owner owners people author
	ai cd ci cors crud dns dom eof fk gpu gui ide iot jwt kpi lan ml mvp nlp oauth ok orm os pc pk qa rbac rest rfc saas sla sms smtp ssh sso ssl tcp tls todo tti udp utf uuid vm vpn wasm wcag wip`
