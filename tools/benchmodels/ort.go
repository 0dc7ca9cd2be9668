package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

//go:embed ort.py
var script string

// ort is a Python process that times ONNX Runtime.
type ort struct {
	version string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

type ortRequest struct {
	Model   string  `json:"model"`
	Data    string  `json:"data"`
	Threads int     `json:"threads"`
	Seconds float64 `json:"seconds"`
	Out     string  `json:"out"`
}

type ortAnswer struct {
	Version string   `json:"version"`
	Runs    int      `json:"runs"`
	Median  float64  `json:"median_us"`
	Outputs []string `json:"outputs"`
	Error   string   `json:"error"`
}

func startORT(python string) (*ort, error) {
	o := &ort{cmd: exec.Command(python, "-c", script)}
	o.cmd.Stderr = os.Stderr
	var err error
	if o.in, err = o.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	o.out = bufio.NewScanner(out)
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	hello, err := o.read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w; it needs the packages onnx and onnxruntime", python, err)
	}
	o.version = hello.Version
	return o, nil
}

func (o *ort) read() (ortAnswer, error) {
	var a ortAnswer
	if !o.out.Scan() {
		if err := o.out.Err(); err != nil {
			return a, err
		}
		return a, io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(o.out.Bytes(), &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, fmt.Errorf("onnxruntime: %s", a.Error)
	}
	return a, nil
}

func (o *ort) time(r ortRequest) (ortAnswer, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return ortAnswer{}, err
	}
	if _, err := o.in.Write(append(b, '\n')); err != nil {
		return ortAnswer{}, err
	}
	return o.read()
}

func (o *ort) close() {
	_ = o.in.Close()
	_ = o.cmd.Wait()
}
