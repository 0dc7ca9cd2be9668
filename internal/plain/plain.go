// Package plain makes untrusted text safe to print. Commands and packages pass text through it before they print it or put it into an
// error: names, versions, labels, logs and errors from plugins, models, mirrors and files. Characters that would move the cursor, start a
// line, colour, hide or reverse text are printed as escapes: \n, \x1b, \u202e.
package plain

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unsafe reports whether printing r does anything other than show a character. The two zero-width joiners are safe: scripts and
// emoji need them.
func unsafe(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Text returns s escaped, on one line.
func Text(s string) string { return escape(s, "") }

// Lines escapes s like Text, but keeps line breaks.
func Lines(s string) string { return escape(s, "\n") }

// Log escapes a line of a log like Text, with tabs replaced by spaces.
func Log(s string) string { return Text(strings.ReplaceAll(s, "\t", "    ")) }

func escape(s, keep string) string {
	clean := func(r rune, size int) bool {
		return strings.ContainsRune(keep, r) || !unsafe(r) && (r != utf8.RuneError || size > 1)
	}
	at := 0
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if !clean(r, size) {
			break
		}
		at += size
	}
	if at == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:at])
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		switch {
		case clean(r, size):
			b.WriteString(s[at : at+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf || r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[at])
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		at += size
	}
	return b.String()
}

// JSON returns an equivalent JSON document whose strings are safe to print.
func JSON(doc []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(doc) {
		switch {
		case r == '\n' || !unsafe(r):
			b.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// Fprintf is like fmt.Fprintf with its arguments escaped by Text, so that line breaks, tabs and colours can come only from the format.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	safe := make([]any, len(args))
	for i, a := range args {
		safe[i] = argument(a)
	}
	return fmt.Fprintf(w, format, safe...)
}

// argument wraps arguments that may contain text. Numbers stay unwrapped, as one may be a width.
func argument(a any) any {
	switch reflect.ValueOf(a).Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return a
	}
	return text{a}
}

type text struct{ a any }

func (t text) Format(s fmt.State, verb rune) {
	_, _ = io.WriteString(s, Text(fmt.Sprintf(fmt.FormatString(s, verb), t.a)))
}
