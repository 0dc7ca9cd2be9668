package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goburn/burn/decorators/router"
	"github.com/goburn/burn/host"
	"github.com/goburn/burn/internal/config"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one invocation of the command.
type app struct {
	env       func(string) string
	in        io.Reader
	out, err  io.Writer
	flags     flags
	config    config.Config
	router    *router.Router              // the router in use; nil for another device
	explained *explained                  // for --explain
	started   bool                        // the command line has been parsed
	asked     func(host.LocalFolder) bool // decides about ./burn_plugins; nil until a user has to be asked
}

// flags are the flags that override the configuration.
type flags struct {
	config     string
	device     string
	threads    int
	pluginPath []string
	log        string
	explain    bool
	options    []string
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "burn",
		Short: "Run deep-learning models on any backend",
		Long: `burn runs, inspects and tests deep-learning models. Its backends are plugins that are found at run time; the cpu
backend is built in, so that nothing has to be installed.

Settings are taken from flags, then from variables (BURN_ and the name in capitals: BURN_DEVICE, BURN_PLUGIN_MEMORY; BURN_PLUGIN_PATH,
BURN_DEV_PLUGINS, of NAME=PATH, and BURN_OPTIONS, of BACKEND.OPTION=VALUE, are separated as in PATH), then from the file that
BURN_CONFIG names or else config.toml in the folder burn of the user's configuration directory:

  device = "cpu"                          # NAME[:INDEX], or with a transport: builtin:cpu:0, process:cpu, shared:npu
  threads = 0                             # of a host backend; 0: as many as the process may use
  plugin_path = ["/opt/burn/plugins"]     # searched for plugins before all other places
  log = "warn"                            # off, error, warn, info, debug, trace
  mirror = "https://example.org/burn"     # folder or address that plugins are installed from
  mirror_stale = false                    # true: take an index that is expired or older than one seen before, of an offline mirror
  fusion = true                           # what eager code repeats, as a training step, runs as programs of the device; false: op by op
  dev_plugins = {npu = "/src/npu/burn-backend-npu"}     # come before all others, unchecked
  options = {cpu = {threads_per_stream = "all"}}        # of backends' own, by their names, as --option; those of cpu are in docs/PLUGINS.md
  plugin_memory = "8GiB"                  # private memory of a plugin process (Linux); 0: no bound
  plugin_threads = 0                      # of a plugin process; 0: as threads
  plugin_files = 0                        # that a plugin process may have open (Linux); 0: no bound of its own
  plugin_containment = "on"               # confine plugin processes (docs/SECURITY.md): on, strict, off, or "on except NAME NAME"
  start_timeout = "30s"                   # in which a plugin has to start (burn devices: 10s unless set)
  open_timeout = "1m"                     # in which it has to open a device or stream, or "off"
  define_timeout = "5m"                   # in which it has to take in a program, or "off"
  heartbeat = "10s"                       # in which a plugin has to show that it is alive, or "off"
  restart_attempts = 5                    # starts of a lost plugin in a row
  restart_backoff = "20ms"                # before the second start in a row; doubled each time, up to 2s

` + exitHelp,
		Example: `  burn run model.onnx --input image=photo.jpg --top 3 --labels labels.txt
  burn inspect model.onnx
  burn devices`,
		SilenceErrors: true,

		DisableSuggestions: true, // method suggestion computes them, for flags and the commands of all levels
		SilenceUsage:       true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			if err := a.configure(cmd.Flags()); err != nil {
				return err
			}
			if !cmd.Hidden {
				a.developmentBanner()
			}
			return nil
		},
	}
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&a.flags.config, "config", "", "`FILE` to read settings from")
	f.StringSliceVar(&a.flags.pluginPath, "plugin-path", nil, "`DIR` to search for plugins first; may be repeated")
	f.StringArrayVar(&a.flags.options, "option", nil, "`BACKEND.OPTION=VALUE` that a backend is opened with; may be repeated")
	f.StringVar(&a.flags.log, "log", "", "what host and plugins report, one `LEVEL` of "+strings.Join(config.Levels, ", "))
	root.AddCommand(a.runCommand(), a.inspectCommand(), a.trainCommand(), a.generateCommand(), a.devicesCommand(), a.conformanceCommand(), a.benchCommand(), a.profileCommand(), a.pluginCommand(), a.doctorCommand(), a.versionCommand(), a.docsCommand())
	root.CompletionOptions.HiddenDefaultCmd = false
	must(root.RegisterFlagCompletionFunc("log", cobra.FixedCompletions(config.Levels, cobra.ShellCompDirectiveNoFileComp)))
	return root
}

// deviceFlags adds the flags that select the device.
func (a *app) deviceFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.device, "device", "", "`DEVICE` to compute on: NAME[:INDEX], with builtin:, process: or shared: before\n"+
		"it to force the transport, or router:A+B for several as one (default \"cpu\")")
	f.IntVar(&a.flags.threads, "threads", 0, "`N` threads for a host backend (default: as many as the process may use)")
	must(cmd.RegisterFlagCompletionFunc("device", a.completeDevices))
}

// configure merges configuration file, environment variables and flags.
func (a *app) configure(f *pflag.FlagSet) error {
	env := a.env
	if a.flags.config != "" { // train has its own --config
		env = func(name string) string {
			if name == "BURN_CONFIG" {
				return a.flags.config
			}
			return a.env(name)
		}
	}
	c, err := config.Load(env)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if f.Changed("device") {
		if a.flags.device == "" {
			return usage("--device: want NAME[:INDEX], got nothing; see burn devices")
		}
		c.Device = a.flags.device
	}
	if f.Changed("threads") {
		if err := config.CheckThreads(a.flags.threads); err != nil {
			return usage("--threads: %w", err)
		}
		c.Threads = a.flags.threads
	}
	if f.Changed("plugin-path") {
		c.PluginPath = a.flags.pluginPath
	}
	if f.Changed("log") {
		if err := config.CheckLog(a.flags.log); err != nil {
			return usage("--log: %w", err)
		}
		c.Log = a.flags.log
	}
	for _, o := range a.flags.options {
		if err := c.SetOption(o); err != nil {
			return usage("--option: %w", err)
		}
	}
	a.config = c
	return nil
}

// terminal reports whether w is a terminal, so that progress may be drawn on it.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// must panics for registrations that fail only by a programming error.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("cli: %v", err))
	}
}
