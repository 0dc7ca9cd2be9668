package pb

// DecodeModel decodes a ModelProto, the content of a .onnx file. The result refers to b (see the package comment).
func DecodeModel(b []byte, lim Limits) (*Model, error) {
	d, err := newDecoder(b, lim)
	if err != nil {
		return nil, err
	}
	m := new(Model)
	if err := d.model(m, b); err != nil {
		return nil, err
	}
	if m.Graph == nil {
		return nil, fail("graph", "missing")
	}
	return m, nil
}

var modelNames = names{1: "ir_version", 2: "producer_name", 3: "producer_version", 4: "domain", 5: "model_version",
	6: "doc_string", 7: "graph", 8: "opset_import[]", 14: "metadata_props[]", 20: "training_info[]",
	25: "functions[]", 26: "configuration[]"}

func (d *decoder) model(m *Model, b []byte) error {
	r := d.read(b, &modelNames)
	for r.next() {
		switch r.num {
		case 1:
			r.int64(&m.IRVersion)
		case 2:
			r.str(&m.ProducerName)
		case 3:
			r.str(&m.ProducerVersion)
		case 4:
			r.str(&m.Domain)
		case 5:
			r.int64(&m.ModelVersion)
		case 6:
			r.str(&m.Doc)
		case 7:
			one(r, &m.Graph, (*decoder).graph)
		case 8:
			many(r, &m.OpsetImports, (*decoder).opset)
		case 14:
			many(r, &m.Metadata, (*decoder).property)
		case 25:
			many(r, &m.Functions, (*decoder).function)
		}
	}
	return r.err
}

var opsetNames = names{1: "domain", 2: "version"}

func (d *decoder) opset(o *OperatorSetID, b []byte) error {
	r := d.read(b, &opsetNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&o.Domain)
		case 2:
			r.int64(&o.Version)
		}
	}
	return r.err
}

var propertyNames = names{1: "key", 2: "value"}

func (d *decoder) property(p *Property, b []byte) error {
	r := d.read(b, &propertyNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&p.Key)
		case 2:
			r.str(&p.Value)
		}
	}
	return r.err
}

var graphNames = names{1: "node[]", 2: "name", 5: "initializer[]", 10: "doc_string", 11: "input[]", 12: "output[]",
	13: "value_info[]", 14: "quantization_annotation[]", 15: "sparse_initializer[]", 16: "metadata_props[]"}

func (d *decoder) graph(g *Graph, b []byte) error {
	r := d.read(b, &graphNames)
	for r.next() {
		switch r.num {
		case 1:
			many(r, &g.Nodes, (*decoder).node)
		case 2:
			r.str(&g.Name)
		case 5:
			many(r, &g.Initializers, (*decoder).tensor)
		case 10:
			r.str(&g.Doc)
		case 11:
			many(r, &g.Inputs, (*decoder).valueInfo)
		case 12:
			many(r, &g.Outputs, (*decoder).valueInfo)
		case 13:
			many(r, &g.ValueInfo, (*decoder).valueInfo)
		case 15:
			many(r, &g.SparseInitializers, (*decoder).sparse)
		case 16:
			many(r, &g.Metadata, (*decoder).property)
		}
	}
	return r.err
}

var nodeNames = names{1: "input[]", 2: "output[]", 3: "name", 4: "op_type", 5: "attribute[]", 6: "doc_string",
	7: "domain", 8: "overload", 9: "metadata_props[]", 10: "device_configurations[]"}

func (d *decoder) node(n *Node, b []byte) error {
	if d.nodes++; d.nodes > d.lim.MaxNodes {
		return limit("", "more than %d nodes", d.lim.MaxNodes)
	}
	r := d.read(b, &nodeNames)
	for r.next() {
		switch r.num {
		case 1:
			r.strs(&n.Inputs)
		case 2:
			r.strs(&n.Outputs)
		case 3:
			r.str(&n.Name)
		case 4:
			r.str(&n.OpType)
		case 5:
			many(r, &n.Attributes, (*decoder).attribute)
		case 6:
			r.str(&n.Doc)
		case 7:
			r.str(&n.Domain)
		case 8:
			r.str(&n.Overload)
		case 9:
			many(r, &n.Metadata, (*decoder).property)
		}
	}
	return r.err
}

var functionNames = names{1: "name", 4: "input[]", 5: "output[]", 6: "attribute[]", 7: "node[]", 8: "doc_string",
	9: "opset_import[]", 10: "domain", 11: "attribute_proto[]", 12: "value_info[]", 13: "overload",
	14: "metadata_props[]"}

func (d *decoder) function(f *Function, b []byte) error {
	r := d.read(b, &functionNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&f.Name)
		case 4:
			r.strs(&f.Inputs)
		case 5:
			r.strs(&f.Outputs)
		case 6:
			r.strs(&f.Attributes)
		case 7:
			many(r, &f.Nodes, (*decoder).node)
		case 8:
			r.str(&f.Doc)
		case 9:
			many(r, &f.OpsetImports, (*decoder).opset)
		case 10:
			r.str(&f.Domain)
		case 11:
			many(r, &f.AttributeDefaults, (*decoder).attribute)
		case 12:
			many(r, &f.ValueInfo, (*decoder).valueInfo)
		case 13:
			r.str(&f.Overload)
		case 14:
			many(r, &f.Metadata, (*decoder).property)
		}
	}
	return r.err
}

var attributeNames = names{1: "name", 2: "f", 3: "i", 4: "s", 5: "t", 6: "g", 7: "floats", 8: "ints", 9: "strings[]",
	10: "tensors[]", 11: "graphs[]", 13: "doc_string", 14: "tp", 15: "type_protos[]", 20: "type",
	21: "ref_attr_name", 22: "sparse_tensor", 23: "sparse_tensors[]"}

// attributeFields maps the number of an attribute's value field to the type that it implies.
var attributeFields = [32]AttributeType{2: AttrFloat, 3: AttrInt, 4: AttrString, 5: AttrTensor, 6: AttrGraph,
	7: AttrFloats, 8: AttrInts, 9: AttrStrings, 10: AttrTensors, 11: AttrGraphs, 14: AttrTypeProto,
	15: AttrTypeProtos, 22: AttrSparseTensor, 23: AttrSparseTensors}

func (d *decoder) attribute(a *Attribute, b []byte) error {
	r := d.read(b, &attributeNames)
	for r.next() {
		switch r.num {
		case 1:
			r.str(&a.Name)
		case 2:
			r.float32(&a.F)
		case 3:
			r.int64(&a.I)
		case 4:
			r.bytes(&a.S)
		case 5:
			one(r, &a.T, (*decoder).tensor)
		case 6:
			one(r, &a.G, (*decoder).graph)
		case 7:
			r.floats(&a.Floats)
		case 8:
			varints(r, &a.Ints)
		case 9:
			r.byteses(&a.Strings)
		case 10:
			many(r, &a.Tensors, (*decoder).tensor)
		case 11:
			many(r, &a.Graphs, (*decoder).graph)
		case 13:
			r.str(&a.Doc)
		case 14:
			one(r, &a.TypeProto, (*decoder).typ)
		case 15:
			many(r, &a.TypeProtos, (*decoder).typ)
		case 20:
			enum(r, &a.Type)
		case 21:
			r.str(&a.RefAttrName)
		case 22:
			one(r, &a.SparseTensor, (*decoder).sparse)
		case 23:
			many(r, &a.SparseTensors, (*decoder).sparse)
		}
	}
	if r.err != nil || a.Type != AttrUndefined {
		return r.err
	}
	kinds := 0
	for num, t := range attributeFields {
		if t != AttrUndefined && r.seen[num] > 0 {
			a.Type = t
			kinds++
		}
	}
	if kinds != 1 {
		a.Type = AttrUndefined
	}
	return nil
}
