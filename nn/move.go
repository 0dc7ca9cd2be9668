package nn

import (
	"context"
	"fmt"
	"reflect"

	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/tensor"
)

// Map replaces each parameter and buffer of m by the result of f, which may be the same tensor. f must not release its argument.
// Nothing is recorded for gradients.
func Map(m any, f func(name string, t *tensor.Tensor) *tensor.Tensor) {
	for _, p := range Params(m) {
		next := tensor.NoGrad(p.Value().Device(), func(d *tensor.Device) []*tensor.Tensor {
			in := p.Value().In(d)
			if out := f(p.Name, in); out != in {
				return []*tensor.Tensor{out}
			}
			return nil
		})
		if next != nil {
			p.Set(next[0])
		}
	}
}

// Cast changes the type of the floating-point parameters and buffers of m in place.
func Cast(m any, dt dtype.DType) {
	Map(m, func(_ string, t *tensor.Tensor) *tensor.Tensor {
		if !t.DType().IsFloat() {
			return t
		}
		return t.Cast(dt)
	})
}

// To moves m to another device in place. Frozen parameters stay frozen. After an error some tensors are moved and some are not.
func To(ctx context.Context, m any, d *tensor.Device) error {
	for _, p := range Params(m) {
		t, err := p.Value().To(ctx, d)
		if err != nil {
			return fmt.Errorf("nn: move %s to %s: %w", p.Name, d, err)
		}
		p.Set(t)
	}
	return nil
}

// Clone returns a deep copy of m: the modules, their settings and parameters; tied parameters stay tied. Fields with the tag
// nn:"-" and unexported pointers are shared. Memory is shared until one of the two is changed.
func Clone[M any](m M) M {
	c, _ := fork(m, func(t *tensor.Tensor) (*tensor.Tensor, error) { return t.Detach(), nil }) // cannot fail
	return c
}

// Fork returns a Clone on another device.
func Fork[M any](ctx context.Context, m M, d *tensor.Device) (M, error) {
	return fork(m, func(t *tensor.Tensor) (*tensor.Tensor, error) {
		c, err := t.To(ctx, d)
		if err == nil && c == t {
			c = t.Detach()
		}
		return c, err
	})
}

// Inference returns a clone of m in inference mode whose parameters are all constants, so that nothing is recorded.
func Inference[M any](m M) M {
	c := Clone(m)
	Eval(c)
	for _, p := range Params(c) {
		p.SetTrainable(false)
	}
	return c
}

// copier creates one deep copy.
type copier struct {
	made map[any]reflect.Value // by pointer of the original
	copy func(t *tensor.Tensor) (*tensor.Tensor, error)
	err  error
}

func fork[M any](m M, f func(t *tensor.Tensor) (*tensor.Tensor, error)) (M, error) {
	c := &copier{made: map[any]reflect.Value{}, copy: f}
	var to M
	v := reflect.New(reflect.TypeFor[M]()).Elem()
	v.Set(reflect.ValueOf(&m).Elem())
	c.deepen(v)
	if c.err != nil {
		return to, c.err
	}
	return v.Interface().(M), nil
}

func (c *copier) param(p *Param) *Param {
	t, err := c.copy(p.value)
	if err != nil {
		c.err = fmt.Errorf("nn: copy a parameter %v: %w", p.Shape(), err)
		return p
	}
	q := &Param{buffer: p.buffer, derived: p.derived, frozen: p.frozen}
	q.Set(t)
	return q
}

// deepen replaces everything that v, a settable copy, shares with the original.
func (c *copier) deepen(v reflect.Value) {
	if c.err != nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct || v.Type() == reflect.TypeFor[*tensor.Tensor]() || v.Type() == reflect.TypeFor[*tensor.Device]() {
			return
		}
		if made, ok := c.made[v.Interface()]; ok {
			v.Set(made)
			return
		}
		old := v.Interface()
		if p, ok := old.(*Param); ok {
			c.made[old] = reflect.ValueOf(c.param(p))
			v.Set(c.made[old])
			return
		}
		next := reflect.New(v.Type().Elem())
		next.Elem().Set(v.Elem())
		c.made[old] = next
		v.Set(next)
		c.deepen(next.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if (field.IsExported() || field.Anonymous) && field.Tag.Get("nn") != "-" && v.Field(i).CanSet() || field.Anonymous && field.Type.Kind() == reflect.Struct {
				c.deepen(v.Field(i))
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			e := reflect.New(v.Elem().Type()).Elem()
			e.Set(v.Elem())
			c.deepen(e)
			v.Set(e)
		}
	case reflect.Slice:
		if !v.IsNil() {
			s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(s, v)
			v.Set(s)
			c.each(s)
		}
	case reflect.Array:
		c.each(v)
	case reflect.Map:
		if !v.IsNil() {
			s := reflect.MakeMapWithSize(v.Type(), v.Len())
			for _, k := range v.MapKeys() {
				e := reflect.New(v.Type().Elem()).Elem()
				e.Set(v.MapIndex(k))
				c.deepen(e)
				s.SetMapIndex(k, e)
			}
			v.Set(s)
		}
	}
}

func (c *copier) each(v reflect.Value) {
	if holds(v.Type().Elem()) {
		for i := range v.Len() {
			c.deepen(v.Index(i))
		}
	}
}
