package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(envFault); ok {
		fakeMain()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// faulty returns options that run this test binary as a plugin that breaks the rule fault, or no rule if fault is empty.
func faulty(t *testing.T, fault string) Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	env := append(os.Environ(), envFault+"="+fault)
	// Under the race detector a process sleeps a second before it ends, which the checks of start and end would measure.
	env = append(env, strings.TrimSpace("GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0"))
	return Options{Command: []string{self}, Env: env, Debug: true}
}

// Without a fault the fake passes every rule that applies on this system, so that the failures of the mutants come from their faults.
func TestFake(t *testing.T) {
	t.Parallel()
	r, err := Check(t.Context(), faulty(t, ""))
	require.NoError(t, err)
	for _, x := range r.Results {
		if why := applies(x.ID); why == "" {
			require.Equal(t, Passed, x.Status, "%s: %s\n%s", x.ID, x.Reason, r.Stderr)
		}
	}
	require.NoError(t, r.Err())
	require.Equal(t, "fake", r.Plugin)
}

// applies returns the reason for which a rule is not checked on this system, or "".
func applies(id string) string {
	for _, rule := range Rules() {
		if rule.ID == id {
			return rule.applies()
		}
	}
	return ""
}

// For every rule, a plugin that breaks it fails its check. The checks wait more than they compute, so that many run at a time.
func TestMutants(t *testing.T) {
	t.Parallel()
	type outcome struct {
		report *Report
		err    error
	}
	results := map[string]chan outcome{}
	turn := make(chan struct{}, 12)
	for _, rule := range Rules() {
		o := faulty(t, rule.ID)
		o.Run = regexp.MustCompile("^" + rule.ID + "$")
		o.Patience, o.Slack = 2*time.Second, 500*time.Millisecond
		if rule.ID == "start/cookie" { // the check waits for the end of the plugin until this timeout
			o.StartTimeout = 3 * time.Second
		}
		c := make(chan outcome, 1)
		results[rule.ID] = c
		go func() {
			turn <- struct{}{}
			r, err := Check(t.Context(), o)
			<-turn
			c <- outcome{r, err}
		}()
	}
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			x := <-results[rule.ID]
			require.NoError(t, x.err)
			if why := rule.applies(); why != "" {
				t.Skipf("on this system the rule is not checked: %s", why)
			}
			require.Len(t, x.report.Results, 1)
			require.Equal(t, Failed, x.report.Results[0].Status, "the mutant is not caught: %s", x.report.Results[0].Reason)
			require.Error(t, x.report.Err())
		})
	}
}

// Rules have distinct ids, and each quotes its section.
func TestQuotes(t *testing.T) {
	sections := document(t)
	seen := map[string]bool{}
	for _, r := range Rules() {
		require.False(t, seen[r.ID], "two rules have the id %s", r.ID)
		seen[r.ID] = true
		require.Less(t, r.Section, len(sections), r.ID)
		require.Contains(t, sections[r.Section], words(r.Text), "%s, section %d", r.ID, r.Section)
	}
}

// references lists, for each reference to a section in PROTOCOL.md and in their order, the words before it and words of the section
// that it means.
var references = []struct{ before, meant string }{
	{"the calls Hello, Open, Close and Stream of section", "**Hello** is the first call"},
	{"SIGNAL, WAIT, AWAIT and CANCEL of section", "| `OPEN` | 0x01 |"},
	{"an extension that a device declares (section", "*Extensions* are optional abilities of a device"},
	{"a feature of the data plane (section", "**`socket`**: streams may run over unix sockets"},
	{"the connection uses TLS, as in section", "The certificate in `PLUGIN_CLIENT_CERT` is a root"},
	{"`socket` and `memfd`, section", "**`memfd`** (Linux, with `socket`)"},
	{"`error` has the reason (section", "The first byte is the form"},
	{"the type of each input (section", "A type is the byte of the element type"},
	{"the body of a NODE command (section", "inputs ids drop uvarint"},
	{"| 0x02 | a node, section", "inputs ids drop uvarint"},
	{"ids of constants, a program, section", "Ids are local to the program"},
	{"the node that failed first (section", "| 1 node | text op, text program"},
	{"ends the stream as in section", "finishes the running command, may drop the rest"},
	{"Everything else is as in section", "A frame from the host contains one or more commands"},
}

// Every reference to a section names the section that it means.
func TestSectionReferences(t *testing.T) {
	sections := document(t)
	text := strings.Join(sections, " ")
	found := regexp.MustCompile(`section (\d)`).FindAllStringSubmatchIndex(text, -1)
	require.Len(t, found, len(references))
	for i, at := range found {
		require.True(t, strings.HasSuffix(text[:at[2]-1], references[i].before), "reference %d: ...%s", i, text[max(0, at[0]-40):at[1]])
		require.Contains(t, sections[int(text[at[2]]-'0')], references[i].meant, references[i].before)
	}
}

// unseen maps each sentence with MUST that no rule quotes to the reason.
var unseen = map[string]string{
	"MUST, MUST NOT and SHOULD are used as in RFC 2119.": "it is no rule",
	"A plugin that does not record MUST NOT measure.":    "a host cannot see it",
}

// Every sentence with MUST is quoted by a rule.
func TestEveryMust(t *testing.T) {
	n := 0
	for i, section := range document(t) {
		for _, m := range regexp.MustCompile(`[^.:]*\bMUST\b[^.]*\.`).FindAllString(section, -1) {
			m = strings.TrimSpace(m)
			if _, ok := unseen[m]; ok {
				continue
			}
			n++
			quoted := slices.ContainsFunc(Rules(), func(r Rule) bool {
				text := words(r.Text)
				return r.Section == i && strings.Contains(text, "MUST") && (strings.Contains(m, strings.TrimSuffix(text, ".")) || strings.Contains(text, m) || overlap(text, m))
			})
			named := regexp.MustCompile(`must not be named`).MatchString(m)
			require.True(t, quoted || named, "section %d: no rule checks %q", i, m)
		}
	}
	require.Greater(t, n, 4)
}

// overlap reports whether m contains the words of text from MUST on: a quotation may begin before m, which is cut at colons.
func overlap(text, m string) bool {
	at := strings.Index(text, "MUST")
	return at >= 0 && strings.Contains(m, text[at:min(len(text), at+25)])
}

// document returns the sections of PROTOCOL.md, from 0, with single spaces.
func document(t *testing.T) (sections []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../sdk/wire/PROTOCOL.md"))
	require.NoError(t, err)
	for _, s := range regexp.MustCompile(`(?m)^## \d+\. `).Split(string(text), -1) {
		sections = append(sections, words(s))
	}
	require.Len(t, sections, 10)
	return sections
}

// words returns s with every run of white space replaced by one space.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestReport(t *testing.T) {
	t.Parallel()
	o := faulty(t, "frames/empty")
	o.Run, o.Patience = regexp.MustCompile(`^(frames/(empty|tag)|start/stdout)$`), 2*time.Second
	var told []string
	o.Progress = func(x Result) { told = append(told, fmt.Sprint(x.ID, " ", x.Status)) }
	r, err := Check(t.Context(), o)
	for ; err == nil && r.Failed > 1 && o.Patience < time.Minute; r, err = Check(t.Context(), o) { // a busy machine answers late
		told, o.Patience = nil, 4*o.Patience
	}
	require.NoError(t, err)
	require.Equal(t, []string{"frames/empty failed", "frames/tag passed", "start/stdout passed"}, told)
	var text, js bytes.Buffer
	require.NoError(t, r.Write(&text))
	require.Regexp(t, `(?m)^FAIL frames/empty: an empty frame: no answer after .*\n    section 4: an empty frame breaks the protocol$`, text.String())
	require.Regexp(t, `protocol 2, fake 1.0: 2 passed, 1 failed, 0 skipped\n$`, text.String())
	require.NoError(t, r.WriteJSON(&js))
	var back Report
	require.NoError(t, json.Unmarshal(js.Bytes(), &back))
	require.Equal(t, r.Results, back.Results)

	_, err = Check(t.Context(), Options{Command: []string{filepath.Join(t.TempDir(), "nothing")}})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Check(t.Context(), Options{})
	require.ErrorContains(t, err, "Command")
}

// A program that is not a plugin breaks the first rules, and Check returns a report all the same.
func TestNoPlugin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho hello\n"), 0o755))
	r, err := Check(t.Context(), Options{Command: []string{path}, Run: regexp.MustCompile("^(start|frames/e)"), StartTimeout: time.Minute})
	require.NoError(t, err)
	require.ErrorContains(t, r.Err(), "rules are broken")
	require.Empty(t, r.Plugin)
}

// A RELEASE is no answer; everything else is.
func TestSilent(t *testing.T) {
	t.Parallel()
	s := &stream{t: &test{}, replies: make(chan reply, 2)}
	s.replies <- reply{tag: replyRelease}
	s.silent(time.Millisecond, "a command")
	s.replies <- reply{tag: replyRelease}
	s.replies <- reply{tag: replyDone, request: 3}
	require.PanicsWithValue(t, failure{"a command: it is answered by DONE of request 3 with no error"}, func() { s.silent(time.Minute, "a command") })
}
