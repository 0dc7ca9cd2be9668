package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestPrecedence(t *testing.T) {
	path := write(t, "device = \"process:cpu\"\nthreads = 3\nplugin_path = [\"/a\", \"/b\"]\nlog = \"debug\"\n")
	c, err := Load(environ("BURN_CONFIG", path))
	require.NoError(t, err)
	require.Equal(t, Config{Device: "process:cpu", Threads: 3, PluginPath: []string{"/a", "/b"}, Log: "debug", Fusion: true, File: path}, c)

	c, err = Load(environ("BURN_CONFIG", path, "BURN_DEVICE", "cuda:1", "BURN_THREADS", "0", "BURN_LOG", "off",
		"BURN_PLUGIN_PATH", "/c"+string(os.PathListSeparator)+"/d"))
	require.NoError(t, err)
	require.Equal(t, Config{Device: "cuda:1", PluginPath: []string{"/c", "/d"}, Log: "off", Fusion: true, File: path}, c)

	c, err = Load(environ("BURN_CONFIG", write(t, "threads = 2\n"), "BURN_DEVICE", "x"))
	require.NoError(t, err)
	require.Equal(t, "x", c.Device)
	require.Equal(t, 2, c.Threads)
	require.Equal(t, "warn", c.Log)
}

func TestPlugins(t *testing.T) {
	path := write(t, "mirror = \"/mirror\"\nmirror_stale = true\n[dev_plugins]\ncpu = \"/a/cpu\"\n")
	c, origins, err := Trace(environ("BURN_CONFIG", path, "BURN_LOG", "off"))
	require.NoError(t, err)
	require.Equal(t, "/mirror", c.Mirror)
	require.True(t, c.MirrorStale)
	require.Equal(t, map[string]string{"cpu": "/a/cpu"}, c.DevPlugins)
	require.Equal(t, map[string]string{"device": "default", "threads": "default", "plugin_path": "default", "log": "BURN_LOG",
		"mirror": path, "mirror_stale": path, "fusion": "default", "dev_plugins": path, "options": "default", "plugin_memory": "default", "plugin_threads": "default", "plugin_files": "default", "plugin_containment": "default",
		"start_timeout": "default", "open_timeout": "default", "define_timeout": "default", "heartbeat": "default", "restart_attempts": "default", "restart_backoff": "default"}, origins)
	c, origins, err = Trace(environ("BURN_CONFIG", path, "BURN_MIRROR", "https://example.org/m", "BURN_DEV_PLUGINS",
		"x=/x"+string(os.PathListSeparator)+"y=/y=z"))
	require.NoError(t, err)
	require.Equal(t, "https://example.org/m", c.Mirror)
	require.Equal(t, map[string]string{"x": "/x", "y": "/y=z"}, c.DevPlugins)
	require.Equal(t, "BURN_DEV_PLUGINS", origins["dev_plugins"])
	require.Equal(t, "BURN_MIRROR", origins["mirror"])
	c, err = Load(environ("BURN_CONFIG", path, "BURN_MIRROR_STALE", "false"))
	require.NoError(t, err)
	require.False(t, c.MirrorStale)
	_, err = Load(environ("BURN_MIRROR_STALE", "maybe"))
	require.ErrorContains(t, err, `BURN_MIRROR_STALE: want true or false, got "maybe"`)
}

func TestUserConfigDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("AppData", filepath.Join(home, "AppData"))
	c, err := Load(environ())
	require.NoError(t, err)
	require.Equal(t, Default(), c)

	dir, err := os.UserConfigDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "burn"), 0o700))
	path := filepath.Join(dir, "burn", "config.toml")
	require.NoError(t, os.WriteFile(path, []byte("threads = 7"), 0o600))
	c, err = Load(environ())
	require.NoError(t, err)
	require.Equal(t, 7, c.Threads)
	require.Equal(t, path, c.File)
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string // after the path
	}{
		"unknown key":         {"device = \"cpu\"\n\n# a comment\nthread = 3\n", ":4: unknown key \"thread\", want one of device, threads, "},
		"near a key":          {"thread = 3\n", "restart_backoff; did you mean \"threads\"?"},
		"near a level":        {"log = \"wran\"\n", ":1: log: want one of off, error, warn, info, debug, trace, got \"wran\"; did you mean \"warn\"?"},
		"options":             {"options = 3\n", ":1: options: want a table of BACKEND = {OPTION = VALUE}"},
		"options of none":     {"[options]\nmemory_limit = \"1G\"\n", ":1: options: want a table of BACKEND"},
		"a list of options":   {"[options.cpu]\nmemory_limit = [1]\n", ":1: options: want a table of BACKEND"},
		"unknown long value":  {"threads = 1\nnames = [\n  \"a\",\n  \"b\",\n]\nlog = \"off\"\n", ":2: unknown key \"names\""},
		"unknown table":       {"threads = 1\n[cpu]\nthreads = 3\n", ":2: unknown key \"cpu\""},
		"misspelt in a table": {"[log]\nlevel = \"off\"\n", ":1: log: want one of off"},
		"wrong type":          {"device = \"cpu\"\nthreads = \"two\"\n", ":2: threads: want a number, got two"},
		"no TOML":             {"device = cpu\n", ":1: device: "},
		"negative threads":    {"\n\nthreads = -1\n", ":3: threads: want 0 to 4096, got -1"},
		"empty device":        {"device = \"\"", ":1: device: want a device"},
		"empty folder":        {"plugin_path = [\"\"]", ":1: plugin_path: want a list of folders"},
		"mirror":              {"mirror = 3", ":1: mirror: want a folder or address"},
		"mirror_stale":        {"mirror_stale = \"yes\"", ":1: mirror_stale: want true or false"},
		"dev_plugins":         {"dev_plugins = \"x\"", ":1: dev_plugins: want a table"},
		"a dev plugin":        {"log = \"off\"\n[dev_plugins]\nx = 1", ":2: dev_plugins: want a table"},
		"level":               {"log = \"loud\"", ":1: log: want one of off, error, warn, info, debug, trace, got \"loud\""},
		"huge":                {strings.Repeat("#", 1<<16+1), ": refused: want at most 65536 bytes, got 65537"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.text)
			_, err := Load(environ("BURN_CONFIG", path))
			require.ErrorContains(t, err, "config: "+path)
			require.ErrorContains(t, err, c.want)
		})
	}
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"threads":  {[]string{"BURN_THREADS", "many"}, "config: BURN_THREADS: want a number, got \"many\""},
		"negative": {[]string{"BURN_THREADS", "-2"}, "config: BURN_THREADS: want 0 to 4096, got -2"},
		"options":  {[]string{"BURN_OPTIONS", "memory_limit=1G"}, "want BACKEND.OPTION=VALUE, got \"memory_limit=1G\""},
		"dev":      {[]string{"BURN_DEV_PLUGINS", "x"}, "config: BURN_DEV_PLUGINS: want NAME=PATH"},
		"level":    {[]string{"BURN_LOG", "x"}, "config: BURN_LOG: want one of off, error"},
	} {
		t.Run("variable "+name, func(t *testing.T) {
			_, err := Load(environ(append(c.env, "BURN_CONFIG", write(t, ""))...))
			require.ErrorContains(t, err, c.want)
		})
	}
	missing := filepath.Join(t.TempDir(), "none.toml")
	_, err := Load(environ("BURN_CONFIG", missing))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, missing)
}

func TestPluginLimits(t *testing.T) {
	path := write(t, "plugin_memory = \"2GiB\"\nplugin_threads = 3\nplugin_files = 64\nheartbeat = \"off\"\nrestart_attempts = 2\nrestart_backoff = \"1s\"\n")
	c, err := Load(environ("BURN_CONFIG", path))
	require.NoError(t, err)
	require.Equal(t, Plugins{Memory: 2 << 30, Threads: 3, Files: 64, Heartbeat: -1, RestartAttempts: 2, RestartBackoff: time.Second}, c.Plugins)
	c, origins, err := Trace(environ("BURN_CONFIG", path, "BURN_PLUGIN_MEMORY", "536870912", "BURN_HEARTBEAT", "1.5s", "BURN_RESTART_ATTEMPTS", "9"))
	require.NoError(t, err)
	require.Equal(t, Plugins{Memory: 512 << 20, Threads: 3, Files: 64, Heartbeat: 1500 * time.Millisecond, RestartAttempts: 9, RestartBackoff: time.Second}, c.Plugins)
	require.Equal(t, "BURN_HEARTBEAT", origins["heartbeat"])
	require.Equal(t, map[string]string{"plugin_memory": "536870912", "plugin_threads": "3", "plugin_files": "64", "plugin_containment": "on", "heartbeat": "1.5s",
		"start_timeout": "30s", "open_timeout": "1m0s", "define_timeout": "5m0s", "restart_attempts": "9", "restart_backoff": "1s"}, c.Plugins.Texts())
	for key, bad := range map[string][]string{"plugin_memory": {"1K", "-1", "x", "9999999999999T", "1.5GiB"}, "plugin_threads": {"-1", "4097", "x"},
		"plugin_containment": {"yes", "off except cpu", "on except ", "on,cpu"}, "plugin_files": {"1", "31", "2000000"}, "heartbeat": {"1ms", "0s", "2h", "never"}, "restart_attempts": {"0", "1001"}, "restart_backoff": {"0s", "-1s", "3"},
		"start_timeout": {"off", "0s", "1"}, "open_timeout": {"0s", "never"}, "define_timeout": {"0s", "2h"}} {
		for _, v := range bad {
			_, err := Load(environ("BURN_CONFIG", write(t, "log = \"off\"\n"), Variable(key), v))
			require.ErrorContains(t, err, Variable(key)+": want", v)
			p := write(t, "\n"+key+" = \""+v+"\"\n")
			_, err = Load(environ("BURN_CONFIG", p))
			require.ErrorContains(t, err, p+":2: "+key+": want")
		}
	}
	_, err = Load(environ("BURN_CONFIG", write(t, "heartbeat = [1]\n")))
	require.ErrorContains(t, err, "heartbeat: want a number or a text")
}

func TestTimeouts(t *testing.T) {
	path := write(t, "start_timeout = \"2m\"\nopen_timeout = \"off\"\ndefine_timeout = \"20m\"\n")
	c, err := Load(environ("BURN_CONFIG", path, "BURN_OPEN_TIMEOUT", "90s"))
	require.NoError(t, err)
	require.Equal(t, Plugins{StartTimeout: 2 * time.Minute, OpenTimeout: 90 * time.Second, DefineTimeout: 20 * time.Minute}, c.Plugins)
	c, err = Load(environ("BURN_CONFIG", path))
	require.NoError(t, err)
	require.Negative(t, c.Plugins.OpenTimeout)
	require.Equal(t, "off", c.Plugins.Texts()["open_timeout"])
}

func TestOptions(t *testing.T) {
	path := write(t, "[options.cpu]\nthreads_per_stream = \"all\"\nidle_limit = 0\n[options.npu]\nfast = true\n")
	c, err := Load(environ("BURN_CONFIG", path))
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]string{"cpu": {"threads_per_stream": "all", "idle_limit": "0"}, "npu": {"fast": "true"}}, c.Options)
	c, err = Load(environ("BURN_CONFIG", path, "BURN_OPTIONS", "cpu.memory_limit=1G"+string(os.PathListSeparator)+"npu.a=b=c"))
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]string{"cpu": {"memory_limit": "1G"}, "npu": {"a": "b=c"}}, c.Options)
}

func TestContainment(t *testing.T) {
	for text, want := range map[string]Plugins{"on": {Containment: "on"}, "strict": {Containment: "strict"}, "off": {Containment: "off"},
		"strict except numpy npu": {Containment: "strict", Uncontained: []string{"numpy", "npu"}}} {
		c, err := Load(environ("BURN_CONFIG", write(t, "plugin_containment = \""+text+"\"\n")))
		require.NoError(t, err)
		require.Equal(t, want, c.Plugins)
		require.Equal(t, text, c.Plugins.Texts()["plugin_containment"])
		c, err = Load(environ("BURN_CONFIG", write(t, ""), "BURN_PLUGIN_CONTAINMENT", text))
		require.NoError(t, err)
		require.Equal(t, want, c.Plugins)
	}
}
