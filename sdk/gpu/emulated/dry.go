package emulated

import "github.com/goburn/burn/sdk/gpu"

// dryWorkspace is the workspace in bytes of a call of a dry library, as large as the workspace of cuBLASLt.
const dryWorkspace = 4 << 20

// dryLibrary has a candidate for every problem, whose call computes nothing.
type dryLibrary struct{}

var _ gpu.Library = dryLibrary{}

func (dryLibrary) Name() string    { return "dry" }
func (dryLibrary) Version() string { return "1" }

func (dryLibrary) Product(gpu.Product) ([]gpu.Candidate, error) {
	return []gpu.Candidate{dryCall{}}, nil
}
func (dryLibrary) Convolution(gpu.Convolution) ([]gpu.Candidate, error) {
	return []gpu.Candidate{dryCall{}}, nil
}
func (dryLibrary) Attention(gpu.Attention) ([]gpu.Candidate, error) {
	return []gpu.Candidate{dryCall{}}, nil
}

type dryCall struct{}

func (dryCall) Name() string          { return "dry" }
func (dryCall) Workspace() int64      { return dryWorkspace }
func (dryCall) Ready([]gpu.Ref) error { return nil }
func (dryCall) Close()                {}

// Call checks that the operands are allocated memory.
func (dryCall) Call(q gpu.Queue, args []gpu.Ref, workspace gpu.Ref) error {
	d := q.(*queue).device
	for _, r := range args {
		if _, err := d.at(r, 0); err != nil {
			return err
		}
	}
	_, err := d.at(workspace, dryWorkspace)
	return err
}

// dry checks that the operands of a launch are allocated memory.
func (q *queue) dry(l *gpu.Launch) error {
	params := l.Function.Kernel().Arguments()
	for i, a := range l.Args {
		if !params[i].IsBuffer() {
			continue
		}
		if _, err := q.device.at(a.Ref, 0); err != nil {
			return err
		}
	}
	return nil
}
