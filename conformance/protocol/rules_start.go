package protocol

import (
	"crypto/tls"
	"crypto/x509"
	"net"

	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var startRules = []Rule{
	{ID: "start/cookie", alone: true, Section: 1, Text: "without it the plugin MUST say that it is a plugin and exit", check: func(t *test) {
		p := t.start(how{stranger: true})
		p.wantEnd(t, "start without BURN_PLUGIN", t.StartTimeout)
		line, _ := p.firstLine(time.Second)
		select { // its last output may arrive after its end
		case <-p.silent:
		case <-time.After(t.Slack):
		}
		if strings.HasPrefix(line, "1|1|") {
			t.fail("it prints a handshake: %.60q", line)
		}
		if !strings.Contains(strings.ToLower(line+p.last()), "plugin") {
			t.fail("it says %q, want that it is a plugin", line+p.last())
		}
	}},
	{ID: "start/handshake", alone: true, Section: 1, Text: "1|1|NETWORK|ADDRESS|grpc|CERTIFICATE", check: func(t *test) {
		p := t.start(how{})
		t.must("start", p.handshake(t.StartTimeout))
	}},
	{ID: "start/late-host", alone: true, Section: 1, Text: "a connection existed and none is left", check: func(t *test) {
		p := t.start(how{})
		t.must("start", p.handshake(t.StartTimeout))
		time.Sleep(1500 * time.Millisecond)
		if p.ended() {
			t.fail("it ended before a host was connected: %s", p.how())
		}
		p.connect(t)
	}},
	{ID: "start/health", Section: 1, Text: "It calls `grpc.health.v1.Health/Check` from time to time; a plugin that gives no answer of any kind for ten seconds", check: func(t *test) {
		t.must("health", t.plugin().conn.healthy(t))
	}},
	{ID: "start/interrupt", alone: true, Section: 1, Text: "It ignores SIGINT, which a terminal sends to both.", unix: true, check: func(t *test) {
		p := t.start(how{})
		p.connect(t)
		t.must("signal", p.cmd.Process.Signal(interrupt))
		time.Sleep(500 * time.Millisecond)
		if p.ended() {
			t.fail("SIGINT ends it: %s", p.how())
		}
		t.must("health after SIGINT", p.conn.healthy(t))
	}},
}

// endLimit is the time within which a plugin must end once its host is gone.
const endLimit = time.Second

var endRules = []Rule{
	{ID: "end/shutdown", alone: true, Section: 1, Text: "The plugin MUST end when its host requests it (the call `plugin.GRPCController/Shutdown`)", check: func(t *test) {
		p := t.start(how{})
		p.connect(t)
		p.conn.open(t).stream()
		_, _ = p.conn.call(t, "/plugin.GRPCController/Shutdown", nil) // there may be no answer
		p.wantEnd(t, "Shutdown", endLimit)
	}},
	{ID: "end/stdin", alone: true, Section: 1, Text: "within a second after any of these: standard input ends while `BURN_HOST_PIPE` is `stdin`", check: func(t *test) {
		p := t.start(how{})
		p.connect(t)
		p.conn.open(t).stream()
		p.stdin.Close()
		p.wantEnd(t, "the end of standard input", endLimit)
	}},
	{ID: "end/parent", alone: true, Section: 1, Text: "the parent process is not `BURN_HOST_PID` any more", unix: true, check: func(t *test) {
		p := t.start(how{behind: true})
		p.connect(t)
		m := regexp.MustCompile(`pid (\d+)`).FindStringSubmatch(p.last())
		if m == nil {
			t.fail("the process between host and plugin does not name the latter: %s", p.last())
		}
		p.pid, _ = strconv.Atoi(m[1])
		t.must("kill the parent", p.cmd.Process.Signal(syscall.SIGKILL))
		for limit := time.Now().Add(endLimit + t.Slack); running(p.pid); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(limit) {
				t.fail("the process still runs %v after its host was killed", endLimit+t.Slack)
			}
		}
	}},
	{ID: "end/connection", alone: true, Section: 1, Text: "a connection existed and none is left", check: func(t *test) {
		p := t.start(how{})
		p.connect(t)
		p.conn.open(t).stream()
		p.conn.close()
		p.wantEnd(t, "the end of the last connection", endLimit)
	}},
	{ID: "end/one-of-two", alone: true, Section: 1, Text: "a connection existed and none is left", check: func(t *test) {
		p, second := t.two()
		p.conn.hello(t, Version, Version)
		second.close()
		time.Sleep(1500 * time.Millisecond)
		if p.ended() {
			t.fail("the end of one of two connections ends it: %s", p.how())
		}
		t.must("health after the end of one of two connections", p.conn.healthy(t))
	}},
}

// two returns a plugin with two connections, before Hello: a plugin need not accept further connections after Hello.
func (t *test) two() (p *plugin, second *connection) {
	p = t.start(how{})
	t.must("start", p.handshake(t.StartTimeout))
	p.conn, second = p.dial(t, p.config(p.keys.host)), p.dial(t, p.config(p.keys.host))
	t.must("health over one connection", p.conn.healthy(t))
	t.must("health over another connection", second.healthy(t))
	return p, second
}

// strange returns a process for connections that must be refused. Its host is connected but has not sent Hello, because a plugin need not
// accept further connections after Hello.
func (t *test) strange() *plugin {
	if t.unseen == nil || t.unseen.ended() {
		p := t.start(how{})
		t.must("start", p.handshake(t.StartTimeout))
		p.conn = p.dial(t, p.config(p.keys.host))
		t.must("health", p.conn.healthy(t))
		t.unseen = p
	}
	return t.unseen
}

// refused fails the check if the plugin serves a connection with config.
func (p *plugin) refused(t *test, what string, config *tls.Config) {
	c := p.dial(t, config)
	defer c.close()
	if _, err := c.call(t, "/grpc.health.v1.Health/Check", nil); err == nil {
		t.fail("%s is served", what)
	}
	good := p.dial(t, p.config(p.keys.host))
	defer good.close()
	t.must("the host, after "+what, good.healthy(t)) // so the other connection was refused, and the socket is still open
}

var tlsRules = []Rule{
	{ID: "tls/certificate", Section: 2, Text: "the plugin makes a self-signed certificate for the name `localhost` (as a subject alternative name), valid as server", check: func(t *test) {
		p := t.plugin()
		if len(p.cert) == 0 {
			t.fail("CERTIFICATE is empty, and %s was set", envCert)
		}
		x, err := x509.ParseCertificate(p.cert)
		t.must("CERTIFICATE", err)
		roots := x509.NewCertPool()
		roots.AddCert(x)
		_, err = x.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		t.must("CERTIFICATE", err)
	}},
	{ID: "tls/versions", Section: 2, Text: "serves TLS 1.2 or later with it", check: func(t *test) {
		p := t.strange()
		served := false
		for _, v := range []uint16{tls.VersionTLS13, tls.VersionTLS12} {
			config := p.config(p.keys.host)
			config.MinVersion, config.MaxVersion = v, v
			c := p.dial(t, config)
			served = served || c.healthy(t) == nil
			c.close()
		}
		if !served {
			t.fail("neither TLS 1.3 nor TLS 1.2 is served")
		}
		old := p.config(p.keys.host)
		old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		conn, err := net.Dial(p.network, p.address)
		t.must("dial", err)
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(t.Patience))
		if tls.Client(conn, old).Handshake() == nil {
			t.fail("TLS 1.1 is served")
		}
	}},
	{ID: "tls/plain", Section: 2, Text: "So each side communicates only with the process that it knows.", check: func(t *test) {
		t.strange().refused(t, "a client without TLS", nil)
	}},
	{ID: "tls/no-certificate", Section: 2, Text: "The plugin MUST require a certificate of the client and verify it against the given certificate: it refuses a client without one", check: func(t *test) {
		p := t.strange()
		p.refused(t, "a client without a certificate", p.config())
	}},
	{ID: "tls/other-certificate", Section: 2, Text: "and a client whose certificate the given one has not issued", check: func(t *test) {
		p := t.strange()
		other, err := newKeys()
		t.must("certificate", err)
		p.refused(t, "a client with a certificate of another root", p.config(other.host))
	}},
	{ID: "tls/end-entity", Section: 2, Text: "The host presents a certificate that this root has issued: an end entity (CA false", check: func(t *test) {
		p := t.strange()
		c := p.dial(t, p.config(p.keys.host))
		defer c.close()
		t.must("a client with an end entity of the root", c.healthy(t))
	}},
}

var debugRules = []Rule{
	{ID: "debug/version", alone: true, Section: 8, Text: "prints a line with name, version, protocol and platform", check: func(t *test) {
		if !t.Debug {
			t.skip("the program carries the plugin, and has other flags")
		}
		p := t.start(how{args: []string{"--version"}})
		p.wantEnd(t, "--version", t.StartTimeout)
		line, _ := p.firstLine(time.Second)
		for _, want := range []string{"burn-backend-", "protocol", strconv.Itoa(Version)} {
			if !strings.Contains(line, want) {
				t.fail("--version prints %q, want %q in it", line, want)
			}
		}
	}},
	{ID: "debug/attach", alone: true, Section: 8, Text: "Started with `--debug` and without a host, a plugin listens without TLS and prints", check: func(t *test) {
		p := t.debugging()
		p.conn.hello(t, Version, Version)
		p.conn.open(t).stream().alive("a stream of a plugin that runs with --debug")
		time.Sleep(time.Second)
		p.conn.close()
		time.Sleep(time.Second)
		if p.ended() {
			t.fail("it ends with the first host")
		}
		p.conn = p.dial(t, nil)
		p.conn.hello(t, Version, Version)
	}},
	{ID: "debug/devices", alone: true, Section: 3, Text: "A device ends as well when the gRPC connection ends over which it was opened", check: func(t *test) {
		p := t.debugging()
		p.conn.hello(t, Version, Version)
		d := p.conn.open(t)
		p.conn.close()
		time.Sleep(endLimit + t.Slack/2) // while there is no connection
		p.conn = p.dial(t, nil)
		p.conn.hello(t, Version, Version)
		t.wantCode(p.conn.outcome(t, "Close", fixed(nil, 1, d.handle)), "Close of a device whose connection, and all others, have ended", codeClosed)
	}},
}

var reattach = regexp.MustCompile(`^BURN_REATTACH='\{"[^"]+":\s*\{.*"network":\s*"(unix|tcp)",\s*"addr":\s*"([^"]+)"`)

// debugging returns a plugin that was started with --debug, and a connection to it.
func (t *test) debugging() *plugin {
	if !t.Debug {
		t.skip("the program carries the plugin, and has other flags")
	}
	p := t.start(how{args: []string{"--debug"}})
	line, came := p.firstLine(t.StartTimeout)
	m := reattach.FindStringSubmatch(line)
	if !came || m == nil {
		t.fail("--debug prints %q, want BURN_REATTACH='{\"NAME\":{\"pid\":PID,\"network\":\"unix\",\"addr\":\"PATH\",\"protocol\":VERSION}}'", line)
	}
	p.network, p.address = m[1], m[2]
	p.conn = p.dial(t, nil)
	return p
}

// quiet checks the output of all processes of the certification, so it is the last rule.
var quiet = Rule{ID: "start/stdout", Section: 1, Text: "then prints one line to standard output, and nothing else ever", check: func(t *test) {
	if t.starts == 0 {
		t.plugin()
	}
	t.drop()
	if len(t.noises) > 0 {
		t.fail("standard output has %s behind the handshake", strings.Join(t.noises, ", "))
	}
}}
