package pb

// DecodeTensor decodes a TensorProto, the content of a .pb file of a tensor. The result refers to b (see the package
// comment).
func DecodeTensor(b []byte, lim Limits) (*Tensor, error) {
	t := new(Tensor)
	if err := root(b, lim, "tensor", t, (*decoder).tensor); err != nil {
		return nil, err
	}
	if t.DataType == Undefined {
		return nil, fail("tensor.data_type", "missing")
	}
	return t, nil
}

// DecodeSequence decodes a SequenceProto. The result refers to b (see the package comment).
func DecodeSequence(b []byte, lim Limits) (*Sequence, error) {
	s := new(Sequence)
	if err := root(b, lim, "sequence", s, (*decoder).sequence); err != nil {
		return nil, err
	}
	return s, nil
}

// DecodeOptional decodes an OptionalProto. The result refers to b (see the package comment).
func DecodeOptional(b []byte, lim Limits) (*Optional, error) {
	o := new(Optional)
	if err := root(b, lim, "optional", o, (*decoder).optional); err != nil {
		return nil, err
	}
	return o, nil
}

func root[T any](b []byte, lim Limits, name string, v *T, dec func(*decoder, *T, []byte) error) error {
	d, err := newDecoder(b, lim)
	if err != nil {
		return inside(name, err)
	}
	if err := dec(d, v, b); err != nil {
		return inside(name, err)
	}
	return nil
}

var tensorNames = names{1: "dims", 2: "data_type", 3: "segment", 4: "float_data", 5: "int32_data",
	6: "string_data[]", 7: "int64_data", 8: "name", 9: "raw_data", 10: "double_data", 11: "uint64_data",
	12: "doc_string", 13: "external_data[]", 14: "data_location", 16: "metadata_props[]"}

func (d *decoder) tensor(t *Tensor, b []byte) error {
	r := d.read(b, &tensorNames)
	for r.next() {
		switch r.num {
		case 1:
			varints(r, &t.Dims)
		case 2:
			enum(r, &t.DataType)
		case 3:
			r.fail("segmented tensors are not supported")
		case 4:
			r.floats(&t.FloatData)
		case 5:
			varints(r, &t.Int32Data)
		case 6:
			r.byteses(&t.StringData)
		case 7:
			varints(r, &t.Int64Data)
		case 8:
			r.str(&t.Name)
		case 9:
			r.bytes(&t.RawData)
		case 10:
			r.doubles(&t.DoubleData)
		case 11:
			varints(r, &t.Uint64Data)
		case 12:
			r.str(&t.Doc)
		case 13:
			many(r, &t.External, (*decoder).property)
		case 14:
			enum(r, &t.Location)
		case 16:
			many(r, &t.Metadata, (*decoder).property)
		}
	}
	if r.err != nil {
		return r.err
	}
	return t.check(d.lim.MaxElements)
}

var sparseNames = names{1: "values", 2: "indices", 3: "dims"}

func (d *decoder) sparse(s *SparseTensor, b []byte) error {
	r := d.read(b, &sparseNames)
	for r.next() {
		switch r.num {
		case 1:
			one(r, &s.Values, (*decoder).tensor)
		case 2:
			one(r, &s.Indices, (*decoder).tensor)
		case 3:
			varints(r, &s.Dims)
		}
	}
	if r.err != nil {
		return r.err
	}
	n, err := elements(s.Dims)
	if err != nil {
		return err
	}
	if n > d.lim.MaxElements {
		return limit("dims", "%v is %d elements, limit %d", s.Dims, n, d.lim.MaxElements)
	}
	return nil
}

var sequenceNames = names{1: "name", 2: "elem_type", 3: "tensor_values[]", 4: "sparse_tensor_values[]",
	5: "sequence_values[]", 6: "map_values[]", 7: "optional_values[]"}

func (d *decoder) sequence(s *Sequence, b []byte) error {
	r := d.read(b, &sequenceNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&s.Name)
		case 2:
			enum(r, &s.Kind)
		case 3:
			many(r, &s.Tensors, (*decoder).tensor)
		case 4:
			many(r, &s.SparseTensors, (*decoder).sparse)
		case 5:
			many(r, &s.Sequences, (*decoder).sequence)
		case 6:
			many(r, &s.Maps, (*decoder).mapping)
		case 7:
			many(r, &s.Optionals, (*decoder).optional)
		}
	}
	return r.err
}

var mapNames = names{1: "name", 2: "key_type", 3: "keys", 4: "string_keys[]", 5: "values"}

func (d *decoder) mapping(m *Map, b []byte) error {
	r := d.read(b, &mapNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&m.Name)
		case 2:
			enum(r, &m.KeyType)
		case 3:
			varints(r, &m.Keys)
		case 4:
			r.byteses(&m.StringKeys)
		case 5:
			one(r, &m.Values, (*decoder).sequence)
		}
	}
	return r.err
}

var optionalNames = names{1: "name", 2: "elem_type", 3: "tensor_value", 4: "sparse_tensor_value",
	5: "sequence_value", 6: "map_value", 7: "optional_value"}

func (d *decoder) optional(o *Optional, b []byte) error {
	r := d.read(b, &optionalNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&o.Name)
		case 2:
			enum(r, &o.Kind)
		case 3:
			one(r, &o.Tensor, (*decoder).tensor)
		case 4:
			one(r, &o.SparseTensor, (*decoder).sparse)
		case 5:
			one(r, &o.Sequence, (*decoder).sequence)
		case 6:
			one(r, &o.Map, (*decoder).mapping)
		case 7:
			one(r, &o.Optional, (*decoder).optional)
		}
	}
	return r.err
}
