package nn

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/tensor"
)

// Source provides named tensors to load a module from: a file, or Tensors.
type Source interface {
	// Names returns the names of all tensors.
	Names() []string
	// Tensor reads a tensor onto d. The caller owns the result. For an unknown name the error is core.ErrNotFound.
	Tensor(ctx context.Context, d *tensor.Device, name string) (*tensor.Tensor, error)
}

// Tensors is a Source in memory.
type Tensors map[string]*tensor.Tensor

// Entries returns a state dict as a Source.
func Entries(list []Entry) Tensors {
	t := make(Tensors, len(list))
	for _, e := range list {
		t[e.Name] = e.Tensor
	}
	return t
}

// Names returns the names, sorted.
func (t Tensors) Names() []string {
	var names []string
	for n := range t {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Tensor returns a new handle on the named tensor, copied to d if it is on another device. For an unknown name the error is
// core.ErrNotFound.
func (t Tensors) Tensor(ctx context.Context, d *tensor.Device, name string) (*tensor.Tensor, error) {
	v, ok := t[name]
	if !ok {
		return nil, fmt.Errorf("nn: no tensor %q: %w", name, core.ErrNotFound)
	}
	c, err := v.To(ctx, d)
	if err != nil || c != v {
		return c, err
	}
	return v.Detach(), nil
}

// LoadOptions configures LoadStateDict.
type LoadOptions struct {
	Rename  func(name string) string // maps a parameter of the module to its name in the source; nil keeps the name
	Partial bool                     // parameters that are not in the source keep their values
	Ignore  []string                 // patterns, as for Freeze, of names that need not be in the module: "*.num_batches_tracked" of PyTorch's norms
	Extra   bool                     // the source may have names that are not in the module
}

// LoadReport lists the outcome for each name.
type LoadReport struct {
	Loaded     []string // parameters with new values
	Missing    []string // parameters that are not in the source
	Unexpected []string // names in the source without a parameter
	Mismatched []string // parameters whose shapes differ, with both shapes
}

// String returns the number of loaded parameters, and one line for each other list that is not empty.
func (r *LoadReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d loaded", len(r.Loaded))
	for _, part := range []struct {
		name string
		list []string
	}{{"missing", r.Missing}, {"unexpected", r.Unexpected}, {"of another shape", r.Mismatched}} {
		if len(part.list) > 0 {
			fmt.Fprintf(&b, "\n%d %s: %s", len(part.list), part.name, strings.Join(part.list, ", "))
		}
	}
	return b.String()
}

// LoadStateDict replaces the parameters and buffers of m by the tensors of the same names in src, cast to the parameters' types.
// All tensors are read before the first parameter is replaced: after an error m is unchanged. The report is never nil. If a parameter is
// not in the source, or a name of the source is not in m, the error wraps core.ErrNotFound, unless o allows this. If shapes differ, the
// error wraps core.ErrShape.
func LoadStateDict(ctx context.Context, m any, src Source, o LoadOptions) (*LoadReport, error) {
	r := &LoadReport{}
	left := map[string]bool{}
	for _, n := range src.Names() {
		left[n] = true
	}
	var to []*Param
	var values []*tensor.Tensor
	defer func() {
		for _, v := range values {
			v.Release()
		}
	}()
	for _, p := range paths(m) {
		if p.Derived() {
			continue
		}
		name := pick(p.names, left, o.Rename)
		if name == "" {
			r.Missing = append(r.Missing, p.Name)
			continue
		}
		v, err := src.Tensor(ctx, p.Value().Device(), name)
		if err != nil {
			r.Loaded = nil
			return r, fmt.Errorf("nn: load %s: %w", p.Name, err)
		}
		if !v.Shape().Equal(p.Shape()) {
			r.Mismatched = append(r.Mismatched, fmt.Sprintf("%s is %v, want %v", p.Name, v.Shape(), p.Shape()))
			v.Release()
			continue
		}
		if v.DType() != p.DType() {
			var c *tensor.Tensor
			err := tensor.Try(func() { c = v.Cast(p.DType()) })
			v.Release()
			if err != nil {
				r.Loaded = nil
				return r, fmt.Errorf("nn: load %s: %w", p.Name, err)
			}
			v = c
		}
		r.Loaded, to, values = append(r.Loaded, p.Name), append(to, p.Param), append(values, v)
	}
	for _, n := range src.Names() {
		if left[n] && !o.Extra {
			ok, err := matches(o.Ignore, n)
			if err != nil {
				r.Loaded = nil
				return r, err
			}
			if !ok {
				r.Unexpected = append(r.Unexpected, n)
			}
		}
	}
	if len(r.Mismatched) > 0 || len(r.Unexpected) > 0 || len(r.Missing) > 0 && !o.Partial {
		r.Loaded = nil
		cause := core.ErrShape
		if len(r.Unexpected) > 0 || len(r.Missing) > 0 && !o.Partial {
			if cause = core.ErrNotFound; len(r.Mismatched) > 0 {
				cause = fmt.Errorf("%w, %w", core.ErrNotFound, core.ErrShape)
			}
		}
		return r, fmt.Errorf("nn: load state: %v: rename with LoadOptions.Rename, or allow it with Partial, Extra or Ignore: %w", r, cause)
	}
	given := values
	values = nil // the parameters own them
	for i, p := range to {
		p.Set(given[i])
	}
	return r, nil
}

// paramPaths is a parameter with all paths to it.
type paramPaths struct {
	Named
	names []string
}

func paths(m any) []paramPaths {
	var list []paramPaths
	at := map[*Param]int{}
	every(reflect.ValueOf(m), func(name string, p *Param) {
		i, ok := at[p]
		if !ok {
			i = len(list)
			at[p] = i
			list = append(list, paramPaths{Named: Named{name, p}})
		}
		list[i].names = append(list[i].names, name)
	})
	return list
}

// pick returns the first of a parameter's names that is in the source, "" for none. It removes all of the names from left: tied
// parameters are often stored under each of their names.
func pick(names []string, left map[string]bool, rename func(string) string) (found string) {
	for _, n := range names {
		if rename != nil {
			n = rename(n)
		}
		if found == "" && left[n] {
			found = n
		}
		delete(left, n)
	}
	return found
}

// matches reports whether name matches one of the patterns.
func matches(patterns []string, name string) (bool, error) {
	for _, p := range patterns {
		ok, err := path.Match(p, name)
		if err != nil {
			return false, fmt.Errorf("nn: pattern %q: %w", p, err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}
