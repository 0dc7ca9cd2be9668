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
	explained *explained                  // the backend that prints the report of --explain; nil without the flag
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
		Long: `burn runs, trains, inspects and tests deep-learning models. Its backends are plugins that it finds at run time. The cpu
backend is built in, so nothing has to be installed.

Settings come from three sources. The first that has a value is used:

  1. flags
  2. variables: BURN_ and the name in capitals (BURN_DEVICE, BURN_PLUGIN_MEMORY). BURN_PLUGIN_PATH, BURN_DEV_PLUGINS (NAME=PATH) and
     BURN_OPTIONS (BACKEND.OPTION=VALUE) are lists, separated as in PATH
  3. the file named by BURN_CONFIG, else config.toml in the folder burn of the user's configuration directory:

  device = "cpu"                          # NAME[:INDEX], or with the kind of connection: builtin:cpu:0, process:cpu, shared:npu
  threads = 0                             # threads of a host backend; 0: as many as the process may use
  plugin_path = ["/opt/burn/plugins"]     # folders that are searched for plugins first
  log = "warn"                            # off, error, warn, info, debug, trace
  mirror = "https://example.org/burn"     # folder or URL from which plugins are installed
  mirror_stale = false                    # true: accept an expired or older index of a mirror, for offline copies
  fusion = true                           # repeated ops, such as those of a training step, run as programs; false: op by op
  dev_plugins = {npu = "/src/npu/burn-backend-npu"}     # plugins that precede all others, unchecked
  options = {cpu = {threads_per_stream = "all"}}        # options of backends, as with --option; docs/PLUGINS.md lists those of cpu
  plugin_memory = "8GiB"                  # private memory of a plugin process (Linux); 0: no limit
  plugin_threads = 0                      # threads of a plugin process; 0: as threads
  plugin_files = 0                        # open files of a plugin process (Linux); 0: the limit of the host
  plugin_containment = "on"               # confine plugin processes (docs/SECURITY.md): on, strict, off, or "on except NAME NAME"
  start_timeout = "30s"                   # time limit for the start of a plugin (burn devices: 10s unless set)
  open_timeout = "1m"                     # time limit for opening a device or stream, or "off"
  define_timeout = "5m"                   # time limit for defining a program, or "off"
  heartbeat = "10s"                       # time limit for answering a health check, or "off"
  restart_attempts = 5                    # consecutive starts of a lost plugin
  restart_backoff = "20ms"                # pause before the second start; doubled each time, up to 2s

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
	f.StringVar(&a.flags.config, "config", "", "`FILE` with settings")
	f.StringSliceVar(&a.flags.pluginPath, "plugin-path", nil, "`DIR` to search for plugins first; may be repeated")
	f.StringArrayVar(&a.flags.options, "option", nil, "set an option of a backend: `BACKEND.OPTION=VALUE`; may be repeated")
	f.StringVar(&a.flags.log, "log", "", "`LEVEL` of the log of host and plugins: "+strings.Join(config.Levels, ", "))
	root.AddCommand(a.runCommand(), a.inspectCommand(), a.trainCommand(), a.generateCommand(), a.devicesCommand(), a.conformanceCommand(), a.benchCommand(), a.profileCommand(), a.pluginCommand(), a.doctorCommand(), a.versionCommand(), a.docsCommand())
	root.CompletionOptions.HiddenDefaultCmd = false
	must(root.RegisterFlagCompletionFunc("log", cobra.FixedCompletions(config.Levels, cobra.ShellCompDirectiveNoFileComp)))
	return root
}

// deviceFlags adds the flags that select the device.
func (a *app) deviceFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.device, "device", "", "`DEVICE` to compute on: NAME[:INDEX]; builtin:, process: or shared: before it\n"+
		"selects the connection; router:A+B combines several devices (default \"cpu\")")
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
