// Package config reads the settings of the burn command: a TOML file in the user's configuration directory, overridden by the BURN_*
// variables. Command-line flags override both; package internal/cli applies them, not this package.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/goburn/burn/internal/nearest"
	"github.com/goburn/burn/internal/tomlfile"
)

// Config holds the settings that can be made outside the command line.
type Config struct {
	Device     string   // spec of the device to use if none is named
	Threads    int      // threads of a host backend; 0 for as many as the process may use
	PluginPath []string // folders that are searched for plugins before all others
	Log        string   // log level of plugins and the host: one of Levels
	Mirror     string   // folder or address that plugins are installed from
	// MirrorStale accepts an index of an offline mirror that has expired or is older than one seen before.
	MirrorStale bool
	// Fusion executes repeated sequences of eager ops as programs (package decorators/fusion). It is on by default.
	Fusion bool
	// DevPlugins maps names to paths of plugins that take precedence over all others and are not verified.
	DevPlugins map[string]string
	// Options are backend-specific settings, by backend and name.
	Options map[string]map[string]string
	Plugins Plugins
	File    string // path of the file, empty if there is none
}

// Keys lists the keys of a configuration file.
var Keys = []string{"device", "threads", "plugin_path", "log", "mirror", "mirror_stale", "fusion", "dev_plugins", "options",
	"plugin_memory", "plugin_threads", "plugin_files", "plugin_containment", "start_timeout", "open_timeout", "define_timeout", "heartbeat", "restart_attempts", "restart_backoff"}

// Variable returns the environment variable that overrides a key.
func Variable(key string) string { return "BURN_" + strings.ToUpper(key) }

// Levels are the legal values of Config.Log, from no output to the most.
var Levels = []string{"off", "error", "warn", "info", "debug", "trace"}

// Default returns the configuration without file and variables.
func Default() Config { return Config{Device: "cpu", Log: "warn", Fusion: true} }

// maxThreads exceeds the number of threads of any machine, and is low enough not to exhaust one.
const maxThreads = 1 << 12

// Path returns the path of the configuration file: the value of BURN_CONFIG, else burn/config.toml in the user's configuration
// directory. It is empty if the system names no such directory. must tells that the file has to exist.
func Path(env func(string) string) (path string, must bool) {
	if p := env("BURN_CONFIG"); p != "" {
		return p, true
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", false
	}
	return filepath.Join(dir, "burn", "config.toml"), false
}

// Load reads the file at Path, if it exists, and overrides it by the variables of Keys. Errors name the file and line, or the
// variable.
func Load(env func(string) string) (Config, error) {
	c, _, err := Trace(env)
	return c, err
}

// Trace is like Load, and also returns the source of each of Keys: a file, a variable, or "default".
func Trace(env func(string) string) (Config, map[string]string, error) {
	c := Default()
	origins := map[string]string{}
	for _, k := range Keys {
		origins[k] = "default"
	}
	if path, must := Path(env); path != "" {
		keys, err := c.read(path, must)
		if err != nil {
			return c, origins, err
		}
		for _, k := range keys {
			origins[k] = path
		}
	}
	if err := c.readVariables(env); err != nil {
		return c, origins, err
	}
	for _, k := range Keys {
		if v := Variable(k); env(v) != "" {
			origins[k] = v
		}
	}
	return c, origins, nil
}

// readVariables applies the environment variables.
func (c *Config) readVariables(env func(string) string) error {
	if v := env("BURN_DEVICE"); v != "" {
		c.Device = v
	}
	if v := env("BURN_THREADS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("config: BURN_THREADS: want a number, got %q", v)
		}
		if err := CheckThreads(n); err != nil {
			return fmt.Errorf("config: BURN_THREADS: %w", err)
		}
		c.Threads = n
	}
	if v := env("BURN_PLUGIN_PATH"); v != "" {
		c.PluginPath = filepath.SplitList(v)
	}
	if v := env("BURN_LOG"); v != "" {
		if err := CheckLog(v); err != nil {
			return fmt.Errorf("config: BURN_LOG: %w", err)
		}
		c.Log = v
	}
	if v := env("BURN_MIRROR"); v != "" {
		c.Mirror = v
	}
	for key, to := range map[string]*bool{"mirror_stale": &c.MirrorStale, "fusion": &c.Fusion} {
		v := env(Variable(key))
		if v == "" {
			continue
		}
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("config: %s: want true or false, got %q", Variable(key), v)
		}
		*to = b
	}
	if v := env("BURN_DEV_PLUGINS"); v != "" {
		c.DevPlugins = map[string]string{}
		for _, pair := range filepath.SplitList(v) {
			name, path, ok := strings.Cut(pair, "=")
			if !ok || name == "" || path == "" {
				return fmt.Errorf("config: BURN_DEV_PLUGINS: want NAME=PATH, several separated by %q, got %q", string(os.PathListSeparator), pair)
			}
			c.DevPlugins[name] = path
		}
	}
	if v := env("BURN_OPTIONS"); v != "" {
		c.Options = map[string]map[string]string{}
		for _, part := range filepath.SplitList(v) {
			if err := c.SetOption(part); err != nil {
				return fmt.Errorf("config: BURN_OPTIONS, several separated by %q: %w", string(os.PathListSeparator), err)
			}
		}
	}
	for _, key := range Keys {
		if set := pluginKeys[key]; set != nil && env(Variable(key)) != "" {
			if err := set(&c.Plugins, env(Variable(key))); err != nil {
				return fmt.Errorf("config: %s: %w", Variable(key), err)
			}
		}
	}
	return nil
}

// SetOption sets one of Options, given as BACKEND.OPTION=VALUE.
func (c *Config) SetOption(text string) error {
	key, value, ok := strings.Cut(text, "=")
	backend, name, dot := strings.Cut(key, ".")
	if !ok || !dot || backend == "" || name == "" || value == "" {
		return fmt.Errorf("want BACKEND.OPTION=VALUE, got %q", text)
	}
	c.option(backend, name, value)
	return nil
}

// option sets one of Options.
func (c *Config) option(backend, name, value string) {
	if c.Options == nil {
		c.Options = map[string]map[string]string{}
	}
	if c.Options[backend] == nil {
		c.Options[backend] = map[string]string{}
	}
	c.Options[backend][name] = value
}

// setOptions sets the options from a table that has a table for each backend.
func (c *Config) setOptions(v any) bool {
	c.Options = map[string]map[string]string{}
	all, ok := v.(map[string]any)
	for backend, of := range all {
		table, is := of.(map[string]any)
		ok = ok && is
		for name, e := range table {
			switch e.(type) {
			case string, int64, float64, bool:
				c.option(backend, name, fmt.Sprint(e))
			default:
				ok = false
			}
		}
	}
	return ok
}

// read reads the file, and returns the keys in it.
func (c *Config) read(path string, must bool) (keys []string, err error) {
	text, err := tomlfile.Read(path, tomlfile.Settings.Bytes)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	c.File = path
	doc := map[string]any{}
	md, err := tomlfile.Decode(tomlfile.Settings, text, &doc)
	var pe toml.ParseError
	if errors.As(err, &pe) {
		what := pe.Message
		if pe.LastKey != "" {
			what = pe.LastKey + ": " + what
		}
		return nil, fmt.Errorf("config: %s:%d: %s", path, pe.Position.Line, what)
	} else if err != nil {
		return nil, fmt.Errorf("config: %s: %w", path, err)
	}
	lines := tomlfile.Lines(text)
	for _, key := range md.Keys() { // in the order of the file
		if slices.Contains(keys, key[0]) {
			continue // inside a table, which is checked as a whole
		}
		if err := c.set(key[0], doc[key[0]]); err != nil {
			return nil, fmt.Errorf("config: %s:%d: %w", path, lines[key[0]], err)
		}
		keys = append(keys, key[0])
	}
	return keys, nil
}

func (c *Config) set(key string, v any) error {
	wrong := func(want string) error { return fmt.Errorf("%s: want %s, got %v", key, want, v) }
	switch key {
	case "device":
		s, ok := v.(string)
		if !ok || s == "" {
			return wrong("a device such as \"cpu\"")
		}
		c.Device = s
	case "threads":
		n, ok := v.(int64)
		if !ok {
			return wrong("a number")
		}
		if err := CheckThreads(int(n)); err != nil {
			return fmt.Errorf("threads: %w", err)
		}
		c.Threads = int(n)
	case "plugin_path":
		list, ok := v.([]any)
		if !ok {
			return wrong("a list of folders")
		}
		c.PluginPath = nil
		for _, e := range list {
			s, ok := e.(string)
			if !ok || s == "" {
				return wrong("a list of folders")
			}
			c.PluginPath = append(c.PluginPath, s)
		}
	case "log":
		s, _ := v.(string)
		if err := CheckLog(s); err != nil {
			return fmt.Errorf("log: %w", err)
		}
		c.Log = s
	case "mirror":
		s, ok := v.(string)
		if !ok || s == "" {
			return wrong("a folder or address")
		}
		c.Mirror = s
	case "mirror_stale", "fusion":
		b, ok := v.(bool)
		if !ok {
			return wrong("true or false")
		}
		if key == "fusion" {
			c.Fusion = b
		} else {
			c.MirrorStale = b
		}
	case "dev_plugins":
		table, ok := v.(map[string]any)
		if !ok {
			return wrong("a table of NAME = \"PATH\"")
		}
		c.DevPlugins = map[string]string{}
		for name, e := range table {
			s, ok := e.(string)
			if !ok || s == "" {
				return wrong("a table of NAME = \"PATH\"")
			}
			c.DevPlugins[name] = s
		}
	case "options":
		if !c.setOptions(v) {
			return wrong("a table of BACKEND = {OPTION = VALUE}")
		}
	default:
		if set := pluginKeys[key]; set != nil {
			switch v.(type) {
			case string, int64:
			default:
				return wrong("a number or a text")
			}
			if err := set(&c.Plugins, fmt.Sprint(v)); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		}
		return fmt.Errorf("unknown key %q, want one of %s%s", key, strings.Join(Keys, ", "), nearest.Hint(key, Keys))
	}
	return nil
}

// CheckThreads refuses numbers that are not a sensible thread count.
func CheckThreads(n int) error {
	if n < 0 || n > maxThreads {
		return fmt.Errorf("want 0 to %d, got %d", maxThreads, n)
	}
	return nil
}

// CheckLog refuses values that are not in Levels.
func CheckLog(level string) error {
	if !slices.Contains(Levels, level) {
		return fmt.Errorf("want one of %s, got %q%s", strings.Join(Levels, ", "), level, nearest.Hint(level, Levels))
	}
	return nil
}
