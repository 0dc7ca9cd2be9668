#!/usr/bin/env bash
# The rocm plugin on a GPU of NVIDIA's: libraries that stand for ROCm's forward to NVIDIA's driver and NVRTC (plugins/rocm/testdata/shim).
#
#   rocm.sh pack DIR     builds everything for linux/amd64 and packs it into DIR/rocm-bundle.tar.xz (needs Go and gcc)
#   rocm.sh run          beside what was packed: the conformance suite, with waves of 32 threads and with emulated waves of 64, then the
#                        texts through the hiprtc of the machine, if it has one
#
# Settings of run: OUT=./out  PROFILES="core nn training half quant"  LIMIT=280 (seconds a step)  NVRTC=libnvrtc.so (else the system's, else
# that of PY's packages)  PY=python3  ARCHS="gfx1100 gfx90a"  RUN=REGEXP (cases)  JOBS=12 (cases
# at the same time)  SM=sm_90a. Results: $OUT/table.txt, $OUT/*.log and report packages.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)

pack() {
	mkdir -p "$1"
	local dir b; dir=$(cd "$1" && pwd); b=$dir/rocm-bundle
	cd "$HERE/../.."
	rm -rf "$b"; mkdir -p "$b/plugins" "$b/rocm/lib" "$b/bin"
	export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
	go build -trimpath -ldflags='-s -w' -o "$b/bin/burn" ./cmd/burn
	(cd plugins/rocm && go build -trimpath -ldflags='-s -w' -o "$b/plugins/burn-backend-rocm" ./cmd/burn-backend-rocm && go test -trimpath -c -o "$b/bin/rocm.test" .)
	env -u GOOS -u GOARCH -u CGO_ENABLED go run ./tools/manifest -os linux -arch amd64 -needs plugins/rocm/needs.toml "$b/plugins/burn-backend-rocm"
	gcc -shared -fPIC -O1 -o "$b/rocm/lib/libamdhip64.so.6" plugins/rocm/testdata/shim/cuda.c -ldl
	gcc -shared -fPIC -O1 -o "$b/rocm/lib/libhiprtc.so.6" plugins/rocm/testdata/shim/nvrtc.c -ldl
	cp plugins/rocm/testdata/shim/nvidia.h "$b/rocm/"
	cp tools/benchgpu/rocm.sh "$b/"
	tar -C "$dir" -cJf "$dir/rocm-bundle.tar.xz" rocm-bundle
	ls -l "$dir/rocm-bundle.tar.xz"
}

run() {
	OUT=${OUT:-./out} PROFILES=${PROFILES:-core nn training half quant} LIMIT=${LIMIT:-280} PY=${PY:-python3} NVRTC=${NVRTC:-} JOBS=${JOBS:-12}
	mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd)
	[ -n "$NVRTC" ] || NVRTC=$(ls /usr/local/cuda/lib64/libnvrtc.so.1[23] 2> /dev/null | tail -1 || true)
	[ -n "$NVRTC" ] || NVRTC=$("$PY" -c 'import glob, site; print((glob.glob(site.getsitepackages()[0] + "/nvidia/*/lib/libnvrtc.so.1[23]") + [""])[0])')
	export BURN_PLUGIN_PATH=$HERE/plugins BURN_PLUGIN_CONTAINMENT=off ROCM_PATH=$HERE/rocm BURN_HIPSHIM=$HERE/rocm BURN_HIPSHIM_NVRTC=$NVRTC BURN_HIPSHIM_SM=${SM:-sm_90a}
	export XDG_CONFIG_HOME=$OUT/config
	local arch p rc cache
	for arch in ${ARCHS:-gfx1100 gfx90a}; do
		cache=$(mktemp -d)
		export BURN_HIPSHIM_ARCH=$arch XDG_CACHE_HOME=$cache
		"$HERE/bin/burn" devices --verbose > "$OUT/devices_$arch.log" 2>&1 || true
		for p in $PROFILES; do
			rc=0
			timeout -k 5 "$LIMIT" "$HERE/bin/burn" conformance run process:rocm --profile "$p" --timeout 60s --jobs "$JOBS" --report "$OUT/${arch}_$p.tar.gz" ${RUN:+--run "$RUN"} > "$OUT/${arch}_$p.log" 2>&1 < /dev/null || rc=$?
			printf '%-10s %-10s exit %-4s %s\n' "$arch" "$p" "$rc" "$(tail -1 "$OUT/${arch}_$p.log")" | tee -a "$OUT/table.txt"
		done
		rm -rf "$cache"
	done
	rc=0
	env -u ROCM_PATH BURN_HIP=1 BURN_HIP_RUN='^[a-z0-9_]+/(f32|bf16)/[^/]+/plain$' BURN_HIP_SAMPLE=1000 timeout -k 5 "$LIMIT" "$HERE/bin/rocm.test" -test.v -test.run 'TestKernelsCompile/hiprtc' > "$OUT/hiprtc.log" 2>&1 || rc=$?
	printf '%-21s exit %-4s %s\n' hiprtc "$rc" "$(grep -cE 'texts were compiled' "$OUT/hiprtc.log") architectures" | tee -a "$OUT/table.txt"
}

case ${1:-} in
pack) pack "${2:?the folder to pack into}" ;;
run) run ;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
