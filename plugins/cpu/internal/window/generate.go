package window

//go:generate go run -C ../../../../tools/avo . -set window -level avx512 -pkg window -out ../../plugins/cpu/internal/window/zavx512_amd64.s -stubs ../../plugins/cpu/internal/window/zavx512_amd64.go
//go:generate go run -C ../../../../tools/avo . -set window -level avx2 -pkg window -out ../../plugins/cpu/internal/window/zavx2_amd64.s -stubs ../../plugins/cpu/internal/window/zavx2_amd64.go
