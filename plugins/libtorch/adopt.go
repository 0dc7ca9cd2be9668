package libtorch

import (
	"fmt"

	"github.com/goburn/burn/core"
	"github.com/goburn/burn/core/dtype"
	"github.com/goburn/burn/core/op"
	"github.com/goburn/burn/plugins/libtorch/internal/torch"
	"github.com/goburn/burn/sdk/engine"
)

var _ engine.Adopter[*tensor] = (*device)(nil)

// Adopt implements engine.Adopter. It returns ErrUnsupported, so that the engine copies the memory, on devices other than the cpu and for
// type bool, because bytes other than 0 have to become 1.
func (d *device) Adopt(desc op.Desc, data []byte, release func()) (*tensor, error) {
	if d.on.Kind != torch.CPU || desc.DType == dtype.Bool {
		return nil, fmt.Errorf("lent memory of %v: %w", desc, core.ErrUnsupported)
	}
	h, err := d.lib.Lend(data, desc.Shape, typeOf[desc.DType], desc.DType.Size(), release)
	if err != nil {
		return nil, sentinel(err)
	}
	t := newTensor(desc, nil)
	t.h = h
	return t, nil
}
