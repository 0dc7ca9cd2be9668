package conformance

import (
	"encoding/xml"
	"io"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     float64      `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      float64     `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    float64       `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as JUnit XML, with a test suite for each op and for each group of contract cases. Every selected case
// is a test. An expected failure is written as a skipped test, and a case that did not run as an error.
func (r *Report) WriteJUnit(w io.Writer) error {
	missed := r.missed()
	all := junitSuites{Name: "burn conformance " + r.Backend.Name, Tests: len(r.Results) + len(missed), Failures: r.Failed, Errors: len(missed),
		Skipped: r.Skipped + r.Expected, Time: r.Duration.Seconds()}
	at := map[string]int{}
	in := func(id string) (*junitSuite, junitCase) {
		group, name, _ := strings.Cut(id, "/")
		k, ok := at[group]
		if !ok {
			k = len(all.Suites)
			at[group] = k
			all.Suites = append(all.Suites, junitSuite{Name: group, Timestamp: r.Started.Format("2006-01-02T15:04:05")})
		}
		all.Suites[k].Tests++
		return &all.Suites[k], junitCase{Class: "conformance." + group, Name: name}
	}
	for i := range r.Results {
		x := &r.Results[i]
		s, c := in(x.ID)
		c.Time = x.Duration.Round(time.Microsecond).Seconds()
		s.Time += c.Time
		first, _, _ := strings.Cut(x.Reason, "\n")
		switch x.Status {
		case Failed:
			s.Failures++
			c.Failure = &junitMessage{legal(first), legal(x.text())}
		case Skipped:
			s.Skipped++
			c.Skipped = &junitMessage{Message: legal(first)}
		case Expected:
			s.Skipped++
			c.Skipped = &junitMessage{Message: legal("failed as expected: " + first)}
		}
		s.Cases = append(s.Cases, c)
	}
	for _, id := range missed {
		s, c := in(id)
		s.Errors++
		c.Error = &junitMessage{Message: "not run: the run ended before it"}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// legal replaces characters that XML does not allow.
func legal(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x20 && c != '\n' && c != '\t' || c == 0xfffe || c == 0xffff {
			return '\ufffd'
		}
		return c
	}, s)
}
