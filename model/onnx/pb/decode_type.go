package pb

import (
	"slices"
	"unsafe"
)

var valueInfoNames = names{1: "name", 2: "type", 3: "doc_string", 4: "metadata_props[]"}

func (d *decoder) valueInfo(v *ValueInfo, b []byte) error {
	r := d.read(b, &valueInfoNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&v.Name)
		case 2:
			one(r, &v.Type, (*decoder).typ)
		case 3:
			r.str(&v.Doc)
		case 4:
			many(r, &v.Metadata, (*decoder).property)
		}
	}
	return r.err
}

var typeNames = names{1: "tensor_type", 4: "sequence_type", 5: "map_type", 6: "denotation", 7: "opaque_type",
	8: "sparse_tensor_type", 9: "optional_type"}

var typeKinds = [32]TypeKind{1: KindTensor, 4: KindSequence, 5: KindMap, 7: KindOpaque, 8: KindSparseTensor,
	9: KindOptional}

func (d *decoder) typ(t *Type, b []byte) error {
	r := d.read(b, &typeNames)
	for r.next() {
		if r.num == 6 {
			r.str(&t.Denotation)
			continue
		}
		if uint(r.num) >= uint(len(typeKinds)) || typeKinds[r.num] == KindNone {
			continue
		}
		if k := typeKinds[r.num]; k != t.Kind { // a oneof: the last kind wins
			*t = Type{Kind: k, Denotation: t.Denotation}
		}
		body := (*decoder).tensorType
		switch t.Kind {
		case KindSequence, KindOptional:
			body = (*decoder).elemType
		case KindMap:
			body = (*decoder).mapType
		case KindOpaque:
			body = (*decoder).opaqueType
		}
		one(r, &t, body)
	}
	return r.err
}

var tensorTypeNames = names{1: "elem_type", 2: "shape"}

func (d *decoder) tensorType(t *Type, b []byte) error {
	r := d.read(b, &tensorTypeNames)
	for r.next() {
		switch r.num {
		case 1:
			enum(r, &t.DataType)
		case 2:
			one(r, &t.Shape, (*decoder).shape)
		}
	}
	return r.err
}

var elemTypeNames = names{1: "elem_type"}

func (d *decoder) elemType(t *Type, b []byte) error {
	r := d.read(b, &elemTypeNames)
	for r.next() {
		if r.num == 1 {
			one(r, &t.Elem, (*decoder).typ)
		}
	}
	return r.err
}

var mapTypeNames = names{1: "key_type", 2: "value_type"}

func (d *decoder) mapType(t *Type, b []byte) error {
	r := d.read(b, &mapTypeNames)
	for r.next() {
		switch r.num {
		case 1:
			enum(r, &t.DataType)
		case 2:
			one(r, &t.Elem, (*decoder).typ)
		}
	}
	return r.err
}

var opaqueTypeNames = names{1: "domain", 2: "name"}

func (d *decoder) opaqueType(t *Type, b []byte) error {
	r := d.read(b, &opaqueTypeNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&t.OpaqueDomain)
		case 2:
			r.str(&t.OpaqueName)
		}
	}
	return r.err
}

var shapeNames = names{1: "dim[]"}

func (d *decoder) shape(s *Shape, b []byte) error {
	r := d.read(b, &shapeNames)
	if n := r.count(1); n > 0 { // a dim of two bytes expands to a struct: allocate the slice once
		if !r.charge(n * int(unsafe.Sizeof(Dim{}))) {
			return r.err
		}
		s.Dims = slices.Grow(s.Dims, n)
	}
	for r.next() {
		if r.num == 1 {
			s.Dims = append(s.Dims, Dim{})
			dim := &s.Dims[len(s.Dims)-1]
			one(r, &dim, (*decoder).dim)
		}
	}
	return r.err
}

var dimNames = names{1: "dim_value", 2: "dim_param", 3: "denotation"}

func (d *decoder) dim(v *Dim, b []byte) error {
	r := d.read(b, &dimNames)
	for r.next() {
		switch r.num {
		case 1:
			var n int64
			r.int64(&n)
			v.Kind, v.Value, v.Param = DimValue, n, ""
			if n < 0 {
				v.Kind, v.Value = DimUnknown, 0
			}
		case 2:
			var p string
			r.str(&p)
			v.Kind, v.Value, v.Param = DimParam, 0, p
			if p == "" {
				v.Kind = DimUnknown
			}
		case 3:
			r.str(&v.Denotation)
		}
	}
	return r.err
}
