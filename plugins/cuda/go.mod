module github.com/goburn/burn/plugins/cuda

go 1.26.0

require github.com/ebitengine/purego v0.9.0

replace github.com/goburn/burn => ../..
