module github.com/goburn/burn/plugins/cuda

go 1.26.0

require (
	github.com/ebitengine/purego v0.9.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/goburn/burn => ../..
