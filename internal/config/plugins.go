package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plugins limits the resources of plugin processes, and tells how to recover from their loss. Zero values mean the defaults.
type Plugins struct {
	Memory          int64         // bytes of private memory; 0: no bound
	Threads         int           // 0 means Config.Threads
	Files           int           // open files; 0 means the limit of the host
	Containment     string        // "on", "strict" or "off"; empty means on
	Uncontained     []string      // plugins that are not contained, by name
	StartTimeout    time.Duration // time limit to start; 0 means 30 s, and 10 s when all plugins are listed
	OpenTimeout     time.Duration // time limit to open a device or a stream; 0 means a minute; negative, no limit
	DefineTimeout   time.Duration // time limit to define a program; 0 means five minutes; negative, no limit
	Heartbeat       time.Duration // time in which a plugin must answer a liveness request, sent twice in that time; 0 means 10 s; negative, never sent
	RestartAttempts int           // consecutive starts, and tries of one call; 0 means 5
	RestartBackoff  time.Duration // delay before the second consecutive start, doubled before each further one, up to 2 s; 0 means 20 ms
}

const (
	minMemory   = 64 << 20 // less than any plugin needs to start
	minFiles    = 32
	maxFiles    = 1 << 20
	maxAttempts = 1000
	maxPause    = time.Hour
)

// pluginKeys maps the keys of Plugins to their setters. text has the form of a variable; a file may also contain numbers.
var pluginKeys = map[string]func(p *Plugins, text string) error{
	"plugin_memory": func(p *Plugins, text string) (err error) { p.Memory, err = size(text, minMemory); return err },
	"plugin_threads": func(p *Plugins, text string) (err error) {
		p.Threads, err = number(text, 0, maxThreads)
		return err
	},
	"plugin_files": func(p *Plugins, text string) (err error) {
		if p.Files, err = number(text, 0, maxFiles); err == nil && p.Files > 0 && p.Files < minFiles {
			err = fmt.Errorf("want 0 or %d to %d, got %d", minFiles, maxFiles, p.Files)
		}
		return err
	},
	"plugin_containment": func(p *Plugins, text string) error {
		mode, names, ok := strings.Cut(text, " except ")
		if !slices.Contains([]string{"on", "strict", "off"}, mode) || ok && (mode == "off" || strings.TrimSpace(names) == "") {
			return fmt.Errorf("want \"on\", \"strict\" or \"off\", or as \"on except NAME NAME\", got %.100q", text)
		}
		p.Containment, p.Uncontained = mode, nil
		if ok {
			p.Uncontained = strings.Fields(names)
		}
		return nil
	},
	"start_timeout": func(p *Plugins, text string) (err error) {
		p.StartTimeout, err = pause(text, 100*time.Millisecond)
		return err
	},
	"open_timeout": func(p *Plugins, text string) (err error) {
		p.OpenTimeout, err = pauseOrOff(text)
		return err
	},
	"define_timeout": func(p *Plugins, text string) (err error) {
		p.DefineTimeout, err = pauseOrOff(text)
		return err
	},
	"heartbeat": func(p *Plugins, text string) (err error) {
		p.Heartbeat, err = pauseOrOff(text)
		return err
	},
	"restart_attempts": func(p *Plugins, text string) (err error) {
		p.RestartAttempts, err = number(text, 1, maxAttempts)
		return err
	},
	"restart_backoff": func(p *Plugins, text string) (err error) {
		p.RestartBackoff, err = pause(text, time.Millisecond)
		return err
	},
}

// Texts returns the settings as text, by key; unset ones have their defaults.
func (p Plugins) Texts() map[string]string {
	t := map[string]string{"plugin_memory": strconv.FormatInt(p.Memory, 10), "plugin_threads": strconv.Itoa(p.Threads),
		"plugin_files": strconv.Itoa(p.Files), "plugin_containment": "on", "start_timeout": "30s", "open_timeout": "1m0s", "define_timeout": "5m0s",
		"heartbeat": "10s", "restart_attempts": "5", "restart_backoff": "20ms"}
	if p.Containment != "" {
		t["plugin_containment"] = p.Containment
	}
	if len(p.Uncontained) > 0 {
		t["plugin_containment"] += " except " + strings.Join(p.Uncontained, " ")
	}
	for key, d := range map[string]time.Duration{"start_timeout": p.StartTimeout, "open_timeout": p.OpenTimeout,
		"define_timeout": p.DefineTimeout, "heartbeat": p.Heartbeat} {
		switch {
		case d < 0:
			t[key] = "off"
		case d > 0:
			t[key] = d.String()
		}
	}
	if p.RestartAttempts > 0 {
		t["restart_attempts"] = strconv.Itoa(p.RestartAttempts)
	}
	if p.RestartBackoff > 0 {
		t["restart_backoff"] = p.RestartBackoff.String()
	}
	return t
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("want a number from %d to %d, got %q", low, high, text)
	}
	return n, nil
}

// pauseOrOff parses a time limit that can be switched off; it returns a negative value for off.
func pauseOrOff(text string) (time.Duration, error) {
	if text == "off" {
		return -1, nil
	}
	d, err := pause(text, 100*time.Millisecond)
	if err != nil {
		err = fmt.Errorf("%w, or \"off\"", err)
	}
	return d, err
}

func pause(text string, low time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < low || d > maxPause {
		return 0, fmt.Errorf("want a time from %v to %v such as \"1.5s\", got %q", low, maxPause, text)
	}
	return d, nil
}

// units are in the order in which they are tried.
var units = []struct {
	name  string
	shift int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}}

// size parses a number of bytes, with an optional suffix K, M, G or T (powers of 1024, KiB too).
func size(text string, low int64) (int64, error) {
	digits, shift := text, 0
	for _, u := range units {
		if s, ok := strings.CutSuffix(text, u.name); ok {
			digits, shift = strings.TrimSpace(s), u.shift
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift || n > 0 && n<<shift < low {
		return 0, fmt.Errorf("want 0 or at least %d bytes, such as \"4GiB\", got %q", low, text)
	}
	return n << shift, nil
}
