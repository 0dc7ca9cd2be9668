package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/internal/plain"
)

// The processes of a trace. Viewers draw each with its own tracks.
const (
	traceHost   = 1
	traceDevice = 2
)

// traceEvent is an event of the Chrome trace event format: "X" has a start and a duration, "M" names a process or a track.
type traceEvent struct {
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	Phase    string         `json:"ph"`
	Start    *float64       `json:"ts,omitempty"`  // µs
	Duration *float64       `json:"dur,omitempty"` // µs
	Process  int            `json:"pid"`
	Track    int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

func spanned(process, track int, name, category string, start, took time.Duration, args map[string]any) traceEvent {
	ts, dur := float64(start.Nanoseconds())/1e3, float64(took.Nanoseconds())/1e3
	return traceEvent{name, category, "X", &ts, &dur, process, track, args}
}

func named(what string, process, track int, name string) traceEvent {
	return traceEvent{Name: what, Phase: "M", Process: process, Track: track, Args: map[string]any{"name": name}}
}

// writeTrace writes the runs on the host, and the steps on each stream of the device. Both clocks start with the recording.
func writeTrace(path string, p *profiled) error {
	return writeFile(path, func(f *os.File) error {
		w := bufio.NewWriter(f)
		head, err := json.Marshal(map[string]string{"model": p.Model, "device": p.Device})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "{\"displayTimeUnit\":\"ns\",\"otherData\":%s,\"traceEvents\":[\n", plain.JSON(head))
		first := true
		var failed error
		put := func(e traceEvent) {
			b, err := json.Marshal(e)
			if err != nil && failed == nil {
				failed = err
			}
			if !first {
				fmt.Fprint(w, ",\n")
			}
			first = false
			_, _ = w.Write(plain.JSON(b)) // Flush returns the error
		}
		put(named("process_name", traceHost, 0, "burn"))
		put(named("thread_name", traceHost, 0, "runs"))
		for i, r := range p.Runs {
			put(spanned(traceHost, 0, fmt.Sprintf("run %d", i), "run", r.Start, r.Duration, nil))
		}
		streams := map[int]bool{}
		for _, r := range p.Records {
			if len(streams) == 0 {
				put(named("process_name", traceDevice, 0, p.Device))
			}
			if !streams[r.Stream] {
				streams[r.Stream] = true
				put(named("thread_name", traceDevice, r.Stream, fmt.Sprintf("stream %d", r.Stream)))
			}
			s := &p.Profile.Steps[r.Step]
			if s.Index == core.WholeRun {
				put(spanned(traceDevice, r.Stream, s.Program, "program", r.Start, r.Duration, nil))
				continue
			}
			args := map[string]any{"ops": s.Ops, "shapes": stepShapes(s)}
			if s.Program != "" {
				args["program"], args["step"] = s.Program, s.Index
			}
			if s.Flops > 0 {
				args["flops"] = s.Flops
			}
			if s.Bytes > 0 {
				args["bytes"] = s.Bytes
			}
			put(spanned(traceDevice, r.Stream, stepName(s), "step", r.Start, r.Duration, args))
		}
		fmt.Fprint(w, "\n]}\n")
		if failed != nil {
			return failed
		}
		return w.Flush()
	})
}
