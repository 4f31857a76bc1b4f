//go:build unix

package nodes

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kenlayer/ken"
	"github.com/kenlayer/ken/config"
	"github.com/kenlayer/ken/internal/middleware/engines"
	"github.com/kenlayer/ken/internal/race"
	"github.com/kenlayer/ken/internal/seed"
	"github.com/kenlayer/ken/internal/store/bolt"
	"github.com/kenlayer/ken/internal/store/commitlog"
	"github.com/kenlayer/ken/internal/store/commitlog/jetstream"
	"github.com/kenlayer/ken/internal/store/commitlog/logtest"
	"github.com/kenlayer/ken/internal/store/commitlog/postgres"
	"github.com/kenlayer/ken/internal/store/shared"
	"github.com/kenlayer/ken/store"
)

// owners is the number of owners. Every node writes to all of them.
const owners = 4

// openLog opens the engine of a URL.
func openLog(ctx context.Context, url string) (commitlog.Log, error) {
	if strings.HasPrefix(url, "postgres") {
		return postgres.Open(ctx, postgres.Options{URL: url})
	}
	return jetstream.Open(ctx, jetstream.Options{URL: url})
}

// TestMain also runs the processes that tests start and kill: nodes, and one that moves owners.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("KEN_NODE") != "":
		beNode()
		return
	case os.Getenv("KEN_MOVE") != "":
		beMover()
		return
	case os.Getenv("KEN_TURNS_NODE") != "":
		beTurns()
		return
	}
	os.Exit(m.Run())
}

var (
	stdout   = bufio.NewWriter(os.Stdout)
	stdoutMu sync.Mutex
)

func say(format string, args ...any) {
	stdoutMu.Lock()
	defer stdoutMu.Unlock()
	fmt.Fprintf(stdout, format+"\n", args...)
	stdout.Flush()
}

// beNode is the main function of a node. It writes to every owner until it is killed, prints the
// acknowledged writes, and reads them back.
func beNode() {
	ctx, name := context.Background(), os.Getenv("KEN_NODE")
	log, err := openLog(ctx, os.Getenv("KEN_NODE_URL"))
	for ; err != nil; log, err = openLog(ctx, os.Getenv("KEN_NODE_URL")) { // the engine may be unreachable
		say("away %v", err)
	}
	logger := slog.New(slog.DiscardHandler)
	if os.Getenv("KEN_NODE_LOG") != "" {
		logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("node", name)
		slog.SetDefault(logger)
	}
	o := shared.NodeOptions{Log: log, ID: name, Listen: os.Getenv("KEN_NODE_LISTEN"), Advertise: os.Getenv("KEN_NODE_ADVERTISE"), Wall: clock.now, Logger: logger}
	go clock.follow(os.Getenv("KEN_NODE_CLOCK"))
	if o.Server, o.Client, err = nodeTLS(os.Getenv("KEN_NODE_TLS")); err != nil {
		say("fault %v", err)
		return
	}
	node, err := shared.StartNode(ctx, o)
	for ; err != nil; node, err = shared.StartNode(ctx, o) {
		say("away %v", err)
	}
	all := shared.NewOwners(os.Getenv("KEN_NODE_DIR"), 0, shared.Options{Node: node, Next: nextNode(ctx, name), NextName: os.Getenv("KEN_NODE_NEXT"),
		Store: bolt.Options{Now: clock.now}, Log: logger})
	var wg sync.WaitGroup
	for i := range owners {
		wg.Go(func() { useRegister(ctx, all, fmt.Sprint("o", i), fmt.Sprint(name, ".", i)) })
		wg.Go(func() {
			owner := fmt.Sprint("o", i)
			tick := time.NewTicker(20 * time.Millisecond)
			for n := 0; ; n++ {
				<-tick.C
				once(ctx, all, owner, fmt.Sprintf("node%s wrote word%d", strings.ReplaceAll(name, ".", "x"), n))
			}
		})
	}
	wg.Wait()
}

// nodeTLS returns the TLS configuration of nodes with the certificate in dir; nil if dir is "".
func nodeTLS(dir string) (server, client *tls.Config, err error) {
	if dir == "" {
		return nil, nil, nil
	}
	cert := filepath.Join(dir, "node.pem")
	return engines.TLS(config.Store{CA: cert, Cert: cert, Key: filepath.Join(dir, "node.key")})
}

// nextNode starts a node of the engine to which owners are moved. It returns nil if there is none.
func nextNode(ctx context.Context, name string) *shared.Node {
	url := os.Getenv("KEN_NODE_NEXT")
	for url != "" {
		log, err := openLog(ctx, url)
		if err == nil {
			var n *shared.Node
			if n, err = shared.StartNode(ctx, shared.NodeOptions{Log: log, ID: name, Logger: slog.New(slog.DiscardHandler)}); err == nil {
				return n
			}
		}
		say("away %v", err)
	}
	return nil
}

func once(ctx context.Context, all *shared.Owners, owner, text string) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	s, release, err := all.Get(ctx, owner)
	if err != nil {
		say("refused %s %v Try: %s", owner, err, ken.Hint(err))
		return
	}
	defer release()
	c, err := ken.NewClaim(text, ken.FromUserStatement("s", "m"))
	if err != nil {
		say("fault %v", err)
		return
	}
	begun := time.Now()
	id, err := s.WriteClaim(store.WithCommit(ctx, clock.name()), c)
	if err != nil {
		say("refused %s %v Try: %s", owner, err, ken.Hint(err))
		return
	}
	say("ack %s %d %s", owner, time.Since(begun).Milliseconds(), text)
	if got, err := s.Get(ctx, id); err == nil && got.Text != text || errors.Is(err, ken.ErrNotFound) {
		say("fault %s does not read what it has written: %q, %v", owner, got.Text, err)
	}
}

// crew is a group of nodes of a test, as processes.
type crew struct {
	t       *testing.T
	program string
	dirs    []string
	urls    []string // of the engine, for each node
	url     string   // of the engine, for the test
	next    string   // URL of the engine to which owners are moved; "" for none
	cmds    []*exec.Cmd
	listen  []string       // where the nodes listen
	hosts   []logtest.Host // of the nodes, if they are on different hosts
	tls     string         // the folder of their certificate
	peers   []*proxy       // through which other nodes reach them
	clocks  []string       // the files that set their clocks
	started int

	mu      sync.Mutex // guards the rest
	acks    map[string]map[string]bool
	last    map[string]time.Time // an owner's last acknowledgement
	pauses  []time.Duration      // over half a second, between two acknowledgements of an owner
	took    []int                // how long each acknowledged write took, in ms
	faults  []string
	refused map[string]int
	calls   map[string]*call // of registers
	clients map[string]int   // a number for each caller of registers
	reading sync.WaitGroup
}

func newCrew(t *testing.T, urls []string) *crew {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &crew{t: t, program: program, urls: urls, cmds: make([]*exec.Cmd, len(urls)), acks: map[string]map[string]bool{}, last: map[string]time.Time{}, refused: map[string]int{},
		calls: map[string]*call{}, clients: map[string]int{}}
	for range urls {
		c.dirs = append(c.dirs, t.TempDir())
		c.clocks = append(c.clocks, filepath.Join(t.TempDir(), "clock"))
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c.listen = append(c.listen, l.Addr().String())
		c.peers = append(c.peers, newProxy(t, []string{l.Addr().String()}))
		_ = l.Close()
	}
	t.Cleanup(c.killAll)
	return c
}

func (c *crew) start(i int) {
	c.started++
	args, advertise := []string{c.program, "-test.run=^$"}, ""
	if c.hosts == nil {
		advertise = c.peers[i].url("")
	} else {
		args, advertise = append(slices.Clone(c.hosts[i].Enter), args...), c.listen[i]
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "KEN_NODE_TLS="+c.tls, fmt.Sprintf("KEN_NODE=n%d.%d", i, c.started), "KEN_NODE_URL="+c.urls[i], "KEN_NODE_DIR="+c.dirs[i], "KEN_NODE_NEXT="+c.next,
		"KEN_NODE_LISTEN="+c.listen[i], "KEN_NODE_ADVERTISE="+advertise, "KEN_NODE_CLOCK="+c.clocks[i])
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.cmds[i] = cmd
	c.reading.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.hear(lines.Text())
		}
	})
}

func (c *crew) hear(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "ack":
		owner, rest, _ := strings.Cut(rest, " ")
		took, text, _ := strings.Cut(rest, " ")
		ms, _ := strconv.Atoi(took)
		c.took = append(c.took, ms)
		if c.acks[owner] == nil {
			c.acks[owner] = map[string]bool{}
		}
		c.acks[owner][text] = true
		now := time.Now()
		if pause := now.Sub(c.last[owner]); !c.last[owner].IsZero() && pause > 500*time.Millisecond {
			c.pauses = append(c.pauses, pause)
		}
		c.last[owner] = now
	case "begin", "end":
		c.hearCall(kind, rest)
	case "fault":
		c.faults = append(c.faults, rest)
	case "refused":
		_, why, _ := strings.Cut(rest, " ")
		c.refused[why]++
	}
}

func (c *crew) kill(i int) {
	if c.cmds[i] == nil {
		return
	}
	_ = c.cmds[i].Process.Kill()
	_ = c.cmds[i].Wait()
	c.cmds[i] = nil
}

func (c *crew) killAll() {
	for i := range c.cmds {
		c.kill(i)
	}
	c.reading.Wait()
}

func (c *crew) acknowledged() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.acks {
		n += len(all)
	}
	return n
}

// flow waits until a new write to each owner is acknowledged. It fails the test after a minute.
func (c *crew) flow() {
	c.t.Helper()
	begun, told := time.Now(), false
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		c.mu.Lock()
		flows := len(c.last) == owners
		for _, at := range c.last {
			flows = flows && at.After(begun)
		}
		c.mu.Unlock()
		if flows {
			return
		}
		if time.Since(begun) > 8*time.Second && !told {
			told = true
			c.tellHolders()
		}
		if time.Since(begun) > 60*time.Second {
			c.tellHolders()
			for _, cmd := range c.cmds {
				_ = cmd.Process.Signal(syscall.SIGQUIT) // it prints its goroutines' stacks
				_ = cmd.Wait()
			}
			c.t.Fatalf("an owner has no holder for a minute; refused: %v", c.refused)
		}
		<-tick.C
	}
}

// tellHolders logs the engine's health, the nodes and the lease of each owner.
func (c *crew) tellHolders() {
	log, err := openLog(c.t.Context(), c.url)
	if err != nil {
		c.t.Logf("the engine: %v", err)
		return
	}
	defer log.Close()
	health, err := log.Health(c.t.Context())
	c.t.Logf("the engine: %s, %v", health, err)
	nodes, err := log.Nodes(c.t.Context())
	c.t.Logf("nodes: %+v, %v", nodes, err)
	for i := range owners {
		owner := fmt.Sprint("o", i)
		l, err := log.Lease(c.t.Context(), owner)
		c.mu.Lock()
		c.t.Logf("%s: %+v, %v; written %v ago", owner, l, err, time.Since(c.last[owner]).Round(10*time.Millisecond))
		c.mu.Unlock()
	}
}

// verify kills the nodes, and compares the stored claims with the acknowledged ones.
func (c *crew) verify(url string) {
	t := c.t
	t.Helper()
	c.killAll()
	log, err := openLog(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	node, err := shared.StartNode(t.Context(), shared.NodeOptions{Log: log, ID: "verifier"})
	if err != nil {
		t.Fatal(err)
	}
	all := shared.NewOwners(t.TempDir(), 0, shared.Options{Node: node})
	defer func() {
		if err := errors.Join(all.Close(), node.Close()); err != nil {
			t.Error(err)
		}
	}()
	lost, twice, total := 0, 0, 0
	for i := range owners {
		owner := fmt.Sprint("o", i)
		s, release, err := all.Get(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]int{}
		for claim, err := range s.Claims(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			there[claim.Text]++
		}
		for text := range c.acks[owner] {
			total++
			if there[text] == 0 {
				lost++
				t.Errorf("%s lost %q", owner, text)
			}
		}
		for text, n := range there {
			if n > 1 {
				twice++
				t.Errorf("%s has %q %d times", owner, text, n)
			}
		}
		if r, err := s.VerifyLog(t.Context()); err != nil {
			t.Errorf("%s: %v after %d events", owner, err, r.Events)
		}
		release()
	}
	c.checkRegisters(t)
	for _, f := range c.faults {
		t.Error(f)
	}
	slices.Sort(c.pauses)
	t.Logf("%d acknowledged, %d lost, %d twice", total, lost, twice)
	if n := len(c.pauses); n > 0 {
		t.Logf("pauses of an owner over 0.5 s: %d, median %v, 95th percentile %v, longest %v", n, c.pauses[n/2].Round(10*time.Millisecond),
			c.pauses[n*95/100].Round(10*time.Millisecond), c.pauses[n-1].Round(10*time.Millisecond))
	}
	t.Logf("refused: %v", c.refused)
}

// wanted returns the number of faults of a run. make chaos makes many more than the tests.
func wanted() int {
	if n, err := strconv.Atoi(os.Getenv("KEN_FAULTS")); err == nil {
		return n
	}
	return 3
}

// fault is a fault with functions that begin and end it.
type fault struct {
	name       string
	begin, end func()
}

// pauseBetween sleeps for a random time between low and high.
func pauseBetween(rng *rand.Rand, low, high time.Duration) {
	<-time.After(low + time.Duration(rng.Int64N(int64(high-low))))
}

// signal returns a function that sends a signal to a process.
func signal(p *os.Process, s syscall.Signal) func() { return func() { _ = p.Signal(s) } }

// setClock returns a function that sets by how much the clock of node i is wrong.
func (c *crew) setClock(i int, wrong time.Duration) func() {
	return func() {
		tmp := c.clocks[i] + ".new"
		if err := errors.Join(os.WriteFile(tmp, []byte(wrong.String()), 0o600), os.Rename(tmp, c.clocks[i])); err != nil {
			c.t.Error(err)
		}
	}
}

// oneOf returns a random fault, with equal probability one of node or one of others.
func oneOf(rng *rand.Rand, node []fault, others ...fault) fault {
	if rng.IntN(2) == 0 {
		return node[rng.IntN(len(node))]
	}
	return others[rng.IntN(len(others))]
}

// nodeFaults returns the faults of node i. engine is its proxy to the engine.
func (c *crew) nodeFaults(rng *rand.Rand, i int, engine *proxy) []fault {
	cut := func(p *proxy, to, from bool) func() { return func() { p.cut(to, from) } }
	wrong := time.Minute + time.Duration(rng.Int64N(int64(20*time.Minute)))
	if rng.IntN(2) == 0 {
		wrong = -wrong
	}

	return []fault{
		{fmt.Sprintf("kill node %d", i), func() { c.kill(i) }, func() { c.start(i) }},
		{fmt.Sprintf("pause node %d", i), func() { signal(c.cmds[i].Process, syscall.SIGSTOP)() }, func() { signal(c.cmds[i].Process, syscall.SIGCONT)() }},
		{fmt.Sprintf("cut node %d off the engine", i), cut(engine, true, true), cut(engine, false, false)},
		{fmt.Sprintf("cut what node %d says to the engine", i), cut(engine, true, false), cut(engine, false, false)},
		{fmt.Sprintf("cut what the engine says to node %d", i), cut(engine, false, true), cut(engine, false, false)},
		{fmt.Sprintf("cut node %d off the others", i), cut(c.peers[i], true, true), cut(c.peers[i], false, false)},
		{fmt.Sprintf("cut what node %d says to the others", i), cut(c.peers[i], false, true), cut(c.peers[i], false, false)},
		{fmt.Sprintf("cut node %d off all", i), func() { engine.cut(true, true); c.peers[i].cut(true, true) }, func() { engine.cut(false, false); c.peers[i].cut(false, false) }},
		{fmt.Sprintf("set the clock of node %d wrong by %v", i, wrong.Round(time.Second)), c.setClock(i, wrong), c.setClock(i, 0)},
		{fmt.Sprintf("slow link of node %d to the engine", i), func() { engine.slow(slowLink) }, func() { engine.slow(pace{}) }},
		{fmt.Sprintf("slow links of node %d to all", i), func() { engine.slow(slowLink); c.peers[i].slow(slowLink) }, func() { engine.slow(pace{}); c.peers[i].slow(pace{}) }},
		{fmt.Sprintf("empty the folder of node %d", i), func() { c.kill(i); c.dirs[i] = c.t.TempDir() }, func() { c.start(i) }},
	}
}

func (c *crew) run(all func(rng *rand.Rand) fault, url string) {
	t := c.t
	c.url = url
	rng := rand.New(rand.NewPCG(seed.Of(t), 0))
	for i := range c.cmds {
		c.start(i)
	}
	c.flow()
	begun := time.Now()
	for n := range wanted() {
		f := all(rng)
		for only := os.Getenv("KEN_FAULT"); !strings.Contains(f.name, only); f = all(rng) {
		}
		t.Logf("%6.1f s, fault %d: %s", time.Since(begun).Seconds(), n+1, f.name)
		before := c.paused()
		f.begin()
		lasts := time.Now()
		pauseBetween(rng, 500*time.Millisecond, 5*time.Second)
		f.end()
		lasted := time.Since(lasts)
		c.flow()
		if pauses := c.pausesSince(before); len(pauses) > 0 {
			t.Logf("         it lasted %.1f s; pauses of %v", lasted.Seconds(), pauses)
		}
	}
	if n := c.acknowledged(); n < 100 {
		t.Errorf("only %d writes were acknowledged", n)
	}
	c.verify(url)
}

func TestFaultsNATS(t *testing.T) {
	nats := logtest.StartNATS(t, 3)
	var urls []string
	var proxies []*proxy
	for range 3 {
		p := newProxy(t, nats.Addresses())
		proxies = append(proxies, p)
		urls = append(urls, p.url("nats://"))
	}
	c := newCrew(t, urls)
	c.run(func(rng *rand.Rand) fault {
		i := rng.IntN(3)
		return oneOf(rng, c.nodeFaults(rng, i, proxies[i]),
			fault{fmt.Sprintf("kill server %d", i), func() { nats.Kill(i) }, func() { nats.Start(i) }},
			fault{fmt.Sprintf("pause server %d", i), func() { signal(nats.Process(i), syscall.SIGSTOP)() }, func() { signal(nats.Process(i), syscall.SIGCONT)() }})
	}, nats.URL())
}

func TestFaultsPostgres(t *testing.T) {
	race.SkipLong(t) // TestFaultsPromotion includes these faults
	pg := logtest.StartPostgres(t)
	var urls []string
	var proxies []*proxy
	for range 3 {
		p := newProxy(t, []string{pg.Address()})
		proxies = append(proxies, p)
		urls = append(urls, p.url("postgres://ken@")+"/postgres?sslmode=disable")
	}
	c := newCrew(t, urls)
	c.run(func(rng *rand.Rand) fault {
		i := rng.IntN(3)
		return oneOf(rng, c.nodeFaults(rng, i, proxies[i]),
			fault{"restart the server", func() { pg.Crash() }, func() { pg.Start() }})
	}, pg.URL())
}

// TestFaultsPromotion promotes a synchronous standby when the primary is lost. No acknowledged
// write may be lost, also if the standby lagged.
func TestFaultsPromotion(t *testing.T) {
	pg := logtest.StartPostgresPair(t)
	var urls []string
	var proxies []*proxy
	for range 3 {
		p := newProxy(t, pg.Addresses())
		proxies = append(proxies, p)
		urls = append(urls, logtest.PairURL(p.url("")))
	}
	c := newCrew(t, urls)
	c.run(func(rng *rand.Rand) fault {
		i := rng.IntN(3)
		late := func() {
			pg.Pause()
			pauseBetween(rng, time.Second, 3*time.Second)
			pg.Crash()
			pg.Continue()
			pg.Promote()
		}
		return oneOf(rng, c.nodeFaults(rng, i, proxies[i]),
			fault{"restart the primary", pg.Crash, pg.Start},
			fault{"pause the standby", pg.Pause, pg.Continue},
			fault{"promote the standby", func() { pg.Crash(); pg.Promote() }, pg.Rejoin},
			fault{"promote a standby that lags behind", late, pg.Rejoin})
	}, pg.URL())
}
