#!/usr/bin/env bash
# The rocm plugin on a GPU of NVIDIA's: libraries that stand for ROCm's forward to NVIDIA's driver and NVRTC (plugins/rocm/testdata/shim).
#
#   rocm.sh pack DIR     builds everything for linux/amd64 and packs it into DIR/rocm-bundle.tar.xz (needs Go, gcc and xz); BURN=1 packs
#                        the command burn too
#   rocm.sh run          beside what was packed: the conformance suite with waves of 32 threads and WMMA (gfx1100) and with emulated waves of
#                        64 and MFMA (gfx90a), and the texts through the hiprtc of the machine, if it has one
#
# Settings of run: OUT=./out  BURN=FILE (the command burn; else the one that was packed, else the one in PATH)  BUDGET=390 (seconds for all)
# STEPS="gfx1100/core gfx90a/core gfx1100/nn gfx90a/nn gfx1100/training gfx1100/half gfx1100/quant"  RUN=REGEXP (cases)  JOBS=16 (cases at the
# same time)  NVRTC=libnvrtc.so (else the system's, else that of PY's packages)  PY=python3  SM=sm_90a.
# Results, 8 files: $OUT/logs.tar.gz, with table.txt, and $OUT/ARCH_PROFILE.tar.gz, report packages of a challenge as submissions need
# them. A step that the budget cuts short has an incomplete package.
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)

pack() {
	mkdir -p "$1"
	local dir b shim=plugins/rocm/testdata/shim; dir=$(cd "$1" && pwd); b=$dir/rocm-bundle
	cd "$HERE/../.."
	rm -rf "$b"; mkdir -p "$b/plugins" "$b/rocm/lib" "$b/bin"
	export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
	[ -z "${BURN:-}" ] || go build -trimpath -ldflags='-s -w' -o "$b/bin/burn" ./cmd/burn
	(cd plugins/rocm && go build -trimpath -ldflags='-s -w' -o "$b/plugins/burn-backend-rocm" ./cmd/burn-backend-rocm && go test -trimpath -ldflags='-s -w' -c -o "$b/bin/rocm.test" .)
	env -u GOOS -u GOARCH -u CGO_ENABLED go run ./tools/manifest -os linux -arch amd64 -needs plugins/rocm/needs.toml "$b/plugins/burn-backend-rocm"
	gcc -shared -fPIC -O1 -s -o "$b/rocm/lib/libamdhip64.so.6" $shim/cuda.c -ldl
	gcc -shared -fPIC -O1 -s -o "$b/rocm/lib/libhiprtc.so.6" $shim/nvrtc.c -ldl
	cp $shim/nvidia.h $shim/matrix.h "$b/rocm/"
	cp tools/benchgpu/rocm.sh "$b/"
	tar -C "$dir" --sort=name --owner=0 --group=0 -cf - rocm-bundle | xz -T1 --x86 --lzma2=preset=6,dict=64MiB > "$dir/rocm-bundle.tar.xz"
	ls -l "$dir/rocm-bundle.tar.xz"
}

# step NAME SECONDS COMMAND... runs a command for at most SECONDS, and at most until the end of the budget; then it is interrupted, so that it
# writes what it has.
step() {
	local name=$1 limit=$2 left=$((BUDGET - SECONDS)) rc=0 from=$SECONDS; shift 2
	if [ "$left" -lt 10 ]; then printf '%-20s not run: no time left\n' "$name" >> "$LOGS/table.txt"; return; fi
	[ "$limit" -lt "$left" ] || limit=$left
	timeout -s INT -k 10 "$limit" "$@" > "$LOGS/$name.log" 2>&1 < /dev/null || rc=$?
	printf '%-20s exit %-4s %4ds  %s\n' "$name" "$rc" $((SECONDS - from)) "$(tail -1 "$LOGS/$name.log")" | tee -a "$LOGS/table.txt"
}

run() {
	OUT=${OUT:-./out} PY=${PY:-python3} NVRTC=${NVRTC:-} JOBS=${JOBS:-$(nproc)} BUDGET=${BUDGET:-390} LOGS=$(mktemp -d) CACHE=$(mktemp -d) BURN=${BURN:-}
	mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd)
	[ -n "$BURN" ] || { BURN=$HERE/bin/burn; [ -x "$BURN" ] || BURN=$(command -v burn) || { echo "rocm.sh: no command burn: set BURN" >&2; exit 2; }; }
	[ -n "$NVRTC" ] || NVRTC=$(ls /usr/local/cuda/lib64/libnvrtc.so.1[23] 2> /dev/null | tail -1 || true)
	[ -n "$NVRTC" ] || NVRTC=$("$PY" -c 'import glob, site; print((glob.glob(site.getsitepackages()[0] + "/nvidia/*/lib/libnvrtc.so.1[23]") + [""])[0])')
	# The texts through AMD's compiler, which needs processors and no GPU, beside the rest.
	env -u ROCM_PATH BURN_HIP=1 BURN_HIP_RUN='^[a-z0-9_]+/(f32|bf16)/[^/]+/plain$' BURN_HIP_SAMPLE=1000 nice -n 10 timeout -k 5 "$((BUDGET - 10))" \
		"$HERE/bin/rocm.test" -test.v -test.run 'TestKernelsCompile/hiprtc|TestHiprtcAborts' > "$LOGS/hiprtc.log" 2>&1 < /dev/null &
	local hiprtc=$! s arch profile rc=0
	export BURN_PLUGIN_PATH=$HERE/plugins BURN_PLUGIN_CONTAINMENT=off ROCM_PATH=$HERE/rocm BURN_HIPSHIM=$HERE/rocm BURN_HIPSHIM_NVRTC=$NVRTC BURN_HIPSHIM_SM=${SM:-sm_90a}
	export XDG_CONFIG_HOME=$LOGS/config
	for s in ${STEPS:-gfx1100/core gfx90a/core gfx1100/nn gfx90a/nn gfx1100/training gfx1100/half gfx1100/quant}; do
		arch=${s%/*} profile=${s#*/}
		export BURN_HIPSHIM_ARCH=$arch XDG_CACHE_HOME=$CACHE/$arch
		[ -e "$LOGS/devices_$arch.log" ] || "$BURN" devices --verbose > "$LOGS/devices_$arch.log" 2>&1 || true
		step "${arch}_$profile" "$BUDGET" "$BURN" conformance run process:rocm --profile "$profile" --timeout 60s --jobs "$JOBS" --challenge new --seeds 1 --lean \
			--report "$OUT/${arch}_$profile.tar.gz" ${RUN:+--run "$RUN"}
	done
	wait "$hiprtc" || rc=$?
	printf '%-20s exit %-4s %s\n' hiprtc "$rc" "$(grep -cE 'texts were compiled' "$LOGS/hiprtc.log") architectures" | tee -a "$LOGS/table.txt"
	rm -rf "$LOGS/config"
	tar -C "$LOGS" -czf "$OUT/logs.tar.gz" .
	rm -rf "$LOGS" "$CACHE"
}

case ${1:-} in
pack) pack "${2:?the folder to pack into}" ;;
run) run ;;
*) sed -n '2,16s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
