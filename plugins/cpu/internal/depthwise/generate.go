package depthwise

//go:generate go run -C ../../../../tools/avo . -set depthwise -level avx512 -pkg depthwise -out ../../plugins/cpu/internal/depthwise/zavx512_amd64.s -stubs ../../plugins/cpu/internal/depthwise/zavx512_amd64.go
//go:generate go run -C ../../../../tools/avo . -set depthwise -level avx2 -pkg depthwise -out ../../plugins/cpu/internal/depthwise/zavx2_amd64.s -stubs ../../plugins/cpu/internal/depthwise/zavx2_amd64.go
