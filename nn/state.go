package nn

import (
	"errors"
	"fmt"
	"path"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// Entry is a tensor of a module's state and its name.
type Entry struct {
	Name   string
	Tensor *tensor.Tensor
}

// StateDict lists the parameters and buffers of m in the order of Params, without those that follow from settings. The tensors
// are the values of the parameters: the caller must not release them, and they are released when a parameter is set. Clone the
// module first to keep them.
func StateDict(m any) []Entry {
	var list []Entry
	for _, p := range Params(m) {
		if !p.Derived() {
			list = append(list, Entry{p.Name, p.Value()})
		}
	}
	return list
}

// Freeze makes parameters constant until Unfreeze: those whose names match a pattern, or all parameters if there are no patterns. In a
// pattern, * matches any characters including dots, ? matches one, and [a-c] a range. It returns the number of parameters that match,
// without buffers. For a pattern without a match the error is core.ErrAttr, and nothing changes.
func Freeze(m any, patterns ...string) (int, error) { return trainable(m, false, patterns) }

// Unfreeze undoes Freeze.
func Unfreeze(m any, patterns ...string) (int, error) { return trainable(m, true, patterns) }

func trainable(m any, on bool, patterns []string) (int, error) {
	fit := map[*Param]bool{}
	if len(patterns) == 0 {
		patterns = []string{"*"}
	}
	var errs []error
	for _, pattern := range patterns {
		before, some := len(fit), false
		for _, p := range Params(m) {
			ok, err := path.Match(pattern, p.Name)
			if err != nil {
				return 0, fmt.Errorf("nn: pattern %q: %w", pattern, err)
			}
			if some = some || ok; ok && !p.Buffer() {
				fit[p.Param] = true
			}
		}
		if !some && len(fit) == before {
			errs = append(errs, fmt.Errorf("nn: pattern %q fits no parameter: nn.Params lists their names: %w", pattern, core.ErrAttr))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	for p := range fit {
		p.SetTrainable(on)
	}
	return len(fit), nil
}
