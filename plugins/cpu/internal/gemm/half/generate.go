package half

//go:generate go run -C ../../../../../tools/avo . -set gemm/half -level avx512 -pkg half -out ../../plugins/cpu/internal/gemm/half/zavx512_amd64.s -stubs ../../plugins/cpu/internal/gemm/half/zavx512_amd64.go
//go:generate go run -C ../../../../../tools/avo . -set gemm/half -level avx2 -pkg half -out ../../plugins/cpu/internal/gemm/half/zavx2_amd64.s -stubs ../../plugins/cpu/internal/gemm/half/zavx2_amd64.go
